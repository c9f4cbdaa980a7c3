//! A result of the check, before it becomes a finding.

use std::ops::Range;

use switchboard_protocol::finding::{CheckName, Finding, Severity, Span};
use switchboard_syntax::Lines;

use crate::fingerprint::fingerprint;

/// Consequence of a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Consequence {
    /// Reported, without a consequence.
    Reported,
    /// A person, or a reviewer other than the author, must look.
    NeedsReview,
    /// The change is refused.
    Refused,
}

/// A single result of the check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) rule: &'static str,
    pub(super) consequence: Consequence,
    pub(super) path: String,
    /// Byte range in the file after the change; `0..0` if the hit concerns the whole file.
    pub(super) range: Range<usize>,
    pub(super) message: String,
}

/// Remedy for each rule.
const REMEDIES: &[(&str, &str)] = &[
    ("test-deleted", "Put the test back, or have somebody else confirm that it may go."),
    ("test-skipped", "Run the test again, or put one in its place that does the same."),
    ("test-focused", "Take the mark out: it keeps the other tests from running."),
    ("fewer-cases", "Put the cases back."),
    ("assertion-removed", "Put the assertion back."),
    ("assertion-weakened", "Assert what was asserted before."),
    (
        "expected-value-changed",
        "Make the code give what the test expects, or have somebody else confirm the new value.",
    ),
    ("input-changed", "Assert for the input that was there, and add the new one beside it."),
    ("exit-call", "Take the call out: it ends the test process before it has reported."),
    ("runner-file", "Leave the file out, or have somebody else look at what it does to the tests."),
    ("runner-config", "Put the setting back, or have somebody else confirm it."),
    ("runner-patched", "Take the patch out: the tests must be judged by the real runner."),
    ("equal-to-everything", "Compare for real."),
    ("gate-config", "Put the setting back, or have somebody else confirm it."),
    ("ignore-file", "Take the new lines out, or have somebody else confirm them."),
    ("tool-on-path", "Take the file out of the commit: installed programs come from the set-up."),
    ("cached-code", "Take the file out of the commit: caches are made anew."),
    ("report-file", "Take the file out of the commit: reports are written by the gates."),
    ("hard-coded", "Compute the result for every input."),
    ("from-history", "Nothing, if taking it from there was meant."),
    ("base-tests-fail", "Keep what the tests of the base ask for, or have somebody else confirm the new behaviour."),
    ("wrong-test-passes", "Take out what alters how tests are judged: a test with a wrong expectation must fail."),
    ("not-looked-at", "Have somebody look at it."),
];

/// Returns the rules as findings name them.
pub(crate) fn rules() -> Vec<String> {
    REMEDIES.iter().map(|(rule, _)| format!("test-integrity/{rule}")).collect()
}

// === impl Hit ===

impl Hit {
    pub(super) fn new(
        rule: &'static str,
        consequence: Consequence,
        path: &str,
        range: Range<usize>,
        message: String,
    ) -> Self {
        Self { rule, consequence, path: path.to_owned(), range, message }
    }

    /// Converts the hit to a finding; `text` is the file after the change.
    pub(super) fn finding(&self, text: Option<&[u8]>) -> Finding {
        let rule = format!("test-integrity/{}", self.rule);
        let remedy = REMEDIES.iter().find(|(known, _)| *known == self.rule).map_or("", |(_, remedy)| remedy);
        let top = Span { start_line: 1, start_column: 1, end_line: 1, end_column: 1 };
        let range = text.filter(|text| self.range.end <= text.len());
        let span = range.map_or(top, |text| Lines::new(text).span(text, &self.range));
        Finding {
            check: CheckName::TestIntegrity,
            severity: match self.consequence {
                Consequence::Reported => Severity::Info,
                Consequence::NeedsReview => Severity::Medium,
                Consequence::Refused => Severity::High,
            },
            remedy: remedy.to_owned(),
            cwe: None,
            path: self.path.clone(),
            span,
            fingerprint: fingerprint(&rule, &self.path, self.message.as_bytes(), 0),
            is_new: true,
            blocks: self.consequence == Consequence::Refused,
            allowed: None,
            masked: None,
            excerpt: None,
            commit: None,
            message: self.message.clone(),
            rule,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weight_decides_whether_a_finding_blocks_or_asks() {
        let of = |consequence| Hit::new("exit-call", consequence, "a.py", 2..3, "m".into()).finding(Some(b"1\n2\n"));

        assert_eq!((of(Consequence::Refused).blocks, of(Consequence::Refused).severity), (true, Severity::High));
        assert_eq!(
            (of(Consequence::NeedsReview).blocks, of(Consequence::NeedsReview).severity),
            (false, Severity::Medium)
        );
        assert_eq!(of(Consequence::Reported).severity, Severity::Info);
        assert_eq!(of(Consequence::Reported).span.start_line, 2);
        assert!(!of(Consequence::Reported).remedy.is_empty());
    }
}
