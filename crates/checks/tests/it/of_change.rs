//! `diff` and `regression_sweep`: the change file by file, and the tests that depend on it.

use switchboard_protocol::finding::{
    Base, CheckCommand, CheckName, CheckReport, CheckRequest, CheckVerdict, CommandKind,
};

use crate::scratch::Scratch;

fn judged(check: CheckName, base: &[(&str, &str)], change: &[(&str, &str)], argv: &[&str]) -> CheckReport {
    let scratch = Scratch::repository();
    for files in [base, change] {
        for (path, text) in files {
            scratch.write(path, text);
        }
        scratch.commit();
    }
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    let command = CheckCommand { kind: CommandKind::Test, argv, cwd: None, time_limit_s: None, env: Vec::new() };
    let request = CheckRequest {
        base: Base::Rev("HEAD~1".into()),
        commit: Some(scratch.git(&["rev-parse", "HEAD"]).trim().to_owned()),
        only: vec![check],
        commands: vec![command],
        ..scratch.request()
    };
    let mut reply = switchboard_checks::run(&request, &switchboard_checks::Limits::default());
    assert_eq!(reply.failures, []);
    reply.reports.remove(0)
}

#[test]
fn a_change_is_shown_with_the_files_that_decide_how_it_is_judged_first() {
    let base = [("a.py", "def one():\n    return 1\n"), ("test_a.py", "x = 1\n"), ("setup.cfg", "[flake8]\n")];
    let change = [
        ("a.py", "def two():\n    return 2\n"),
        ("b.txt", "b\n"),
        ("test_a.py", "x = 2\n"),
        ("setup.cfg", "[flake8]\nselect = E\n"),
    ];

    let report = judged(CheckName::Diff, &base, &change, &["true"]);

    assert_eq!((report.verdict, report.files_checked), (CheckVerdict::Pass, 4));
    let told: Vec<_> = report.findings.iter().map(|finding| format!("{} {}", finding.path, finding.message)).collect();
    let expected = [
        "setup.cfg changed, loaded by a test runner",
        "test_a.py changed, a test",
        "a.py what others may call: -`def one():`, +`def two():`",
        "a.py changed",
        "b.txt added",
    ];
    assert_eq!(told, expected);
    assert!(
        report.summary.starts_with("1 files added, 3 changed, 0 deleted; protected: setup.cfg"),
        "{}",
        report.summary
    );
}

const PROJECT: [(&str, &str); 5] = [
    ("price.py", "def price(n):\n    return n\n"),
    ("shop.py", "from price import price\n\n\ndef total(n):\n    return price(n) + 1\n"),
    (
        "test_shop.py",
        "import unittest\nfrom shop import total\n\n\nclass T(unittest.TestCase):\n    def test_total(self):\n        self.assertEqual(total(2), 3)\n",
    ),
    ("test_other.py", "raise SystemExit('it is no test of this change')\n"),
    (".gitignore", "__pycache__/\n"),
];

#[test]
fn the_tests_that_depend_on_a_change_run_by_themselves() {
    let swept = |price: &str| {
        let text = format!("def price(n):\n    return {price}\n");
        judged(CheckName::RegressionSweep, &PROJECT, &[("price.py", &text)], &["python3", "-m", "unittest"])
    };

    let right = swept("n * 1");
    assert_eq!(right.verdict, CheckVerdict::Pass, "{right:#?}");
    assert_eq!(right.summary, "1 test files depend on the change; 0 of them failed");
    let wrong = swept("n * 2");
    assert_eq!((wrong.verdict, wrong.runs.len()), (CheckVerdict::Fail, 1), "{wrong:#?}");
}

#[test]
fn a_sweep_that_can_not_be_done_is_skipped_with_its_reason() {
    let swept = |change: &[(&str, &str)], argv: &[&str]| {
        let report = judged(CheckName::RegressionSweep, &PROJECT, change, argv);
        assert_eq!(report.verdict, CheckVerdict::Skip, "{report:#?}");
        report.summary
    };

    let readme = [("README.md", "x\n")];
    assert_eq!(swept(&readme, &["python3", "-m", "unittest"]), "skipped: no test imports what is changed");
    let price = [("price.py", "def price(n):\n    return n * 1\n")];
    assert_eq!(swept(&price, &["make", "test"]), "skipped: `make test` can't be told one test file from another");
}
