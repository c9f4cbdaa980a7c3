//! `syntax_check`: finds code that no longer parses, as `switchboard-syntax` judges it.

use switchboard_protocol::finding::{CheckName, Finding, Severity};
use switchboard_syntax::{Judged, Mistake, Parsers, Source, judge};

use crate::file_check::{FileCheck, Look};
use crate::fingerprint::fingerprint;

/// Syntax check of single files.
pub(crate) struct SyntaxCheck;

// === impl SyntaxCheck ===

impl FileCheck for SyntaxCheck {
    fn name(&self) -> CheckName {
        CheckName::SyntaxCheck
    }

    fn look(&self, source: &Source, parsers: &mut Parsers) -> Look {
        match judge(source, parsers) {
            Judged::Skipped(why) => Look::Skipped(why),
            Judged::Parsed(mistakes) => Look::Looked(
                mistakes.into_iter().enumerate().map(|(at, mistake)| finding(source, mistake, at)).collect(),
            ),
        }
    }
}

fn finding(source: &Source, mistake: Mistake, at: usize) -> Finding {
    let line = source.lines().bytes(&source.text, mistake.line);
    Finding {
        check: CheckName::SyntaxCheck,
        severity: if mistake.blocks || !mistake.is_new { Severity::High } else { Severity::Low },
        message: mistake.message,
        remedy: "Make the file parse again; look at the lines just above as well.".into(),
        cwe: None,
        path: source.path.clone(),
        span: source.lines().span(&source.text, &mistake.range),
        fingerprint: fingerprint(&mistake.rule, &source.path, line.trim_ascii(), at),
        is_new: mistake.is_new,
        blocks: mistake.blocks,
        allowed: None,
        masked: None,
        excerpt: None,
        commit: None,
        rule: mistake.rule,
    }
}
