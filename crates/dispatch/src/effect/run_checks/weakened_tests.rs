//! Weakened tests need the judgement of a reviewer of a team or a person, not of the agent that weakened them. Without
//! either, they are refused.

use switchboard_protocol::finding::{CheckName, CheckReport, CheckVerdict, Severity};

/// Rules about tests that demand less than before.
const WEAKENS: [&str; 8] = [
    "test-deleted",
    "test-skipped",
    "test-focused",
    "fewer-cases",
    "fewer-tests",
    "assertion-removed",
    "assertion-weakened",
    "equal-to-everything",
];

/// Turns findings of `test_integrity` about weakened tests into a refusal of the change.
pub(super) fn refuse(reports: &mut [CheckReport]) {
    let Some(report) = reports.iter_mut().find(|report| report.check == CheckName::TestIntegrity) else { return };
    let weakens = |rule: &str| WEAKENS.contains(&rule.trim_start_matches("test-integrity/"));
    for finding in &mut report.findings {
        if finding.is_new && finding.severity == Severity::Medium && weakens(&finding.rule) {
            finding.blocks = true;
            finding.severity = Severity::High;
            finding.message.push_str(", and the plan lets nobody be asked");
            report.verdict = CheckVerdict::Fail;
        }
    }
}
