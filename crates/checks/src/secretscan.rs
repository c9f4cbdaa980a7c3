//! `secretscan`: keys, tokens, passwords and other credentials in files, as `switchboard-secrets` finds them.
//!
//! What is found never leaves this module: a finding holds the rule, the place and at most a vendor's public prefix.

use std::collections::HashMap;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use sha2::{Digest, Sha256};
use switchboard_protocol::finding::{CheckName, Finding, Severity};
use switchboard_secrets::{Hit, is_random, scan};
use switchboard_syntax::{Base, Parsers, Source};

use crate::file_check::{FileCheck, Look};
use crate::fingerprint::fingerprint;

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
    pub(crate) fn leaves_out(&self, path: &str) -> bool {
        self.ignored.matched_path_or_any_parents(path, false).is_ignore()
    }

    /// Lists the secrets of a file.
    pub(crate) fn findings(source: &Source) -> Vec<Finding> {
        let hits = scan(&source.text, &source.path);
        if hits.is_empty() {
            return Vec::new();
        }
        let mut known = Known::of(source);
        let mut seen: HashMap<(&str, Vec<u8>), usize> = HashMap::new();
        let findings = hits.iter().map(|hit| {
            let is_new = !known.take(hit, &source.text);
            let what = identity(hit, source, &hits);
            let occurrence = seen.entry((hit.rule(), what.clone())).or_default();
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
                for hit in scan(before, &source.path) {
                    *known.entry(Self::key(&hit, before)).or_default() += 1;
                }
                Self::These(known)
            }
        }
    }

    fn key(hit: &Hit, text: &[u8]) -> (&'static str, [u8; 32]) {
        (hit.rule(), Sha256::digest(&text[hit.range.clone()]).into())
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
    if is_random(value) {
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
    let severity = hit.severity();
    Finding {
        check: CheckName::Secretscan,
        rule: hit.rule().to_owned(),
        severity,
        message: hit.message(),
        remedy: "Take it out, read it from the environment or a secret store, and revoke it where it was real.".into(),
        cwe: Some(hit.cwe()),
        path: source.path.clone(),
        span: source.lines().span(&source.text, &hit.range),
        fingerprint: fingerprint(hit.rule(), &source.path, what, occurrence),
        is_new,
        blocks: is_new && severity >= Severity::Medium,
        allowed: None,
        masked: hit.public_prefix(&source.text).map(|prefix| format!("{prefix}…")),
        excerpt: None,
        commit: None,
    }
}
