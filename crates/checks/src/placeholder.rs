//! `placeholder_scan`: code that only pretends to be finished.
//!
//! A legal empty body, a guard clause, an abstract method, a no-op default: none of them fires. What fires says itself
//! that something is missing.

use std::ops::Range;

use protocol::finding::{CheckName, Finding, Severity};

use crate::engine::{FileCheck, Look};
use crate::fingerprint::{Occurrences, fingerprint};
use crate::notes;
use crate::source::Source;
use crate::syntax::Parsers;

mod code;
mod words;

/// The check.
#[derive(Debug, Default)]
pub(crate) struct PlaceholderScan {
    /// Whether marks count in files that are compared with nothing: somebody has named the files as the change.
    pub(crate) all_is_change: bool,
    /// Patterns that stand in place of the words for unfinished work, each with its own text.
    pub(crate) deny: Vec<(String, regex::bytes::Regex)>,
}

// === impl PlaceholderScan ===

impl PlaceholderScan {
    /// What an answer depends on besides the file.
    pub(crate) fn settings(&self) -> String {
        let patterns: Vec<&str> = self.deny.iter().map(|(text, _)| text.as_str()).collect();
        format!("{} {patterns:?}", self.all_is_change)
    }
}

/// A place that only stands for code to come.
pub(crate) struct Placeholder {
    pub(crate) rule: &'static str,
    pub(crate) what: &'static str,
    pub(crate) range: Range<usize>,
}

impl FileCheck for PlaceholderScan {
    fn name(&self) -> CheckName {
        CheckName::PlaceholderScan
    }

    fn look(&self, source: &Source, parsers: &mut Parsers) -> Look {
        let Some(language) = source.language else {
            return Look::Skipped("no grammar for this kind of file".into());
        };
        let Some(tree) = parsers.tree_of(language, &source.text) else {
            return Look::Skipped("parsing it took too long".into());
        };
        let mut found = code::placeholders(&tree, &source.text, language, &source.path);
        for comment in notes::comments(&tree) {
            found.extend(words::in_comment(&source.text, &comment));
        }
        if source.has_base || self.all_is_change {
            found.extend(marks(&notes::notes(&tree, &source.text)));
        }
        found.sort_by_key(|placeholder| (placeholder.range.start, placeholder.rule));
        found.dedup_by_key(|placeholder| source.lines().line_of(placeholder.range.start));
        let mut seen = Occurrences::default();
        Look::Looked(found.iter().map(|placeholder| finding(source, placeholder, &mut seen)).collect())
    }
}

/// A mark in a change is work that the change leaves undone; in code that nobody changes it is only a note.
fn marks(notes: &[notes::Note]) -> impl Iterator<Item = Placeholder> {
    notes.iter().filter_map(|note| {
        let rule = match note.tag {
            "TODO" => "placeholder/comment-todo",
            "FIXME" => "placeholder/comment-fixme",
            "HACK" | "XXX" | "TBD" | "WIP" => "placeholder/comment-other",
            _ => return None,
        };
        Some(Placeholder { rule, what: "a mark for work that is left undone", range: note.range.clone() })
    })
}

fn finding(source: &Source, placeholder: &Placeholder, seen: &mut Occurrences) -> Finding {
    let line = source.lines().line_of(placeholder.range.start);
    let is_new = source.touched().holds(line);
    let what = source.lines().bytes(&source.text, line).trim_ascii();
    Finding {
        check: CheckName::PlaceholderScan,
        rule: placeholder.rule.to_owned(),
        severity: Severity::Medium,
        message: placeholder.what.to_owned(),
        remedy: "Write the code, or take the promise out.".into(),
        cwe: None,
        path: source.path.clone(),
        span: source.lines().span(&source.text, &placeholder.range),
        fingerprint: fingerprint(placeholder.rule, &source.path, what, seen.next(placeholder.rule, what)),
        is_new,
        blocks: is_new,
        allowed: None,
        masked: None,
    }
}
