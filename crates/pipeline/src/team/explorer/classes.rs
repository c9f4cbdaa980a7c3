//! Checks lists in which every entry must name one of a few classes.

use switchboard_protocol::text::cut;

use super::sections::Part;
use super::violation::{Rule, Violation};
use crate::team::prose::{CODE, Line, LineKind};

/// Words that stand for an empty list.
const NONE: [&str; 4] = ["none", "none observed", "nothing observed", "n/a"];

/// Maximum length of an entry in a violation, in bytes: a line of a screen.
const SHOWN_BYTES: usize = 120;

/// Allowed classes for the entries of a list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Classes {
    rule: Rule,
    names: &'static [&'static str],
}

/// An entry of a list.
struct Entry {
    line: usize,
    text: String,
}

// === impl Classes ===

impl Classes {
    /// Compatibility signals of a change.
    pub(super) const SIGNALS: Self = Self { rule: Rule::Signal, names: &["COMPATIBLE", "INCOMPATIBLE", "UNCERTAIN"] };

    /// Effects of a contract change on its users.
    pub(super) const CHANGES: Self = Self { rule: Rule::Class, names: &["BREAKING", "COMPATIBLE"] };

    /// Returns a violation for each entry of a section that does not name exactly one class.
    pub(super) fn violations(self, part: &Part<'_>) -> Vec<Violation> {
        let wrong = entries(part).into_iter().filter(|entry| !self.is_named_in(&entry.text));
        wrong
            .map(|entry| Violation {
                line: Some(entry.line),
                rule: self.rule,
                found: cut(&entry.text.trim().replace(CODE, "`…`"), SHOWN_BYTES),
                instead: format!("one of {} at the entry, behind its name and a colon", self.names.join(", ")),
            })
            .collect()
    }

    /// Returns true if an entry names one class: a part of it begins with the class in capitals, so `NOT COMPATIBLE`
    /// and `NON-BREAKING` don't count.
    fn is_named_in(self, entry: &str) -> bool {
        let is_class = |word: &str| self.names.contains(&word);
        let words = |text: &str| -> Vec<String> {
            let split = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            split.filter(|word| !word.is_empty()).map(ToOwned::to_owned).collect()
        };
        let spaced = entry.replace(" - ", ":").replace("->", ":");
        let parts = spaced.split([':', '—', '–', '→', '(', ')', '[', ']', '|', '=', ';', ',']);
        let begin = parts.filter(|part| words(part).first().is_some_and(|word| is_class(word))).count();
        begin == 1 && words(entry).iter().filter(|word| is_class(word)).count() == 1
    }
}

/// Returns the entries of a section: the text after its name, each bullet or row, and each line of a section without
/// bullets. Lines that are indented further belong to the entry above them.
fn entries(part: &Part<'_>) -> Vec<Entry> {
    let lines: Vec<_> = part.body.iter().filter(|line| line.kind == LineKind::Prose).collect();
    let introduces = |line: &str| line.trim_end().ends_with(':');
    let entry = |line: &&&Line<'_>| is_bullet(line.raw) && !introduces(line.raw);
    let bullets = lines.iter().filter(entry).map(|line| indent(line.raw)).min();
    let mut entries = vec![Entry { line: part.line, text: part.inline.clone() }];
    for (at, line) in lines.iter().enumerate() {
        let text = line.raw.trim();
        let is_heading = lines.get(at + 1).is_some_and(|next| is_rule(next.raw));
        if text.is_empty() || introduces(text) || is_rule(text) || (text.starts_with('|') && is_heading) {
            continue;
        }
        let begins = match bullets {
            Some(outermost) => entries.len() == 1 || (is_bullet(line.raw) && indent(line.raw) <= outermost),
            None => indent(line.raw) == 0,
        };
        if begins {
            entries.push(Entry { line: line.number, text: line.prose.clone() });
        } else if let Some(last) = entries.last_mut().filter(|last| last.line != part.line) {
            last.text.push(' ');
            last.text.push_str(&line.prose);
        }
    }
    let is_none =
        |text: &str| NONE.contains(&text.trim_matches(|c: char| "*-. \t".contains(c)).to_lowercase().as_str());
    entries.retain(|entry| !entry.text.trim().is_empty() && !is_none(&entry.text));
    entries
}

/// Returns true if a line begins an entry of a list or a row of a table.
fn is_bullet(line: &str) -> bool {
    let text = line.trim_start();
    let number = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = number.len() < text.len() && number.starts_with(['.', ')']);
    ["- ", "* ", "+ ", "• ", "|"].iter().any(|mark| text.starts_with(mark)) || is_numbered
}

/// Returns true if a line is the rule below the header of a table.
fn is_rule(line: &str) -> bool {
    let text = line.trim();
    text.starts_with('|') && text.contains("--") && text.chars().all(|c| "|-: ".contains(c))
}

fn indent(line: &str) -> usize {
    line.chars().take_while(|c| c.is_whitespace()).map(|c| if c == '\t' { 4 } else { 1 }).sum()
}
