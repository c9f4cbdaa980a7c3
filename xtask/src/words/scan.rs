//! Finds words in a text, and types that share a name.

use std::collections::BTreeMap;

use super::glossary::Glossary;

/// Returns line, word and what to write instead, for every use of a word that the glossary rules out.
pub(super) fn uses(glossary: &Glossary, text: &str) -> Vec<(usize, String, String)> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let words =
            line.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty());
        for word in words {
            if let Some((_, instead)) = glossary.words.iter().find(|(pattern, _)| pattern.matches(word)) {
                found.push((at + 1, word.to_owned(), instead.clone()));
            }
        }
        let lower = line.to_lowercase();
        for (phrase, instead) in glossary.phrases.iter().filter(|(phrase, _)| lower.contains(phrase.as_str())) {
            found.push((at + 1, phrase.clone(), instead.clone()));
        }
    }
    found
}

/// Locations of the definitions of types whose names must be unique.
#[derive(Debug, Default)]
pub(super) struct Definitions(BTreeMap<String, Vec<String>>);

// === impl Definitions ===

impl Definitions {
    /// Adds the definitions of a file.
    pub(super) fn add(&mut self, glossary: &Glossary, path: &str, text: &str) {
        for (at, line) in text.lines().enumerate() {
            let Some(name) = defined(line) else { continue };
            if glossary.unique.iter().any(|unique| unique == name) {
                self.0.entry(name.to_owned()).or_default().push(format!("{path}:{}", at + 1));
            }
        }
    }

    /// Returns a line for every definition beyond the first.
    pub(super) fn repeated(&self) -> Vec<String> {
        let beyond = |(name, sites): (&String, &Vec<String>)| -> Vec<String> {
            let first = &sites[0];
            sites[1..].iter().map(|site| format!("{site}: {name} is a type already, in {first}")).collect()
        };
        self.0.iter().flat_map(beyond).collect()
    }
}

/// Returns the name of the type that a line defines.
fn defined(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
    let keyword = words.next()?;
    let name = words.next().filter(|_| ["struct", "enum", "trait", "type"].contains(&keyword))?;
    name.split(|letter: char| !letter.is_alphanumeric()).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glossary() -> Glossary {
        let page = "## Words we don't use\n| `Qux`, `*Qux`, \"old word\" | `IoHook` |\n## Names that one type has\n| `Caller` | x |\n";
        Glossary::parse(page).unwrap()
    }

    #[test]
    fn finds_identifiers_and_phrases_with_their_line() {
        let found = uses(&glossary(), "struct RedoQux;\n// An Old Word.\nlet early = Year::Qux;\n");

        let found: Vec<_> = found.iter().map(|(line, word, _)| (*line, word.as_str())).collect();
        assert_eq!(found, [(1, "RedoQux"), (2, "old word"), (3, "Qux")]);
    }

    #[test]
    fn a_second_type_of_a_unique_name_is_named_with_the_first() {
        let mut definitions = Definitions::default();

        definitions.add(&glossary(), "a.rs", "pub struct Caller<'a> {\n");
        definitions.add(&glossary(), "b.rs", "\npub(crate) enum Caller {\nimpl Caller {\n");

        assert_eq!(definitions.repeated(), ["b.rs:2: Caller is a type already, in a.rs:1"]);
    }
}
