//! `todo_extract`: lists the notes that people left in comments; it never blocks.

use switchboard_protocol::finding::{CheckName, Finding, Severity};

use crate::file_check::{FileCheck, Look};
use crate::fingerprint::{Occurrences, fingerprint};
use switchboard_secrets::redact;
use switchboard_syntax::Parsers;
use switchboard_syntax::Source;
use switchboard_syntax::notes::{Note, notes};

/// Check that lists notes in comments.
pub(crate) struct TodoExtract;

impl FileCheck for TodoExtract {
    fn name(&self) -> CheckName {
        CheckName::TodoExtract
    }

    fn look(&self, source: &Source, parsers: &mut Parsers) -> Look {
        let Some(language) = source.language else {
            return Look::Skipped("no grammar for this kind of file".into());
        };
        let Some(tree) = parsers.tree_of(language, &source.text) else {
            return Look::Skipped("parsing it took too long".into());
        };
        let notes = notes(&tree, &source.text);
        let mut seen = Occurrences::default();
        let findings = notes.iter().map(|note| finding(source, note, seen.next(note.tag, note.text.as_bytes())));
        Look::Looked(findings.collect())
    }
}

fn finding(source: &Source, note: &Note, at: usize) -> Finding {
    let rule = format!("todo/{}", note.tag.to_ascii_lowercase());
    let line = source.lines().line_of(note.range.start);
    Finding {
        check: CheckName::TodoExtract,
        severity: priority(note.tag),
        message: redact(&note.text),
        remedy: "Do it, or write down where it will be done.".into(),
        cwe: None,
        path: source.path.clone(),
        span: source.lines().span(&source.text, &note.range),
        fingerprint: fingerprint(&rule, &source.path, note.text.as_bytes(), at),
        is_new: source.touched().holds(line),
        blocks: false,
        allowed: None,
        masked: None,
        excerpt: None,
        commit: None,
        rule,
    }
}

/// Returns the priority of a tag, in the words of findings: high, medium, low.
fn priority(tag: &str) -> Severity {
    match tag {
        "FIXME" | "HACK" | "XXX" => Severity::High,
        "NOTE" => Severity::Low,
        _ => Severity::Medium,
    }
}
