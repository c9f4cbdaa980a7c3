//! Reads the tables of the glossary.

use anyhow::ensure;

/// Words that the glossary rules out.
#[derive(Debug, Default)]
pub(super) struct Glossary {
    /// Identifiers, with what to write instead.
    pub(super) words: Vec<(Pattern, String)>,
    /// Phrases in lower case, with what to write instead.
    pub(super) phrases: Vec<(String, String)>,
    /// Names that only one type may have.
    pub(super) unique: Vec<String>,
}

/// An identifier, with an optional `*` at its beginning or end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// The word itself.
    Exact(String),
    /// Longer words that begin with this text.
    Begins(String),
    /// Longer words that end with this text.
    Ends(String),
}

// === impl Pattern ===

impl Pattern {
    fn parse(word: &str) -> Self {
        if let Some(end) = word.strip_prefix('*') {
            Self::Ends(end.to_owned())
        } else if let Some(beginning) = word.strip_suffix('*') {
            Self::Begins(beginning.to_owned())
        } else {
            Self::Exact(word.to_owned())
        }
    }

    /// Returns whether the pattern matches an identifier.
    pub(super) fn matches(&self, word: &str) -> bool {
        match self {
            Self::Exact(exact) => word == exact,
            Self::Begins(beginning) => word.len() > beginning.len() && word.starts_with(beginning.as_str()),
            Self::Ends(end) => word.len() > end.len() && word.ends_with(end.as_str()),
        }
    }
}

// === impl Glossary ===

impl Glossary {
    /// Parses the page.
    ///
    /// # Errors
    /// When it has no words, which would let everything pass.
    pub(super) fn parse(page: &str) -> anyhow::Result<Self> {
        let mut glossary = Self::default();
        let mut section = "";
        for line in page.lines() {
            if let Some(heading) = line.strip_prefix("## ") {
                section = heading.trim();
            }
            let Some(cells) = row(line) else { continue };
            match section {
                "Words we don't use" => glossary.add(cells[0], cells.get(1).copied().unwrap_or_default()),
                "Names that one type has" => glossary.unique.extend(quoted(cells[0], '`').map(ToOwned::to_owned)),
                _ => {}
            }
        }
        ensure!(!glossary.words.is_empty(), "the glossary has no table of words that we don't use");
        Ok(glossary)
    }

    fn add(&mut self, not: &str, but: &str) {
        let but = but.replace('`', "");
        self.words.extend(quoted(not, '`').map(|word| (Pattern::parse(word), but.clone())));
        self.phrases.extend(quoted(not, '"').map(|phrase| (phrase.to_lowercase(), but.clone())));
    }
}

/// Returns the cells of a table's row; `None` for the head, the rule below it and other lines.
fn row(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let cells: Vec<_> = inner.split('|').map(str::trim).collect();
    let has_words = cells[0].contains(['`', '"']);
    has_words.then_some(cells)
}

/// Returns the parts of a text between two marks of a kind.
fn quoted(text: &str, mark: char) -> impl Iterator<Item = &str> {
    text.split(mark).skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_words_phrases_and_unique_names() {
        let page = "## Words we don't use\n\n| not | but |\n|---|---|\n| `Qux`, `*Qux`, \"Old Word\" | `IoHook` |\n\
                    ## Names that one type has\n| `Caller` | x |\n## Words we use\n| `agent` | y |\n";

        let glossary = Glossary::parse(page).unwrap();

        let words: Vec<_> = glossary.words.iter().map(|(word, _)| word).collect();
        assert_eq!(words, [&Pattern::Exact("Qux".to_owned()), &Pattern::Ends("Qux".to_owned())]);
        assert_eq!(glossary.phrases, [("old word".to_owned(), "IoHook".to_owned())]);
        assert_eq!(glossary.unique, ["Caller"]);
    }

    #[test]
    fn refuses_a_page_without_words() {
        Glossary::parse("# Glossary\n").unwrap_err();
    }
}
