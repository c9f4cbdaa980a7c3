//! What is done to tests is held for somebody else than who did it: the reviewer of a team or a person. Where there is neither, it is refused.

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

/// Makes the findings of `test_integrity` that say that tests demand less refuse the change.
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
