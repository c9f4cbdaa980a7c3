//! Detects fewer tests than before: compares the test command's count with its count on the tests of the base.

use switchboard_protocol::finding::{CheckName, CheckReport, CheckVerdict, Finding, Severity, Span};
use switchboard_protocol::id::Digest;

const RULE: &str = "test-integrity/fewer-tests";

/// Adds a finding to `test_integrity` if fewer tests ran than required.
pub(super) fn add_finding(reports: &mut [CheckReport]) {
    let ran = reports.iter().find(|report| report.check == CheckName::TestRunner).and_then(|report| {
        let counted = report.runs.iter().map(|run| run.tests.map(|tests| tests.passed + tests.failed));
        counted.sum::<Option<u64>>().filter(|_| !report.runs.is_empty())
    });
    let integrity = reports.iter_mut().find(|report| report.check == CheckName::TestIntegrity);
    let (Some(ran), Some(integrity)) = (ran, integrity) else { return };
    let Some(expected) = integrity.tests_expected.filter(|expected| ran < *expected) else { return };
    let message = format!("{ran} tests ran, and at least {expected} have to by what the tests of the base are");
    let fingerprint = Digest::of_parts(&[RULE.as_bytes(), message.as_bytes()]).to_string().chars().take(32).collect();
    integrity.findings.push(Finding {
        check: CheckName::TestIntegrity,
        rule: RULE.to_owned(),
        severity: Severity::Medium,
        message,
        remedy: "Let all tests run, or have somebody else confirm that they may go.".to_owned(),
        cwe: None,
        path: ".".to_owned(),
        span: Span { start_line: 1, start_column: 1, end_line: 1, end_column: 1 },
        fingerprint,
        is_new: true,
        blocks: false,
        allowed: None,
        masked: None,
        excerpt: None,
        commit: None,
    });
    if matches!(integrity.verdict, CheckVerdict::Pass | CheckVerdict::Skip) {
        integrity.verdict = CheckVerdict::Warn;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(check: &str, expected: Option<u64>, passed: u64) -> CheckReport {
        let tests = json!({ "passed": passed, "failed": 0, "skipped": 3, "total": passed + 3 });
        let run = json!({ "kind": "test", "argv": ["t"], "cwd": ".", "exit_code": 0, "ending": "exit 0", "duration_ms": 1, "stdout": "",
            "stderr": "", "memory": "not limited", "tests": tests });
        serde_json::from_value(
            json!({ "check": check, "verdict": "pass", "summary": "", "findings": [], "files_checked": 1, "skipped": [],
            "runs": [run], "tests_expected": expected, "duration_ms": 1 }),
        )
        .unwrap()
    }

    #[test]
    fn fewer_tests_than_the_bases_ask_a_person() {
        let told = |expected, ran| {
            let mut reports = [report("test_integrity", expected, 9), report("test_runner", None, ran)];
            add_finding(&mut reports);
            (reports[0].verdict, reports[0].findings.len())
        };

        assert_eq!(told(Some(3), 2), (CheckVerdict::Warn, 1));
        assert_eq!(told(Some(3), 3), (CheckVerdict::Pass, 0));
        assert_eq!(told(None, 0), (CheckVerdict::Pass, 0), "where nothing was counted there is nothing to compare");
    }

    #[test]
    fn the_finding_is_new_and_about_the_whole_change() {
        let mut reports = [report("test_integrity", Some(3), 9), report("test_runner", None, 2)];

        add_finding(&mut reports);

        let finding = &reports[0].findings[0];
        assert_eq!((finding.rule.as_str(), finding.path.as_str(), finding.is_new), (RULE, ".", true));
        assert_eq!(finding.message, "2 tests ran, and at least 3 have to by what the tests of the base are");
        assert_eq!((finding.severity, finding.blocks), (Severity::Medium, false), "a person decides");
        assert_eq!(finding.span, Span { start_line: 1, start_column: 1, end_line: 1, end_column: 1 });
    }
}
