//! Scans a text: keywords, then their detectors, then a check of each hit.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use regex::bytes::Regex;
use switchboard_protocol::finding::Severity;

use crate::candidate::Strength;
use crate::context::{Context, Found};
use crate::detector::{Detector, Find};
use crate::file_kind::{FileKind, Form};
use crate::key_file::whole;
use crate::keywords::Keywords;
use crate::{encoded, escaped, table, value, words};

static SHARED: LazyLock<Scanner> = LazyLock::new(|| Scanner::new(table::all()));

/// Maximum number of secrets in one file.
const MOST_HITS: usize = 4_000;

/// A secret in a text. It holds the position of the value, never the value itself.
#[derive(Debug, Clone)]
pub struct Hit {
    detector: &'static Detector,
    /// Byte range of the secret in the text.
    pub range: Range<usize>,
    /// True if the secret is inside base64; the range is that of the encoded text.
    is_encoded: bool,
    strength: Strength,
    /// Reason to doubt that the secret is live.
    doubt: Option<&'static str>,
}

/// Finds the credentials of a file, by position. The path determines the kind of file; it is not opened.
#[must_use]
pub fn scan(text: &[u8], path: &str) -> Vec<Hit> {
    Scanner::shared().scan(text, FileKind::of(path))
}

// === impl Hit ===

impl Hit {
    /// Returns the id of the rule that found the secret.
    #[must_use]
    pub fn rule(&self) -> &'static str {
        self.detector.rule
    }

    /// Returns a message that names the kind of secret.
    #[must_use]
    pub fn message(&self) -> String {
        let title = self.detector.title;
        let title = if self.is_encoded { format!("{title}, in base64") } else { title.to_owned() };
        self.doubt.map_or(title.clone(), |doubt| format!("{title} ({doubt})"))
    }

    /// Returns the severity of the finding.
    #[must_use]
    pub fn severity(&self) -> Severity {
        match self.strength {
            Strength::Weak => Severity::Low,
            Strength::Fair => self.detector.severity.min(Severity::Medium),
            Strength::Strong => self.detector.severity,
        }
    }

    /// Returns the number of the weakness in the CWE list.
    #[must_use]
    pub fn cwe(&self) -> u32 {
        self.detector.cwe
    }

    /// Returns the part of the secret that its vendor publishes; `None` if it has none.
    #[must_use]
    pub fn public_prefix(&self, text: &[u8]) -> Option<&'static str> {
        self.detector.public_prefix(&text[self.range.clone()])
    }
}

/// All detectors, with the search for their keywords.
pub(crate) struct Scanner {
    detectors: Vec<(&'static Detector, OnceLock<Option<Regex>>)>,
    keywords: Keywords,
    /// Indices of the detectors of each keyword.
    owners: Vec<Vec<usize>>,
}

// === impl Scanner ===

impl Scanner {
    /// Returns the scanner of this process; the first call creates it.
    pub(crate) fn shared() -> &'static Self {
        &SHARED
    }

    fn new(detectors: Vec<&'static Detector>) -> Self {
        let mut words: Vec<&str> = detectors.iter().flat_map(|detector| detector.keywords).copied().collect();
        words.sort_unstable();
        words.dedup();
        let keywords = Keywords::new(words);
        let owners = keywords
            .words()
            .iter()
            .map(|word| (0..detectors.len()).filter(|at| detectors[*at].keywords.contains(word)).collect())
            .collect();
        Self {
            detectors: detectors.into_iter().map(|detector| (detector, OnceLock::new())).collect(),
            keywords,
            owners,
        }
    }

    /// Finds the secrets of a text, by position, and those inside one level of base64. Of overlapping hits only the
    /// more specific one is returned.
    pub(crate) fn scan(&self, text: &[u8], kind: FileKind) -> Vec<Hit> {
        if let Some(found) = whole::key(text) {
            let hit = |found: Found| weigh(&table::KEY_FILE, found, text);
            return hit(found).into_iter().collect();
        }
        let mut hits = self.scan_plain(text, kind);
        if kind.form != Form::Lock {
            for run in encoded::runs(text) {
                let told = self
                    .scan_plain(&run.text, kind)
                    .into_iter()
                    .find(|hit| matches!(hit.detector.find, Find::Token(_)) || hit.detector.rule == "private-key");
                hits.extend(told.map(|hit| Hit { range: run.range, is_encoded: true, ..hit }));
            }
        }
        if kind.form != Form::Lock {
            for line in escaped::lines(text) {
                let told = self.scan_plain(&line.text, kind);
                hits.extend(told.into_iter().map(|hit| Hit { range: line.range(&hit.range), ..hit }));
            }
        }
        without_overlaps(hits)
    }

    fn scan_plain(&self, text: &[u8], kind: FileKind) -> Vec<Hit> {
        let mut hits = Vec::new();
        self.keywords.each(text, |at, word| {
            let kind = if kind.is_deployed && is_commented_out(text, at) { kind.shown() } else { kind };
            let place = |kind| Context { text, at, keyword_end: at + self.keywords.words()[word].len(), kind };
            for owner in &self.owners[word] {
                let (detector, regex) = &self.detectors[*owner];
                if takes(kind, &detector.find)
                    && let Some(found) = detector.find(&place(kind), regex)
                {
                    // Values shown in documentation comments are judged as in a manual. Hits are few, so only their
                    // lines are examined.
                    let is_shown = kind.form == Form::Code && !kind.is_test && is_description(text, at);
                    let found = if is_shown { detector.find(&place(kind.shown()), regex) } else { Some(found) };
                    hits.extend(found.and_then(|found| weigh(detector, found, text)));
                }
            }
            hits.len() < MOST_HITS
        });
        hits
    }
}

/// Returns whether a setting is on a line that is commented out.
fn is_commented_out(text: &[u8], at: usize) -> bool {
    let line =
        text[at.saturating_sub(400)..at].rsplit(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_start();
    line.starts_with(b"#") || line.starts_with(b";") || line.starts_with(b"//")
}

/// Returns whether a line belongs to a documentation comment: `/// …`, `//! …`, ` * …`.
fn is_description(text: &[u8], at: usize) -> bool {
    let line =
        text[at.saturating_sub(400)..at].rsplit(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_start();
    [&b"///"[..], b"//!", b"* ", b"/**"].iter().any(|mark| line.starts_with(mark))
}

/// Returns whether a detector is used on this kind of file.
const fn takes(kind: FileKind, find: &Find) -> bool {
    match (kind.form, find) {
        (Form::Lock, Find::Token(_)) => true,
        (Form::Lock, Find::Assigned(_) | Find::Reader(_)) => false,
        (_, Find::Token(_) | Find::Assigned(_) | Find::Reader(_)) => true,
    }
}

/// Drops a value that cannot be a secret, and adds the reasons to doubt another.
fn weigh(detector: &'static Detector, found: Found, text: &[u8]) -> Option<Hit> {
    let secret = &text[found.range.clone()];
    let judged = match detector.find {
        Find::Reader(_) => true,
        Find::Token(_) | Find::Assigned(_) => {
            !value::is_made_up(secret) && !value::is_constant(secret) && words::entropy(secret) >= detector.min_entropy
        }
    };
    if !judged {
        return None;
    }
    let doubt = detector.checksum.filter(|fits| !fits(secret)).map(|_| "its checksum does not fit: revoked or made up");
    let strength = if doubt.is_some() { Strength::Weak } else { found.strength };
    Some(Hit { detector, range: found.range, is_encoded: false, strength, doubt: doubt.or(found.note) })
}

/// Removes overlapping hits: the more specific kind of detector wins, then the longer range.
fn without_overlaps(mut hits: Vec<Hit>) -> Vec<Hit> {
    let rank = |hit: &Hit| match hit.detector.find {
        Find::Token(_) => 0,
        Find::Assigned(_) => 1,
        Find::Reader(_) => 2,
    };
    hits.sort_by_key(|hit| (rank(hit), std::cmp::Reverse(hit.range.len()), hit.range.start, hit.detector.rule));
    let mut kept: Vec<Hit> = Vec::new();
    for hit in hits {
        if !kept.iter().any(|other| other.range.start < hit.range.end && hit.range.start < other.range.end) {
            kept.push(hit);
        }
    }
    kept.sort_by_key(|hit| hit.range.start);
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Fragments that the readers look for, in every order and cut at every place.
    const FRAGMENTS: &[&str] = &[
        "password",
        "secret",
        "token",
        "api_key",
        "=",
        ":",
        "=>",
        "==",
        " ",
        "\"",
        "'",
        "\\",
        "\n",
        "<",
        ">",
        "(",
        ")",
        "://",
        "user:",
        "@",
        "host",
        "/",
        "Bearer ",
        "Basic ",
        "curl ",
        " -u ",
        "-----BEGIN ",
        "PRIVATE KEY-----",
        "eyJ",
        ".",
        "-us1",
        ":AA",
        "NRAL",
        ".atlasv1.",
        "ghp_",
        "AKIA",
        "é",
        "\u{0}",
        "a1B2c3D4e5F6g7H8",
        "${",
        "}",
        "`",
        "[",
        "]",
        ",",
        ";",
        "&",
        "#",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn any_text_is_scanned_and_every_hit_lies_inside(fragments in prop::collection::vec((0..FRAGMENTS.len(), 0..4_usize), 0..40), path in "(a\\.py|a\\.yaml|a\\.sh|t/a\\.md|a\\.lock)") {
            let text: Vec<u8> = fragments.iter().flat_map(|(fragment, cut)| {
                let fragment = FRAGMENTS[*fragment].as_bytes();
                fragment[..fragment.len().saturating_sub(*cut / 2)].to_vec()
            }).collect();

            for hit in Scanner::shared().scan(&text, FileKind::of(&path)) {
                prop_assert!(hit.range.start < hit.range.end && hit.range.end <= text.len());
            }
        }

        #[test]
        fn any_bytes_are_scanned(text in prop::collection::vec(any::<u8>(), 0..400)) {
            Scanner::shared().scan(&text, FileKind::LOG);
        }
    }
}
