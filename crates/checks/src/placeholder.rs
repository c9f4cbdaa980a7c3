//! `placeholder_scan`: code that only pretends to be finished.
//!
//! A legal empty body, a guard clause, an abstract method, a no-op default: none of them fires. What fires says itself
//! that something is missing.

use std::ops::Range;

use protocol::finding::{CheckName, Finding, Severity};

use crate::engine::{FileCheck, Look};
use crate::fingerprint::fingerprint;
use crate::notes;
use crate::source::Source;
use crate::syntax::Parsers;

mod code;
mod words;

/// The check.
pub(crate) struct PlaceholderScan;

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
        if source.has_base {
            found.extend(marks(&notes::notes(&tree, &source.text)));
        }
        found.sort_by_key(|placeholder| (placeholder.range.start, placeholder.rule));
        found.dedup_by_key(|placeholder| source.lines().line_of(placeholder.range.start));
        Look::Looked(found.iter().enumerate().map(|(at, placeholder)| finding(source, placeholder, at)).collect())
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

fn finding(source: &Source, placeholder: &Placeholder, at: usize) -> Finding {
    let line = source.lines().line_of(placeholder.range.start);
    let is_new = source.touched().holds(line);
    Finding {
        check: CheckName::PlaceholderScan,
        rule: placeholder.rule.to_owned(),
        severity: Severity::Medium,
        message: placeholder.what.to_owned(),
        remedy: "Write the code, or take the promise out.".into(),
        cwe: None,
        path: source.path.clone(),
        span: source.lines().span(&source.text, &placeholder.range),
        fingerprint: fingerprint(
            placeholder.rule,
            &source.path,
            source.lines().bytes(&source.text, line).trim_ascii(),
            at,
        ),
        is_new,
        blocks: is_new,
        allowed: None,
        masked: None,
    }
}
