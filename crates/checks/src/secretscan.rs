//! `secretscan`: keys, tokens, passwords and other credentials in files, as `switchboard-secrets` finds them.
//!
//! The text found never leaves this module: a finding holds the rule, the position and at most a vendor's public
//! prefix.

use std::collections::HashMap;
use std::ops::Range;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use sha2::{Digest, Sha256};
use switchboard_protocol::finding::{CheckName, Finding, Severity, Span};
use switchboard_secrets::{Hit, is_random, scan};
use switchboard_syntax::{Base, Parsers, Source};

use crate::accepted::allow_by_comment;
use crate::chunks::Chunks;
use crate::file_check::{FileCheck, Look};
use crate::fingerprint::fingerprint;
use crate::reader::Large;

/// Secret scan with the ignore file of one run.
pub(crate) struct Secretscan {
    ignored: Gitignore,
}

// === impl Secretscan ===

impl Secretscan {
    /// Creates the check; `ignore_file` is the content of `.secretscanignore`, with the patterns of a `.gitignore`.
    pub(crate) fn new(ignore_file: &str) -> Self {
        let mut builder = GitignoreBuilder::new("");
        for line in ignore_file.lines() {
            // An invalid pattern is ignored; every file that it was to exclude is then scanned.
            let _unusable = builder.add_line(None, line);
        }
        Self { ignored: builder.build().unwrap_or_else(|_| Gitignore::empty()) }
    }

    /// Returns whether the ignore file excludes a path.
    pub(crate) fn leaves_out(&self, path: &str) -> bool {
        self.ignored.matched_path_or_any_parents(path, false).is_ignore()
    }

    /// Lists the secrets of a file.
    pub(crate) fn findings(source: &Source) -> Vec<Finding> {
        ReportedSecrets::new(Known::of(&source.base, &source.path)).findings(source, 0..source.text.len())
    }

    /// Lists the secrets of a large file, chunk by chunk.
    fn findings_of_large(large: &mut Large) -> std::io::Result<Vec<Finding>> {
        let mut told = ReportedSecrets::new(Known::of(&large.base, &large.path));
        let mut chunks = Chunks::new(&mut large.text);
        let mut found = Vec::new();
        while let Some(chunk) = chunks.next()? {
            let source = Source::new(large.path.clone(), chunk.text, Base::Nothing);
            let Look::Looked(findings) = allow_by_comment(Look::Looked(told.findings(&source, chunk.own)), &source)
            else {
                continue;
            };
            found.extend(findings.into_iter().map(|mut finding| {
                finding.span = below(finding.span, chunk.lines, chunk.column);
                finding
            }));
        }
        Ok(found)
    }
}

/// Moves a span in a chunk to its position in the file.
fn below(span: Span, lines: u32, column: u32) -> Span {
    let moved = |line: u32, at: u32| (line + lines, if line == 1 { at + column } else { at });
    let ((start_line, start_column), (end_line, end_column)) =
        (moved(span.start_line, span.start_column), moved(span.end_line, span.end_column));
    Span { start_line, start_column, end_line, end_column }
}

/// Findings reported for a file so far.
struct ReportedSecrets {
    known: Known,
    /// Number of findings by rule and identity.
    seen: HashMap<(&'static str, Vec<u8>), usize>,
}

// === impl ReportedSecrets ===

impl ReportedSecrets {
    fn new(known: Known) -> Self {
        Self { known, seen: HashMap::new() }
    }

    /// Lists the secrets that begin in the byte range `own` of a text.
    fn findings(&mut self, source: &Source, own: Range<usize>) -> Vec<Finding> {
        let hits = scan(&source.text, &source.path);
        let owned = hits.iter().filter(|hit| own.contains(&hit.range.start));
        let findings = owned.map(|hit| {
            let is_new = !self.known.take(hit, &source.text);
            let what = identity(hit, source, &hits);
            let occurrence = self.seen.entry((hit.rule(), what.clone())).or_default();
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

    fn look_at_large(&self, large: &mut Large) -> Look {
        if self.leaves_out(&large.path) {
            return Look::Skipped("named in .secretscanignore".into());
        }
        Self::findings_of_large(large)
            .map_or_else(|error| Look::Unread(format!("unreadable: {}", error.kind())), Look::Looked)
    }

    fn looks_at_index(&self) -> bool {
        true
    }

    fn reads_nul(&self) -> bool {
        true
    }
}

/// The secrets that the base had, counted by rule and value.
enum Known {
    All,
    These(HashMap<(&'static str, [u8; 32]), usize>),
}

// === impl Known ===

impl Known {
    fn of(base: &Base, path: &str) -> Self {
        match base {
            Base::Same => Self::All,
            Base::Nothing => Self::These(HashMap::new()),
            Base::Other(before) => {
                let mut known: HashMap<_, usize> = HashMap::new();
                for hit in scan(before, path) {
                    *known.entry(Self::key(&hit, before)).or_default() += 1;
                }
                Self::These(known)
            }
        }
    }

    fn key(hit: &Hit, text: &[u8]) -> (&'static str, [u8; 32]) {
        (hit.rule(), Sha256::digest(&text[hit.range.clone()]).into())
    }

    /// Returns whether the base had this secret; each copy in the base is used up once.
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

/// Returns the bytes that identify a finding: the hash of a long random value, or, for a value that could be guessed,
/// only the line around it.
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
        blocks: is_new && severity >= Severity::High,
        allowed: None,
        masked: hit.public_prefix(&source.text).map(|prefix| format!("{prefix}…")),
        excerpt: None,
        commit: None,
    }
}
