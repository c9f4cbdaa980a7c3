use switchboard_protocol::finding::CommandKind;

use super::*;
use crate::tests::{command_run as run, finding};

/// Judges a gate that asks for the check of a report.
fn said(gate: &str, report: &CheckReport) -> GateResult {
    let request = CheckRequest { only: vec![report.check], ..CheckRequest::default() };
    judge(&request, gate, &BTreeMap::from([(report.check.as_str(), report)]))
}

#[test]
fn a_pass_says_what_was_left_out() {
    let mut report = CheckReport::new(CheckName::Secretscan, CheckVerdict::Pass, "1 left out".to_owned());
    assert_eq!(said("secretscan", &report), (Verdict::Pass, Vec::new()));

    report.excluded = 1;
    assert_eq!(said("secretscan", &report), (Verdict::Pass, vec!["1 left out".to_owned()]));
}

#[test]
fn a_check_that_did_not_report_and_one_that_nobody_configured_are_no_pass() {
    let asked = CheckRequest { only: vec![CheckName::Secretscan], ..CheckRequest::default() };

    assert_eq!(judge(&asked, "secretscan", &BTreeMap::new()).0, Verdict::Error);
    assert_eq!(judge(&asked, "tests", &BTreeMap::new()).0, Verdict::NotConfigured);
    assert_eq!(judge(&asked, "no_such_gate", &BTreeMap::new()).0, Verdict::NotConfigured);
    assert_eq!(judge(&asked, "scope", &BTreeMap::new()).0, Verdict::NotConfigured);
}

#[test]
fn a_warning_shows_new_findings_of_medium_severity_and_otherwise_the_summary() {
    let mut report = CheckReport::new(CheckName::Secretscan, CheckVerdict::Warn, "summary".to_owned());
    report.findings = vec![
        finding(1, serde_json::json!({})),
        finding(2, serde_json::json!({"is_new": false})),
        finding(3, serde_json::json!({"severity": "low"})),
    ];
    assert_eq!(said("secretscan", &report), (Verdict::Warn, vec!["a.rs:1 bad (rule)".to_owned()]));

    report.findings.remove(0);
    assert_eq!(said("secretscan", &report), (Verdict::Warn, vec!["summary".to_owned()]));

    report.findings = (1..20).map(|line| finding(line, serde_json::json!({}))).collect();
    assert_eq!(said("secretscan", &report).1.len(), REASONS);
}

#[test]
fn a_failure_gives_the_findings_that_block_and_the_output_of_commands() {
    let mut report = CheckReport::new(CheckName::Secretscan, CheckVerdict::Fail, "summary".to_owned());
    assert_eq!(said("secretscan", &report), (Verdict::Fail, vec!["summary".to_owned()]));

    report.findings = vec![
        finding(1, serde_json::json!({"is_new": false})),
        finding(2, serde_json::json!({"blocks": false})),
        finding(3, serde_json::json!({})),
    ];
    let (_, reasons) = said("secretscan", &report);
    assert_eq!(reasons, ["a.rs:3 bad (rule)", "summary"]);

    // A command that succeeded is not why the check fails; one that failed is.
    report.runs = vec![run(Some(0))];
    let (_, reasons) = said("secretscan", &report);
    assert_eq!(reasons.len(), 3);
    let shown = format!("`make test` ended: {}", "é".repeat(200));
    assert_eq!((reasons[1].as_str(), reasons[2].as_str()), ("summary", &*format!("{shown} said")));

    report.runs = vec![run(Some(0)), run(Some(1))];
    let (_, reasons) = said("secretscan", &report);
    assert!(reasons.len() == 3 && !reasons.contains(&"summary".to_owned()), "{reasons:?}");

    report.verdict = CheckVerdict::Incomplete;
    report.runs = vec![run(Some(0))];
    let (verdict, reasons) = said("secretscan", &report);
    assert!(verdict == Verdict::Error && !reasons.contains(&"summary".to_owned()), "{reasons:?}");
}

#[test]
fn only_the_end_of_a_long_output_is_a_reason() {
    let mut report = CheckReport::new(CheckName::Secretscan, CheckVerdict::Fail, "summary".to_owned());
    let (stdout, stderr) = (format!("first{}", "a".repeat(400)), format!("{}last", "b".repeat(400)));
    report.runs = vec![switchboard_protocol::finding::CommandRun { stdout, stderr, ..run(Some(1)) }];

    let (_, reasons) = said("secretscan", &report);

    let ends = format!("{} {}last", "a".repeat(400), "b".repeat(396));
    assert_eq!(reasons, [format!("`make test` ended: {ends}")]);
}

#[test]
fn an_incomplete_check_without_findings_gives_its_summary() {
    let report = CheckReport::new(CheckName::Secretscan, CheckVerdict::Incomplete, "half".to_owned());

    let (verdict, reasons) = said("secretscan", &report);

    assert_eq!(reasons.last().map(String::as_str), Some("half"), "{verdict:?} {reasons:?}");
}

#[test]
fn a_remedy_that_findings_share_is_given_once() {
    let mut report = CheckReport::new(CheckName::TestIntegrity, CheckVerdict::Fail, "summary".to_owned());
    report.findings = vec![
        finding(1, serde_json::json!({})),
        finding(2, serde_json::json!({})),
        finding(3, serde_json::json!({"remedy": "take it back"})),
    ];

    let (_, reasons) = said("test_integrity", &report);

    assert_eq!(reasons, ["a.rs:1 bad (rule)", "a.rs:2 bad (rule); mend it", "a.rs:3 bad (rule); take it back"]);
}

#[test]
fn a_command_that_did_nothing_is_an_error_and_a_change_without_such_files_is_skipped() {
    let mut report = CheckReport::new(CheckName::TestRunner, CheckVerdict::Skip, "no tests".to_owned());
    assert_eq!(said("tests", &report), (Verdict::Skipped, vec!["no tests".to_owned()]));

    report.runs = vec![run(Some(0))];
    assert_eq!(said("tests", &report).0, Verdict::Error);
}

#[test]
fn checks_that_change_the_tree_run_before_those_that_read_it() {
    let only = vec![CheckName::Secretscan, CheckName::TestIntegrity, CheckName::Diff, CheckName::NewTests];
    let mut request = CheckRequest { only: only.clone(), ..CheckRequest::default() };
    let parts = |request: &CheckRequest| in_turn(request).into_iter().map(|part| part.only).collect::<Vec<_>>();

    // Without a command they only read.
    assert_eq!(parts(&request), [only]);

    let argv = vec!["true".to_owned()];
    request.commands = vec![CheckCommand { kind: CommandKind::Test, argv, cwd: None, time_limit_s: None, env: vec![] }];
    let first = vec![CheckName::TestIntegrity, CheckName::NewTests];
    assert_eq!(parts(&request), [first.clone(), vec![CheckName::Secretscan, CheckName::Diff]]);

    request.only.clone_from(&first);
    assert_eq!(parts(&request), [first]);
}

#[test]
fn a_gate_that_asks_does_so_for_a_warning_only() {
    assert!(gate::REGISTRY.iter().any(|gate| gate.asks) && gate::REGISTRY.iter().any(|gate| !gate.asks));
    for gate in gate::REGISTRY {
        let (asks, halts) = follows(gate.id, Verdict::Warn, None);
        assert_eq!((asks, halts), (gate.asks && gate.kind != GateKind::Scope, false), "{}", gate.id);
        assert_eq!(follows(gate.id, Verdict::Fail, None), (false, false), "{}", gate.id);
    }
}
