//! `secretscan`: keys, tokens, passwords and other credentials in files.
//!
//! One pass of a keyword automaton over the file; behind every keyword the detectors that own it look at a few hundred
//! bytes. What is found never leaves this module: a finding holds the rule, the place and at most a vendor's public prefix.

use std::collections::HashMap;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use sha2::{Digest, Sha256};
use switchboard_protocol::finding::{CheckName, Finding, Severity};

use crate::engine::{FileCheck, Look};
use crate::fingerprint::fingerprint;
use crate::source::{Base, Source};
use crate::syntax::Parsers;

mod assignment;
mod call;
mod checksum;
mod detector;
mod encoded;
mod file_kind;
mod header;
mod history;
mod jwt;
mod keywords;
mod name;
mod pem;
mod placed;
mod prefixless;
mod scan;
mod table;
mod url;
mod value;
mod words;

use file_kind::FileKind;
pub use history::HistoryRequest;
use scan::{Hit, Scanner};

/// The check.
pub(crate) struct Secretscan {
    ignored: Gitignore,
}

// === impl Secretscan ===

impl Secretscan {
    /// Makes the check; `ignore_file` is the content of `.secretscanignore`, with the patterns of a `.gitignore`.
    pub(crate) fn new(ignore_file: &str) -> Self {
        let mut builder = GitignoreBuilder::new("");
        for line in ignore_file.lines() {
            // A pattern that is none leaves its line out; every file it meant is then scanned.
            let _unusable = builder.add_line(None, line);
        }
        Self { ignored: builder.build().unwrap_or_else(|_| Gitignore::empty()) }
    }

    /// Tells whether the ignore file names a path.
    fn leaves_out(&self, path: &str) -> bool {
        self.ignored.matched_path_or_any_parents(path, false).is_ignore()
    }

    /// Lists the secrets of a file.
    fn findings(source: &Source) -> Vec<Finding> {
        let hits = Scanner::shared().scan(&source.text, FileKind::of(&source.path));
        if hits.is_empty() {
            return Vec::new();
        }
        let mut known = Known::of(source);
        let mut seen: HashMap<(&str, Vec<u8>), usize> = HashMap::new();
        let findings = hits.iter().map(|hit| {
            let is_new = !known.take(hit, &source.text);
            let what = identity(hit, source, &hits);
            let occurrence = seen.entry((hit.detector.rule, what.clone())).or_default();
            *occurrence += 1;
            finding(hit, source, is_new, &what, *occurrence - 1)
        });
        findings.collect()
    }
}

impl FileCheck for Secretscan {
    fn name(&self) -> CheckName {
        CheckName::Secretscan
    }

    fn look(&self, source: &Source, _: &mut Parsers) -> Look {
        if self.leaves_out(&source.path) {
            return Look::Skipped("named in .secretscanignore".into());
        }
        Look::Looked(Self::findings(source))
    }
}

/// Lists the rules of `secretscan` with what each of them finds.
pub fn secret_rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    table::all().into_iter().map(|detector| (detector.rule, detector.title))
}

/// Replaces every secret in a text that is shown to somebody, e.g. the output of a command.
pub(crate) fn redact(text: &str) -> String {
    let mut shown = Vec::with_capacity(text.len());
    let mut at = 0;
    for hit in Scanner::shared().scan(text.as_bytes(), FileKind::LOG) {
        if hit.range.start >= at {
            shown.extend_from_slice(&text.as_bytes()[at..hit.range.start]);
            shown.extend_from_slice(format!("[{} left out]", hit.detector.rule).as_bytes());
        }
        at = at.max(hit.range.end);
    }
    shown.extend_from_slice(&text.as_bytes()[at..]);
    String::from_utf8_lossy(&shown).into_owned()
}

/// The secrets that the base had, counted by rule and value.
enum Known {
    All,
    These(HashMap<(&'static str, [u8; 32]), usize>),
}

// === impl Known ===

impl Known {
    fn of(source: &Source) -> Self {
        match &source.base {
            Base::Same => Self::All,
            Base::Nothing => Self::These(HashMap::new()),
            Base::Other(before) => {
                let mut known: HashMap<_, usize> = HashMap::new();
                for hit in Scanner::shared().scan(before, FileKind::of(&source.path)) {
                    *known.entry(Self::key(&hit, before)).or_default() += 1;
                }
                Self::These(known)
            }
        }
    }

    fn key(hit: &Hit, text: &[u8]) -> (&'static str, [u8; 32]) {
        (hit.detector.rule, Sha256::digest(&text[hit.range.clone()]).into())
    }

    /// Tells whether the base had this one, each of its copies once.
    fn take(&mut self, hit: &Hit, text: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::These(known) => match known.get_mut(&Self::key(hit, text)) {
                Some(left) if *left > 0 => {
                    *left -= 1;
                    true
                }
                Some(_) | None => false,
            },
        }
    }
}

/// Gives what names a finding. A long random value names itself, through a hash; of one that could be guessed, only the
/// line around it does.
fn identity(hit: &Hit, source: &Source, hits: &[Hit]) -> Vec<u8> {
    let value = &source.text[hit.range.clone()];
    if value.len() >= 20 && words::entropy(value) >= 3.5 {
        return Sha256::digest(value).to_vec();
    }
    let lines = source.lines();
    let line = lines.line_of(hit.range.start);
    let from = lines.start(line).unwrap_or(hit.range.start);
    let to = from + lines.bytes(&source.text, line).len();
    let mut around = source.text[from..to].to_vec();
    for other in hits.iter().filter(|other| other.range.start < to && other.range.end > from) {
        let (start, end) = (other.range.start.max(from) - from, other.range.end.min(to) - from);
        around[start..end].fill(b'*');
    }
    around.retain(|byte| !byte.is_ascii_whitespace() && *byte != b'*');
    around
}

fn finding(hit: &Hit, source: &Source, is_new: bool, what: &[u8], occurrence: usize) -> Finding {
    let detector = hit.detector;
    let title = if hit.is_encoded { format!("{}, in base64", detector.title) } else { detector.title.to_owned() };
    let message = hit.doubt.map_or(title.clone(), |doubt| format!("{title} ({doubt})"));
    let severity = if hit.doubt.is_some() { Severity::Low } else { detector.severity };
    Finding {
        check: CheckName::Secretscan,
        rule: detector.rule.to_owned(),
        severity,
        message,
        remedy: "Take it out, read it from the environment or a secret store, and revoke it where it was real.".into(),
        cwe: Some(detector.cwe),
        path: source.path.clone(),
        span: source.lines().span(&source.text, &hit.range),
        fingerprint: fingerprint(detector.rule, &source.path, what, occurrence),
        is_new,
        blocks: is_new && severity >= Severity::Medium,
        allowed: None,
        masked: detector.public_prefix(&source.text[hit.range.clone()]).map(|prefix| format!("{prefix}…")),
        excerpt: None,
        commit: None,
    }
}
