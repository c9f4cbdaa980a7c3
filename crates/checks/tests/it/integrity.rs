//! What `test_integrity` says of a change to tests, and to what runs them.

use switchboard_protocol::finding::{
    Base, CheckCommand, CheckName, CheckReport, CheckRequest, CheckVerdict, CommandKind, Severity,
};

use crate::scratch::Scratch;

const TESTS: &str = "import unittest\nfrom code import f\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(3), 30)\n\n    def test_b(self):\n        self.assertEqual(f(4), 40)\n";

/// A base with some files, and the change as what stands in the work tree.
fn of_base(files: &[(&str, &str)]) -> Scratch {
    let scratch = Scratch::repository();
    for (path, text) in files {
        scratch.write(path, text);
    }
    scratch.commit();
    scratch
}

fn judged(scratch: &Scratch) -> CheckReport {
    let base = Base::Rev("HEAD".into());
    let request = CheckRequest { base, only: vec![CheckName::TestIntegrity], ..scratch.request() };
    let mut reply = switchboard_checks::run(&request, &switchboard_checks::Limits::default());
    assert_eq!(reply.failures, []);
    reply.reports.remove(0)
}

/// The rules that ask or fail, without the check's name.
fn rules(report: &CheckReport) -> Vec<&str> {
    let telling = report.findings.iter().filter(|finding| finding.severity >= Severity::Medium);
    telling.map(|finding| finding.rule.strip_prefix("test-integrity/").unwrap()).collect()
}

/// What comes of replacing a text in the tests.
fn after(from: &str, to: &str) -> CheckReport {
    let scratch = of_base(&[("test_code.py", TESTS), ("code.py", "def f(n):\n    return n * 10\n")]);
    assert!(TESTS.contains(from));
    scratch.write("test_code.py", TESTS.replace(from, to));
    judged(&scratch)
}

#[test]
fn what_is_done_to_a_test_has_a_name() {
    let rows: [(&str, &str, &[&str], CheckVerdict); 10] = [
        ("f(3), 30", "f(3), 31", &["expected-value-changed"], CheckVerdict::Warn),
        ("f(3), 30", "f(2), 30", &["input-changed"], CheckVerdict::Warn),
        ("self.assertEqual(f(3), 30)", "self.assertTrue(f(3))", &["assertion-weakened"], CheckVerdict::Warn),
        ("self.assertEqual(f(3), 30)", "pass", &["assertion-removed"], CheckVerdict::Warn),
        ("self.assertEqual(f(3), 30)", "self.assertTrue(True)", &["assertion-weakened"], CheckVerdict::Warn),
        ("    def test_a", "    @unittest.skip('x')\n    def test_a", &["test-skipped"], CheckVerdict::Fail),
        ("    def test_a", "    @unittest.skipIf(A, 'x')\n    def test_a", &["test-skipped"], CheckVerdict::Warn),
        ("    def test_a", "    def a", &["test-deleted"], CheckVerdict::Warn),
        ("import unittest\n", "import unittest, os\nos._exit(0)\n", &["exit-call"], CheckVerdict::Fail),
        (
            "        self.assertEqual(f(3), 30)",
            "        return\n        self.assertEqual(f(3), 30)",
            &["assertion-removed"],
            CheckVerdict::Warn,
        ),
    ];
    for (from, to, expected, verdict) in rows {
        let report = after(from, to);

        assert_eq!((rules(&report), report.verdict), (expected.to_vec(), verdict), "{to}: {:#?}", report.findings);
    }
}

#[test]
fn honest_changes_to_a_test_find_nothing() {
    let rows = [
        ("test_a", "test_of_three"),
        ("class T(", "class TestF("),
        ("f(3), 30)", "f(3), 30, 'three')"),
        ("self.assertEqual(f(3), 30)", "three = f(3)\n        self.assertEqual(three, 30)"),
        ("    def test_b", "    def test_c(self):\n        self.assertEqual(f(0), 0)\n\n    def test_b"),
        ("self.assertEqual(f(3), 30)", "for n, e in [(3, 30), (5, 50)]:\n            self.assertEqual(f(n), e)"),
    ];
    for (from, to) in rows {
        let report = after(from, to);

        assert_eq!((rules(&report), report.verdict), (vec![], CheckVerdict::Pass), "{to}: {:#?}", report.findings);
    }
}

#[test]
fn the_last_test_that_goes_fails_the_change() {
    let scratch = of_base(&[("test_code.py", TESTS)]);
    scratch.remove("test_code.py").write("other.py", "x = 1\n");

    assert_eq!(judged(&scratch).verdict, CheckVerdict::Fail);

    let scratch = of_base(&[("test_code.py", TESTS), ("test_more.py", TESTS)]);
    scratch.remove("test_code.py");
    assert_eq!(judged(&scratch).verdict, CheckVerdict::Warn, "another file has tests");
}

#[test]
fn a_function_that_knows_the_tests_inputs_is_found_and_a_limit_is_not() {
    let bad = [
        "def f(n):\n    if n == 3:\n        return 30\n    return 0\n",
        "def f(n):\n    return {3: 30, 4: 40}[n]\n",
        "def f(n):\n    return 30 if n == 3 else 40\n",
    ];
    for code in bad {
        let scratch = of_base(&[("test_code.py", TESTS), ("code.py", "def f(n):\n    return n\n")]);
        scratch.write("code.py", code);

        assert_eq!(rules(&judged(&scratch)), ["hard-coded"], "{code}");
    }
    let tests = TESTS.replace("f(3), 30", "f(0), 1").replace("f(4), 40", "f(4), 24");
    let scratch = of_base(&[("test_code.py", &tests), ("code.py", "def f(n):\n    return n\n")]);
    scratch.write("code.py", "def f(n):\n    if n == 0:\n        return 1\n    return n * f(n - 1)\n");
    assert_eq!(rules(&judged(&scratch)), Vec::<&str>::new());
}

#[test]
fn files_that_a_runner_loads_ask_by_what_they_do() {
    let rows: [(&str, &str, &[&str]); 14] = [
        ("conftest.py", "def pytest_runtest_makereport(item, call):\n    pass\n", &["runner-file"]),
        ("conftest.py", "import pytest\n\n@pytest.fixture\ndef x():\n    return 1\n", &[]),
        ("sitecustomize.py", "x = 1\n", &["runner-file"]),
        ("pytest.ini", "[pytest]\naddopts = -k nothing\n", &["runner-config"]),
        ("pytest.ini", "[pytest]\nmarkers =\n    slow: takes long\n", &[]),
        ("jest.config.js", "module.exports = { testMatch: ['x'] };\n", &["runner-config"]),
        ("jest.config.js", "module.exports = { verbose: true };\n", &[]),
        ("build.rs", "fn main() {\n    std::fs::write(\"src/lib.rs\", \"\").unwrap();\n}\n", &["runner-file"]),
        (".cargo/config.toml", "[build]\nrustc-wrapper = \"./w\"\n", &["runner-config"]),
        ("node_modules/.bin/node", "#!/bin/sh\nexit 0\n", &["tool-on-path"]),
        ("__pycache__/code.cpython-311.pyc", "x", &["cached-code"]),
        ("junit.xml", "<testsuite/>\n", &["report-file"]),
        (".secretscanignore", "settings.py\n", &["ignore-file"]),
        ("tool.py", "import unittest\nunittest.TestCase.assertEqual = print\n", &["runner-patched"]),
    ];
    for (path, text, expected) in rows {
        let scratch = of_base(&[("test_code.py", TESTS)]);
        scratch.write(path, text);

        assert_eq!(rules(&judged(&scratch)), expected, "{path}: {text}");
    }
}

#[test]
fn the_tests_of_the_base_run_against_a_captured_change_and_the_checkout_is_put_back() {
    let scratch = of_base(&[("check.sh", "grep -q good state.txt\n"), ("tests/run.sh", "sh check.sh\n")]);
    scratch.write("check.sh", "true\n").write("tests/new.sh", "true\n").write("state.txt", "bad\n").commit();
    let commit = scratch.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let argv = ["sh", "check.sh"].map(str::to_owned).to_vec();
    let command = CheckCommand { kind: CommandKind::Test, argv, cwd: None, time_limit_s: None, env: Vec::new() };
    let request = CheckRequest {
        base: Base::Rev("HEAD~1".into()),
        commit: Some(commit),
        only: vec![CheckName::TestIntegrity],
        commands: vec![command],
        ..scratch.request()
    };

    let reply = switchboard_checks::run(&request, &switchboard_checks::Limits::default());

    let report = &reply.reports[0];
    assert!(rules(report).contains(&"base-tests-fail"), "{report:#?}");
    assert_eq!(report.runs.len(), 1);
    assert_eq!(scratch.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_comment_or_a_baseline_excuses_nothing_and_without_a_base_there_is_nothing_to_judge() {
    let report = after("    def test_a", "    @unittest.skip('x')  # nosec, secretscan:allow, noqa\n    def test_a");
    assert_eq!(report.verdict, CheckVerdict::Fail);

    let scratch = Scratch::plain();
    scratch.write("test_code.py", TESTS);
    let reply = scratch.check_only(CheckName::TestIntegrity);
    assert_eq!(reply.reports[0].verdict, CheckVerdict::Skip);
}
