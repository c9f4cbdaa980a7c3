//! Detectors: data, listed in the tables of `table/`.

use std::ops::Range;
use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};
use switchboard_protocol::finding::Severity;

use crate::candidate::Strength;
use crate::context::{Context, Found};

/// Number of bytes from the keyword on that a pattern may match.
const WINDOW: usize = 700;
/// Pattern between a vendor's name and the value: the rest of the name, quotes, an operator, quotes.
const ASSIGNED: &str = r#"^(?i:[A-Za-z0-9_.\-]{2,60}["'`\])]{0,3}[ \t]{0,8}(?:=>|:=|\?=|={1,3}|:|,|>|\()[ \t]{0,8}(?:[brfu@$]{0,2}["'`]{1,3})?)("#;

/// Detector of one kind of secret.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Detector {
    /// Id of the rule, e.g. `github-pat`.
    pub(crate) rule: &'static str,
    /// Name of the secret, e.g. `GitHub personal access token`.
    pub(crate) title: &'static str,
    /// Lower-case words, one of which stands at the beginning of every match.
    pub(crate) keywords: &'static [&'static str],
    pub(crate) find: Find,
    pub(crate) severity: Severity,
    /// Minimum entropy of the secret, in bits a character.
    pub(crate) min_entropy: f64,
    /// Function that verifies the vendor's checksum in the token.
    pub(crate) checksum: Option<fn(&[u8]) -> bool>,
    pub(crate) cwe: u32,
}

/// Method by which a detector finds its secret.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Find {
    /// The pattern begins with the keyword. Group 1 is the secret, or the whole match.
    Token(&'static str),
    /// The keyword is a vendor's name; a value of this pattern is assigned to it.
    Assigned(&'static str),
    /// A function that reads the secret, given the text and the position of the keyword.
    Reader(fn(&Context<'_>) -> Option<Found>),
}

// === impl Detector ===

impl Detector {
    const fn new(rule: &'static str, title: &'static str, keywords: &'static [&'static str], find: Find) -> Self {
        Self { rule, title, keywords, find, severity: Severity::High, min_entropy: 0.0, checksum: None, cwe: 798 }
    }

    /// Makes a detector of a token that has a form of its own.
    pub(crate) const fn token(
        rule: &'static str,
        title: &'static str,
        keywords: &'static [&'static str],
        pattern: &'static str,
    ) -> Self {
        Self { min_entropy: 2.8, ..Self::new(rule, title, keywords, Find::Token(pattern)) }
    }

    /// Makes a detector of a value that follows the vendor's name.
    pub(crate) const fn assigned(
        rule: &'static str,
        title: &'static str,
        keywords: &'static [&'static str],
        pattern: &'static str,
    ) -> Self {
        Self { min_entropy: 2.8, ..Self::new(rule, title, keywords, Find::Assigned(pattern)) }
    }

    /// Makes a detector that uses a reader function.
    pub(crate) const fn reader(
        rule: &'static str,
        title: &'static str,
        keywords: &'static [&'static str],
        reader: fn(&Context<'_>) -> Option<Found>,
    ) -> Self {
        Self::new(rule, title, keywords, Find::Reader(reader))
    }

    pub(crate) const fn severity(self, severity: Severity) -> Self {
        Self { severity, ..self }
    }

    pub(crate) const fn critical(self) -> Self {
        self.severity(Severity::Critical)
    }

    pub(crate) const fn medium(self) -> Self {
        self.severity(Severity::Medium)
    }

    pub(crate) const fn entropy(self, min_entropy: f64) -> Self {
        Self { min_entropy, ..self }
    }

    pub(crate) const fn checksum(self, checksum: fn(&[u8]) -> bool) -> Self {
        Self { checksum: Some(checksum), ..self }
    }

    /// Returns the public part of a token: the keyword that it begins with.
    pub(crate) fn public_prefix(&self, secret: &[u8]) -> Option<&'static str> {
        let is_prefix =
            |word: &&&str| secret.len() > word.len() + 8 && secret[..word.len()].eq_ignore_ascii_case(word.as_bytes());
        match self.find {
            Find::Token(_) => self.keywords.iter().find(is_prefix).copied(),
            Find::Assigned(_) | Find::Reader(_) => None,
        }
    }

    /// Finds the secret behind a keyword; `regex` caches the compiled pattern of this detector.
    pub(crate) fn find(&self, place: &Context<'_>, regex: &OnceLock<Option<Regex>>) -> Option<Found> {
        let pattern = match self.find {
            Find::Reader(read) => return read(place),
            Find::Token(_) if !place.begins_word() => return None,
            Find::Token(pattern) => ("^(?:", pattern, ")"),
            Find::Assigned(pattern) => (ASSIGNED, pattern, ")"),
        };
        let regex = regex.get_or_init(|| build(&[pattern.0, pattern.1, pattern.2])).as_ref()?;
        let window = &place.text[place.at..place.text.len().min(place.at + WINDOW)];
        let groups = regex.captures(window)?;
        let group = groups.get(1).or_else(|| groups.get(0))?;
        let range = place.at + group.start()..place.at + group.end();
        ends_word(place.text, &range).then_some(Found::new(range, Strength::Strong))
    }
}

/// Compiles a pattern over bytes; `None` if it is invalid, which the test of the tables catches.
pub(crate) fn build(parts: &[&str]) -> Option<Regex> {
    RegexBuilder::new(&parts.concat()).unicode(false).size_limit(20_000_000).build().ok()
}

/// Returns whether a secret is complete: the text behind does not continue it.
fn ends_word(text: &[u8], range: &Range<usize>) -> bool {
    let last = text.get(range.end.wrapping_sub(1)).copied().unwrap_or(b' ');
    let next = text.get(range.end).copied().unwrap_or(b' ');
    !(is_word(last) || matches!(last, b'-' | b'+' | b'/')) || !is_word(next)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
