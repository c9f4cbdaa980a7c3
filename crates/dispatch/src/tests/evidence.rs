//! Tests the evidence kept of each kind of check.

use serde_json::{Value, json};

use crate::evidence::{has_passed, is_confirmed, is_held_to, of_report};
use switchboard_protocol::run::Verdict;

fn finding(path: &str, rule: &str, is_new: bool, blocks: bool) -> Value {
    json!({
        "check": "syntax_check", "rule": rule, "severity": "high", "message": "m", "remedy": "r", "path": path,
        "span": { "start_line": 3, "start_column": 5, "end_line": 3, "end_column": 6 }, "fingerprint": "f",
        "is_new": is_new, "blocks": blocks,
    })
}

fn run(kind: &str, exit_code: Option<i32>, tests: Option<(u64, u64)>) -> Value {
    let tests = tests.map(|(passed, failed)| json!({ "passed": passed, "failed": failed, "skipped": 0, "total": 0 }));
    json!({
        "kind": kind, "argv": ["make", kind], "cwd": ".", "exit_code": exit_code, "ending": "it ended", "duration_ms": 7,
        "stdout": "é".repeat(3000), "stderr": "e", "memory": "unlimited", "tests": tests,
    })
}

/// Returns what is kept of a report, in the form of the files.
fn kept(check: &str, verdict: &str, findings: &[Value], runs: &[Value]) -> (Value, Value) {
    let report = json!({
        "check": check, "verdict": verdict, "summary": "a summary", "findings": findings, "findings_left_out": 2,
        "files_checked": 9, "skipped": [{ "path": "a.bin", "why": "binary" }], "skipped_left_out": 4, "runs": runs,
        "duration_ms": 1,
    });
    let found = of_report(&serde_json::from_value(report).unwrap());
    assert_eq!((&*found.gate, &*found.summary), (check, "a summary"));
    (json!(found.verdict), json!(found.detail))
}

#[test]
fn syntax_lists_each_file_with_new_errors_once() {
    let findings = [
        finding("a.py", "python-syntax", true, true),
        finding("a.py", "python-syntax", true, true),
        finding("b.go", "go-syntax", true, true),
        finding("c.go", "go-syntax", false, true),
        finding("d.go", "go-syntax", true, false),
    ];

    let (verdict, detail) = kept("syntax_check", "fail", &findings, &[]);

    assert_eq!((&verdict, &detail["files_checked"], &detail["files_failed"]), (&json!("fail"), &json!(9), &json!(2)));
    assert_eq!(detail["skipped_count"], 5, "one that is named and four that are not");
    let files = detail["files"].as_array().unwrap();
    assert_eq!((&files[0]["path"], &files[0]["language"]), (&json!("a.py"), &json!("python")));
    assert_eq!(files[0]["ok"], false);
    let errors: Vec<_> =
        files.iter().map(|file| (file["path"].as_str().unwrap(), file["errors"].as_array().unwrap().len())).collect();
    assert_eq!(errors, [("a.py", 2), ("b.go", 1)]);
    assert_eq!((&files[0]["errors"][0]["line"], &files[0]["errors"][0]["column"]), (&json!(3), &json!(5)));
}

#[test]
fn secrets_are_counted_and_placeholders_listed_where_they_are_new() {
    let findings = [finding("a", "r", true, true), finding("a", "r", false, true), finding("b", "r", true, false)];
    let mut allowed = finding("c", "r", true, true);
    allowed["allowed"] = json!("a reason");

    let (_, secrets) = kept("secretscan", "warn", &findings, &[]);
    let (verdict, marks) = kept("placeholder_scan", "warn", &[&findings[..], &[allowed]].concat(), &[]);

    assert_eq!((&secrets["findings_count"], &secrets["files_scanned"]), (&json!(2), &json!(9)));
    assert_eq!(secrets["skipped_files"], 5);
    assert_eq!((&verdict, &marks["findings_count"]), (&json!("pass"), &json!(4)), "two, and two that are not listed");
    assert_eq!((&marks["files_with_findings"], marks["findings"].as_array().unwrap().len()), (&json!(2), 2));
    assert_eq!(marks["findings"][0]["excerpt"], "m");
}

#[test]
fn commands_are_kept_with_their_ends_and_tests_with_their_counts() {
    let runs = [run("build", Some(0), None), run("build", Some(2), None), run("build", None, None)];
    let (verdict, build) = kept("build_check", "skip", &[], &runs);
    let tested = [run("test", Some(0), Some((3, 0))), run("test", Some(1), Some((2, 4)))];
    let (_, tests) = kept("test_runner", "fail", &[], &tested);

    assert_eq!((&verdict, &build["runs_count"], &build["failed_count"]), (&json!("skip"), &json!(3), &json!(2)));
    assert_eq!(build["skipped_reason"], "a summary");
    assert_eq!((&build["runs"][0]["command"], &build["runs"][2]["exit_code"]), (&json!("make build"), &json!(-1)));
    assert_eq!(build["runs"][0]["stdout_tail"].as_str().unwrap().len(), 4000);
    assert_eq!((&tests["tests_passed"], &tests["tests_failed"]), (&json!(5), &json!(4)));
    let failures = tests["failures"].as_array().unwrap();
    assert_eq!((failures.len(), &failures[0]["name"]), (1, &json!("make test")));
    assert!(failures[0]["message"].as_str().unwrap().starts_with("it ended\né"));
    let (_, untested) = kept("test_runner", "error", &[], &[run("test", Some(0), None)]);
    assert_eq!((&untested["runs"][0]["kind"], &untested["skipped_reason"]), (&json!("test"), &Value::Null));
}

#[test]
fn a_gate_has_passed_only_if_it_looked_and_let_the_change_pass() {
    let all = [
        Verdict::Pass,
        Verdict::Warn,
        Verdict::Fail,
        Verdict::Error,
        Verdict::NoReply,
        Verdict::Skipped,
        Verdict::NotConfigured,
    ];

    assert_eq!(all.map(has_passed), [true, true, false, false, false, false, false]);
    assert_eq!(all.map(is_held_to), [true, true, true, true, true, false, false]);
}

#[test]
fn only_good_evidence_of_a_gate_that_passed_is_confirmed() {
    use switchboard_protocol::evidence::Verdict as Of;

    for evidence in [Of::Pass, Of::Warn, Of::Approved] {
        assert!(is_confirmed(evidence, Some(Verdict::Pass)), "{evidence:?}");
        assert!(!is_confirmed(evidence, Some(Verdict::Fail)), "{evidence:?}");
        assert!(!is_confirmed(evidence, None), "{evidence:?}");
    }
    for evidence in [Of::Fail, Of::Rejected] {
        assert!(!is_confirmed(evidence, Some(Verdict::Pass)), "{evidence:?}");
        assert!(!is_confirmed(evidence, Some(Verdict::Fail)), "both say that it failed");
    }
}

#[test]
fn changed_contracts_that_a_report_leaves_out_are_counted() {
    let contract = |path: &str| finding(path, switchboard_protocol::finding::DIFF_CONTRACT, true, false);
    let contracts = |check: &str, left_out: u64| {
        let report = json!({
            "check": check, "verdict": "pass", "summary": "s", "findings_left_out": left_out, "files_checked": 2,
            "findings": [contract("a.rs"), finding("b.rs", "r", true, false)], "skipped": [], "duration_ms": 1,
        });
        of_report(&serde_json::from_value(report).unwrap()).contracts
    };

    assert_eq!(contracts("diff", 0).unwrap(), ["a.rs: m"]);
    assert_eq!(contracts("diff", 1).unwrap(), ["a.rs: m", "and 1 finding more"]);
    assert_eq!(contracts("diff", 3).unwrap(), ["a.rs: m", "and 3 findings more"]);
    assert_eq!(contracts("lint", 3), None);

    let many: Vec<_> = (0..42).map(|at| contract(&format!("{at}.rs"))).collect();
    let report = json!({
        "check": "diff", "verdict": "pass", "summary": "s", "files_checked": 42, "findings": many, "skipped": [],
        "duration_ms": 1,
    });
    let found = of_report(&serde_json::from_value(report).unwrap()).contracts.unwrap();
    assert_eq!((found.len(), found[39].as_str(), found[40].as_str()), (41, "39.rs: m", "and 2 findings more"));
}

#[test]
fn files_with_placeholders_are_counted_once_and_their_findings_each() {
    let mut findings = ["a", "a", "b"].map(|path| finding(path, "r", true, true));
    findings[0]["message"] = json!("m".repeat(200));

    let (_, detail) = kept("placeholder_scan", "fail", &findings, &[]);

    assert_eq!(
        (&detail["files_with_findings"], &detail["findings_count"]),
        (&json!(2), &json!(3 + 2)),
        "two are left out: {detail}"
    );
    let excerpt = detail["findings"][0]["excerpt"].as_str().unwrap();
    assert!(excerpt.chars().filter(|one| *one == 'm').count() <= 100, "{excerpt}");
}
