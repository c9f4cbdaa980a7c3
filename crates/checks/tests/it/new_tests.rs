//! Whether the tests that a change adds distinguish it from the code before.

use switchboard_protocol::finding::{
    Base, CheckCommand, CheckName, CheckReport, CheckRequest, CheckVerdict, CommandKind,
};

use crate::scratch::Scratch;

const OLD: &str = "import unittest\nfrom code_of import f\n\n\nclass T(unittest.TestCase):\n    def test_zero(self):\n        self.assertEqual(f(0), 0)\n\n    def test_none(self):\n        with self.assertRaises(TypeError):\n            f(None) + 1\n";

/// Creates a base, a commit with the code of the change, and a test engineer's tests in the tree.
fn changed(base: &[(&str, &str)], code: &[(&str, &str)], tests: &[(&str, &str)]) -> Scratch {
    let scratch = Scratch::repository();
    for files in [base, code, tests] {
        for (path, text) in files {
            scratch.write(path, text);
        }
        scratch.commit();
    }
    scratch
}

fn judged(scratch: &Scratch, argv: &[&str]) -> CheckReport {
    let rev = |name: &str| scratch.git(&["rev-parse", name]).trim().to_owned();
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    let command = CheckCommand { kind: CommandKind::Test, argv, cwd: None, time_limit_s: None, env: Vec::new() };
    let request = CheckRequest {
        base: Base::Rev(rev("HEAD~1")),
        commit: Some(rev("HEAD")),
        without: Some(rev("HEAD~2")),
        only: vec![CheckName::NewTests],
        commands: vec![command],
        ..scratch.request()
    };
    let mut reply = switchboard_checks::run(&request, &switchboard_checks::Limits::default());
    assert_eq!(reply.failures, []);
    assert_eq!(scratch.git(&["status", "--porcelain"]), "", "the checkout is as it was");
    reply.reports.remove(0)
}

/// Returns the report on a Python test in its own file, where `f` returns its argument and the change multiplies it by
/// ten.
fn of_python(body: &str) -> CheckReport {
    let test = format!(
        "import unittest\nfrom code_of import f\n\n\nclass N(unittest.TestCase):\n    def test_new(self):\n        {body}\n"
    );
    let scratch = changed(
        &[("code_of.py", "def f(n):\n    return n\n"), ("test_old.py", OLD), (".gitignore", "__pycache__/\n")],
        &[("code_of.py", "def f(n):\n    return n * 10\n")],
        &[("test_new.py", &test)],
    );
    judged(&scratch, &["python3", "-m", "unittest"])
}

#[test]
fn a_new_test_fails_without_the_change_or_adds_a_case() {
    let rows = [
        ("self.assertEqual(f(3), 30)", CheckVerdict::Pass, "1 fail without the change"),
        ("self.assertEqual(f(-0.0), 0)", CheckVerdict::Pass, "1 are new cases"),
        ("self.assertEqual(f(0), 0)", CheckVerdict::Fail, "1 add nothing"),
        ("with self.assertRaises(TypeError):\n            f('x') + 1", CheckVerdict::Pass, "1 are new cases"),
        ("with self.assertRaises(TypeError):\n            f(None) + 1", CheckVerdict::Fail, "1 add nothing"),
        ("f(3)", CheckVerdict::Fail, "1 add nothing"),
        ("self.assertTrue(True)", CheckVerdict::Fail, "1 add nothing"),
    ];
    for (body, verdict, summary) in rows {
        let report = of_python(body);

        assert_eq!(report.verdict, verdict, "{body}: {report:#?}");
        assert!(report.summary.contains(summary), "{body}: {}", report.summary);
    }
    let finding = &of_python("f(3)").findings[0];
    assert_eq!((finding.path.as_str(), finding.span.start_line), ("test_new.py", 6));
    assert!(
        finding.message.contains("`N.test_new` passes without the change, and asserts nothing"),
        "{}",
        finding.message
    );
}

#[test]
fn a_test_of_what_only_the_change_has_fails_without_it() {
    let test = "import unittest\nfrom other import g\n\n\nclass N(unittest.TestCase):\n    def test_new(self):\n        self.assertEqual(g(), 1)\n";
    let scratch = changed(
        &[("test_old.py", OLD), ("code_of.py", "def f(n):\n    return n\n"), (".gitignore", "__pycache__/\n")],
        &[("other.py", "def g():\n    return 1\n")],
        &[("test_new.py", test)],
    );

    let report = judged(&scratch, &["python3", "-m", "unittest"]);

    assert_eq!(report.verdict, CheckVerdict::Pass, "{report:#?}");
}

/// Returns the report on a project whose runner can't run single test files.
fn of_shell(old: &str, new: &str) -> CheckReport {
    let run = "for one in tests/*.sh; do sh -e $one || exit 1; done\n";
    let scratch = changed(
        &[("run.sh", run), ("tests/old.sh", old), ("state.txt", "bad\n")],
        &[("state.txt", "good\n")],
        &[("tests/new.sh", new)],
    );
    judged(&scratch, &["sh", "run.sh"])
}

#[test]
fn where_a_runner_can_not_be_told_one_file_the_tree_has_only_one_or_the_check_is_incomplete() {
    let (fails, passes) = ("grep -q good state.txt\n", "test -e state.txt\n");

    assert_eq!(of_shell(passes, fails).verdict, CheckVerdict::Pass);
    let unread = of_shell(passes, passes);
    assert_eq!(unread.verdict, CheckVerdict::Incomplete);
    assert!(unread.summary.contains("tests/new.sh passes without the change"), "{}", unread.summary);
    let broken = of_shell(fails, fails);
    assert_eq!(broken.verdict, CheckVerdict::Incomplete);
    assert!(broken.summary.contains("fails on the base"), "{}", broken.summary);
}

#[test]
fn a_change_without_tests_has_nothing_to_judge() {
    let scratch = changed(&[("a.py", "x = 1\n")], &[("a.py", "x = 2\n")], &[("README.md", "x\n")]);

    assert_eq!(judged(&scratch, &["python3", "-m", "unittest"]).verdict, CheckVerdict::Skip);
}
