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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::tests::finding;

    /// Returns a warning of this check with a finding that blocks nothing.
    fn report(check: CheckName, rule: &str, more: &Value) -> CheckReport {
        let mut fields = json!({ "rule": rule, "blocks": false });
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let findings = vec![finding(1, fields)];
        CheckReport { findings, ..CheckReport::new(check, CheckVerdict::Warn, "s".to_owned()) }
    }

    #[test]
    fn new_findings_about_weakened_tests_refuse_the_change() {
        for rule in ["test-integrity/assertion-removed", "fewer-tests"] {
            let mut reports = [report(CheckName::TestIntegrity, rule, &json!({}))];

            refuse(&mut reports);

            let [finding] = reports[0].findings.as_slice() else { panic!("{reports:?}") };
            assert_eq!((reports[0].verdict, finding.blocks), (CheckVerdict::Fail, true), "{reports:?}");
            assert_eq!(finding.severity, Severity::High);
            assert_eq!(finding.message, "bad, and the plan lets nobody be asked");
        }
    }

    #[test]
    fn other_findings_stay_as_they_are() {
        let others = [
            report(CheckName::TestIntegrity, "config-changed", &json!({})),
            report(CheckName::TestIntegrity, "fewer-tests", &json!({ "is_new": false })),
            report(CheckName::TestIntegrity, "fewer-tests", &json!({ "severity": "low" })),
            report(CheckName::Secretscan, "fewer-tests", &json!({})),
        ];

        for other in others {
            let mut reports = [other.clone()];
            refuse(&mut reports);
            assert_eq!(reports, [other]);
        }
    }

    #[test]
    fn only_the_report_of_test_integrity_is_refused() {
        let of = |check| report(check, "test-deleted", &json!({}));
        let mut reports = [of(CheckName::Diff), of(CheckName::TestIntegrity)];

        refuse(&mut reports);

        assert_eq!(reports.map(|report| report.verdict), [CheckVerdict::Warn, CheckVerdict::Fail]);
    }
}
