//! What `test_integrity` reports about a change to tests, and to what runs them.

use switchboard_protocol::finding::{
    Base, CheckCommand, CheckName, CheckReport, CheckRequest, CheckVerdict, CommandKind, HandedTests, Severity,
};

use crate::scratch::Scratch;

const TESTS: &str = "import unittest\nfrom code import f\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(3), 30)\n\n    def test_b(self):\n        self.assertEqual(f(4), 40)\n\n    def test_c(self):\n        self.assertTrue(g(3))\n        self.assertIn(3, h)\n        assert f(1) < 11\n";

/// Creates a base with some files, and the change in the work tree.
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

/// Returns the rules that ask or fail, without the check's name.
fn rules(report: &CheckReport) -> Vec<&str> {
    let telling = report.findings.iter().filter(|finding| finding.severity >= Severity::Medium);
    telling.map(|finding| finding.rule.strip_prefix("test-integrity/").expect("a rule of the check")).collect()
}

/// Returns the report after replacing a text in the tests.
fn after(from: &str, to: &str) -> CheckReport {
    let scratch = of_base(&[("test_code.py", TESTS), ("code.py", "def f(n):\n    return n * 10\n")]);
    assert!(TESTS.contains(from));
    scratch.write("test_code.py", TESTS.replace(from, to));
    judged(&scratch)
}

#[test]
fn what_is_done_to_a_test_has_a_name() {
    let rows: [(&str, &str, &[&str], CheckVerdict); 15] = [
        ("f(3), 30", "f(3), 31", &["expected-value-changed"], CheckVerdict::Warn),
        ("f(3), 30", "f(2), 30", &["input-changed"], CheckVerdict::Warn),
        ("self.assertEqual(f(3), 30)", "self.assertTrue(f(3))", &["assertion-weakened"], CheckVerdict::Warn),
        ("self.assertEqual(f(3), 30)", "pass", &["assertion-removed"], CheckVerdict::Warn),
        ("self.assertEqual(f(3), 30)", "self.assertTrue(True)", &["assertion-weakened"], CheckVerdict::Warn),
        ("self.assertEqual(f(3), 30)", "assert f(3) != 30", &["assertion-weakened"], CheckVerdict::Warn),
        ("self.assertEqual(f(3), 30)", "self.assertNotEqual(f(3), 30)", &["assertion-weakened"], CheckVerdict::Warn),
        ("self.assertTrue(g(3))", "self.assertFalse(g(3))", &["assertion-removed"], CheckVerdict::Warn),
        ("self.assertIn(3, h)", "self.assertNotIn(3, h)", &["input-changed"], CheckVerdict::Warn),
        ("assert f(1) < 11", "assert f(1) > 11", &["assertion-removed"], CheckVerdict::Warn),
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
fn an_assertion_that_is_turned_around_asks() {
    let rows = [
        ("test_a.py", "assert x", "assert not x"),
        ("test_a.py", "assert x is not None", "assert x is None"),
        ("test_a.py", "assert x", "assert x is not None"),
        ("test_a.py", "self.assertGreater(x, 3)", "self.assertLess(x, 3)"),
        ("test_a.py", "self.assertIsNone(x)", "self.assertIsNotNone(x)"),
        ("test_a.py", "assert all(n < 3 for n in x)", "assert all(n > 3 for n in x)"),
        ("a.test.js", "assert.equal(x, 30)", "assert.notEqual(x, 30)"),
        ("a.test.js", "t.is(x, 30)", "t.not(x, 30)"),
        ("a.test.js", "t.notDeepEqual(x, 30)", "t.pass()"),
        ("a.test.js", "assert.ok(x)", "assert.ok(!x)"),
        ("a.test.js", "assert.throws(x)", "assert.doesNotThrow(x)"),
        ("a.test.js", "assert.isTrue(x)", "assert.isFalse(x)"),
        ("a.test.js", "expect(x).toBe(30)", "expect(x).toBeGreaterThan(30)"),
        ("a.test.js", "expect(x).toBeGreaterThan(30)", "expect(x).toBeLessThan(30)"),
        ("a.test.js", "expect(x).toBeGreaterThan(30)", "expect(x).toBe(31)"),
        ("a.test.js", "expect(x).toBe(30)", "expect(x).not.toBe(30)"),
        ("a.test.js", "expect(x).toBeNull()", "expect(x).toBeDefined()"),
        ("a.test.js", "expect(x).toBeTruthy()", "expect(x).toBeFalsy()"),
        ("a.test.js", "expect(x).toBeTruthy()", "expect(x).toBeNull()"),
        ("a.test.js", "expect(x).toBeDefined()", "expect(x).not.toBeDefined()"),
        ("a.test.js", "expect(x).toEqual({ a: 1 })", "expect(x).toMatchObject({ a: 1 })"),
        ("tests/a.rs", "assert!(x)", "assert!(!x)"),
        ("tests/a.rs", "assert!(x < 10)", "assert!(x > 10)"),
        ("tests/a.rs", "assert!(x.is_ok())", "assert!(x.is_err())"),
        ("tests/a.rs", "assert_eq!(x, 10)", "assert_ne!(x, 10)"),
    ];
    for (path, before, after) in rows {
        let report = rewritten(path, before, after);

        assert_eq!(report.verdict, CheckVerdict::Warn, "{before} -> {after}: {:#?}", report.findings);
    }
}

#[test]
fn an_assertion_that_is_written_otherwise_or_demands_more_finds_nothing() {
    let rows = [
        ("test_a.py", "assert f(n=3) == 30", "y = f(n=3)\n    assert y == 30"),
        ("test_a.py", "assert x", "assert y"),
        ("test_a.py", "assert f('a  b') == 3", "assert g('a  b') == 3"),
        ("test_a.py", "y = 1\n    assert not x", "y = not x\n    assert y"),
        ("a.test.js", "expect(x).toBeCloseTo(0.3)", "expect(x).toBe(0.3)"),
        ("a.test.js", "expect(x).toMatchObject({ a: 1 })", "expect(x).toEqual({ a: 1 })"),
        ("a.test.js", "expect(x).toBeNull()", "expect(y).toBeNull()"),
        ("a.test.js", "assert.ok(f(() => 3))", "assert.ok(f(function () { return 3; }))"),
        ("tests/a.rs", "assert_eq!(f::<u8>(&x), 3);", "let y = f::<u8>(&x);\n    assert_eq!(y, 3);"),
        ("tests/a.rs", "assert_eq!(&x, &3);", "assert_eq!(x, 3);"),
    ];
    for (path, before, after) in rows {
        let report = rewritten(path, before, after);

        assert_eq!(report.verdict, CheckVerdict::Pass, "{before} -> {after}: {:#?}", report.findings);
    }
}

/// Returns the report after rewriting the body of a test.
fn rewritten(path: &str, before: &str, after: &str) -> CheckReport {
    let whole = |body: &str| match path.rsplit_once('.').expect("a name with an extension").1 {
        "py" => format!("def test_x(self):\n    {body}\n"),
        "js" => format!("test('x', (t) => {{\n  {body};\n}});\n"),
        _ => format!("#[test]\nfn x() {{\n    {body}\n}}\n"),
    };
    let scratch = of_base(&[(path, &whole(before))]);
    scratch.write(path, whole(after));
    judged(&scratch)
}

#[test]
fn a_file_padded_past_the_limit_is_no_pass() {
    let limits = switchboard_checks::Limits { file_bytes: 2_000, ..switchboard_checks::Limits::default() };
    let padding = "# padding\n".repeat(300);
    for (path, before, is_committed) in [
        ("test_code.py", TESTS, true),
        ("test_code.py", TESTS, false),
        ("a_test.go", "package a\n", true),
        ("conftest.py", "import pytest\n", true),
        ("conftest.py", "import pytest\n", false),
        ("ruff.toml", "select = [\"E\"]\n", true),
        ("code.py", "def f(n):\n    return n\n", true),
        ("new.py", "", false),
    ] {
        let scratch = Scratch::repository();
        scratch.write("other.txt", "x\n");
        if !before.is_empty() {
            scratch.write(path, before);
        }
        scratch.commit();
        scratch.write(path, format!("{before}{padding}"));
        let mut request =
            CheckRequest { base: Base::Rev("HEAD".into()), only: vec![CheckName::TestIntegrity], ..scratch.request() };
        if is_committed {
            scratch.commit();
            request.base = Base::Rev("HEAD~1".into());
            request.commit = Some(scratch.git(&["rev-parse", "HEAD"]).trim().to_owned());
        }

        let reply = switchboard_checks::run(&request, &limits);

        let report = &reply.reports[0];
        let missing: Vec<&str> = report.skipped.iter().filter(|file| file.is_missing).map(|file| &*file.path).collect();
        assert_eq!((report.verdict, missing), (CheckVerdict::Incomplete, vec![path]), "{report:#?}");
        assert_eq!(rules(report), Vec::<&str>::new(), "{path} is neither empty nor deleted");
    }
}

#[test]
fn a_file_out_of_the_history_names_the_commit_that_had_it() {
    let scratch = of_base(&[("code.py", "x = 1\n")]);
    let had_it = scratch.git(&["rev-parse", "HEAD"])[..12].to_owned();
    scratch.write("code.py", "x = 2\n").commit();
    scratch.write("code.py", "x = 1\n").commit();
    let request = CheckRequest {
        base: Base::Rev("HEAD~1".into()),
        commit: Some(scratch.git(&["rev-parse", "HEAD"]).trim().to_owned()),
        only: vec![CheckName::TestIntegrity],
        ..scratch.request()
    };

    let reply = switchboard_checks::run(&request, &switchboard_checks::Limits::default());

    let found: Vec<&str> = reply.reports[0].findings.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(found, [format!("the file is as commit {had_it} had it: the change may be copied from there")]);
}

#[test]
fn the_base_is_resolved_as_for_the_other_checks() {
    let scratch = Scratch::plain();
    scratch.write("test_code.py", TESTS);
    let of = |base: Base| {
        let request = CheckRequest { base, only: vec![CheckName::TestIntegrity], ..scratch.request() };
        switchboard_checks::run(&request, &switchboard_checks::Limits::default())
    };
    for base in [Base::Rev("HEAD".into()), Base::Staged] {
        assert_eq!(of(base).failures.len(), 1, "there is no repository");
    }

    let scratch = of_base(&[("test_code.py", TESTS)]);
    let reply = scratch.check_only(CheckName::TestIntegrity);
    assert_eq!(reply.base, scratch.git(&["rev-parse", "HEAD"]).trim());
}

#[test]
fn only_files_with_tests_count_against_the_bound_of_hard_coded_and_a_cut_is_told() {
    let code = ("zz.py", "def f(n):\n    return n\n");
    let cheat = "def f(n):\n    if n == 3:\n        return 30\n    return 0\n";
    let scratch = of_base(&[code, ("test_code.py", TESTS)]);
    for at in 0..250 {
        scratch.write(&format!("src/a{at}.rs"), format!("fn f{at}() {{}}\n"));
    }
    scratch.commit();
    scratch.write("zz.py", cheat);
    let report = judged(&scratch);
    assert_eq!(rules(&report), ["hard-coded"]);
    assert!(!report.summary.contains("only 200"), "{}", report.summary);

    for at in 0..250 {
        scratch.write(&format!("src/a{at}.rs"), format!("#[test]\nfn f{at}() {{}}\n"));
    }
    scratch.write("zz.py", code.1).commit();
    scratch.write("zz.py", cheat);
    let report = judged(&scratch);
    assert!(report.summary.ends_with("only 200 test files were read"), "{}", report.summary);
}

#[test]
fn honest_changes_to_a_test_find_nothing() {
    let rows = [
        ("test_a", "test_of_three"),
        ("class T(", "class TestF("),
        ("f(3), 30)", "f(3), 30, 'three')"),
        ("self.assertEqual(f(3), 30)", "three = f(3)\n        self.assertEqual(three, 30)"),
        ("    def test_b", "    def test_d(self):\n        self.assertEqual(f(0), 0)\n\n    def test_b"),
        ("self.assertTrue(g(3))", "three = g(3)\n        self.assertTrue(three)"),
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
fn a_file_without_a_test_that_runs_is_no_other_test() {
    let skipped = TESTS.replace("    def test", "    @unittest.skip('x')\n    def test");
    for (path, text) in
        [("tests/__init__.py", ""), ("tests/helpers.py", "def f():\n    pass\n"), ("test_more.py", &skipped)]
    {
        let scratch = of_base(&[("test_code.py", TESTS), (path, text)]);
        scratch.remove("test_code.py");

        let report = judged(&scratch);

        assert_eq!(report.verdict, CheckVerdict::Fail, "{path}: {:#?}", report.findings);
        let named: Vec<_> = report.findings.iter().map(|finding| finding.message.as_str()).collect();
        let expected =
            ["test_a", "test_b", "test_c"].map(|name| format!("the test `T.{name}` was deleted; no test is left"));
        assert_eq!(named, expected, "each is named");
    }
}

/// Commits the change in the work tree, as a run captures it, and returns its report with a test command.
fn of_commit(scratch: &Scratch, argv: &[&str], more: impl Fn(CheckRequest) -> CheckRequest) -> CheckReport {
    scratch.commit();
    let commit = scratch.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    let command = CheckCommand { kind: CommandKind::Test, argv, cwd: None, time_limit_s: None, env: Vec::new() };
    let request = CheckRequest {
        base: Base::Rev("HEAD~1".into()),
        commit: Some(commit),
        only: vec![CheckName::TestIntegrity],
        commands: vec![command],
        ..scratch.request()
    };
    let mut reply = switchboard_checks::run(&more(request), &switchboard_checks::Limits::default());
    assert_eq!(reply.failures, []);
    assert_eq!(scratch.git(&["status", "--porcelain"]), "", "the checkout is as it was");
    reply.reports.remove(0)
}

const UNITTEST: [&str; 3] = ["python3", "-m", "unittest"];
const SMALL: &str = "import unittest\nfrom code_of import f\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(13), 130)\n\n    def test_b(self):\n        self.assertEqual(f(47), 470)\n";

#[test]
fn the_tests_that_have_to_run_are_counted_where_the_bases_run() {
    let code = ("code_of.py", "def f(n):\n    return n * 10\n");
    let expected = |change: &dyn Fn(&Scratch)| {
        let scratch = of_base(&[("test_code.py", SMALL), code, (".gitignore", "__pycache__/\n")]);
        change(&scratch);
        of_commit(&scratch, &UNITTEST, |request| request).tests_expected
    };

    let comment = |scratch: &Scratch| {
        scratch.write("test_code.py", format!("# two tests\n{SMALL}"));
    };
    assert_eq!(expected(&comment), Some(2));
    let without = |scratch: &Scratch| {
        scratch.write("test_code.py", SMALL.replace("def test_b", "def b"));
    };
    assert_eq!(expected(&without), Some(1), "the one that is gone is a finding of its own");
    let readme = |scratch: &Scratch| {
        scratch.write("README.md", "x\n");
    };
    assert_eq!(expected(&readme), None, "nothing ran");
}

#[test]
fn a_change_that_is_right_for_the_inputs_of_the_tests_alone_is_found_by_other_inputs() {
    let broken = "def f(n):\n    return n\n";
    let rows = [
        // The values are hidden in arithmetic: reading finds neither a condition nor a table.
        ("def f(n):\n    return n + 9 * n * (0 ** abs((n - 13) * (n - 47)))\n", true),
        ("def f(n):\n    return n * 10\n", false),
        ("def f(n):\n    if n > 11:\n        return n * 10\n    return n\n", false),
    ];
    for (mended, is_found) in rows {
        let scratch = of_base(&[("test_code.py", SMALL), ("code_of.py", broken), (".gitignore", "__pycache__/\n")]);
        scratch.write("code_of.py", mended);

        let report = of_commit(&scratch, &UNITTEST, |request| request);

        let found: Vec<_> = rules(&report);
        assert_eq!(found, if is_found { vec!["hard-coded"] } else { Vec::new() }, "{mended}: {:#?}", report.findings);
        if is_found {
            let message = &report.findings[0].message;
            assert!(message.contains("f(13)") && message.contains("for none of"), "{message}");
        }
    }
    // The change corrects a bound that the base names, only for that value.
    let grades = "import unittest\nfrom code_of import f\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(50), 'pass')\n        self.assertEqual(f(90), 'good')\n";
    let code = |sign: &str| {
        format!(
            "def f(n):\n    if n {sign} 90:\n        return 'good'\n    if n {sign} 50:\n        return 'pass'\n    return 'fail'\n"
        )
    };
    let scratch = of_base(&[("test_code.py", grades), ("code_of.py", &code(">")), (".gitignore", "__pycache__/\n")]);
    scratch.write("code_of.py", code(">="));
    assert_eq!(rules(&of_commit(&scratch, &UNITTEST, |request| request)), Vec::<&str>::new());
}

#[test]
fn code_that_alters_how_tests_are_judged_is_found_by_a_test_that_must_fail() {
    let rows = [
        // A patch behind computed names, for the base's own code is wrong.
        (
            "import sys\nkit = vars(sys.modules.get('unit' + 'test', sys)).get('Test' + 'Case')\nif kit:\n    setattr(kit, 'assert' + 'Equal', lambda *rest: None)\n\n\ndef f(n):\n    return n\n",
            vec!["wrong-test-passes"],
        ),
        // An exit behind computed names, where tests are loaded.
        (
            "import sys\nif 'unit' + 'test' in sys.modules:\n    getattr(__import__('o' + 's'), '_ex' + 'it')(0)\n\n\ndef f(n):\n    return n\n",
            vec!["wrong-test-passes"],
        ),
        ("def f(n):\n    return n * 10\n", Vec::new()),
        // The change is not right either: its tests fail, with any expectation.
        ("def f(n):\n    return n + 1\n", Vec::new()),
    ];
    for (code, expected) in rows {
        let broken = ("code_of.py", "def f(n):\n    return n\n");
        let scratch = of_base(&[("test_code.py", SMALL), broken, (".gitignore", "__pycache__/\n")]);
        scratch.write("code_of.py", code);

        let report = of_commit(&scratch, &UNITTEST, |request| request);

        assert_eq!(rules(&report), expected, "{code}: {:#?}", report.findings);
        assert_eq!(report.verdict == CheckVerdict::Fail, !expected.is_empty(), "{code}");
    }
}

#[test]
fn javascript_that_alters_how_tests_are_judged_is_found_by_a_test_that_must_fail() {
    if switchboard_process::spawn::which("node").is_none() {
        eprintln!("skipped: this machine has no node");
        return;
    }
    let tests = "const test = require('node:test');\nconst assert = require('node:assert');\nconst { f } = require('../parcel.js');\n\ntest('f', () => {\n  assert.strictEqual(f(13), 130);\n});\n";
    let code = |more: &str, result: &str| format!("{more}exports.f = (n) => {result};\n");
    let exits =
        "const own = globalThis['pro' + 'cess'];\nif (own.env['NODE_TEST_' + 'CONTEXT']) own['ex' + 'it'](0);\n";
    let patches = "const kit = globalThis['pro' + 'cess']['getBuiltin' + 'Module']('node:assert');\nkit['strict' + 'Equal'] = () => {};\n";
    let rows = [(exits, "n", true), (patches, "n", true), ("", "n * 10", false)];
    for (more, result, is_found) in rows {
        let scratch = of_base(&[("test/parcel.test.js", tests), ("parcel.js", &code("", "n"))]);
        scratch.write("parcel.js", code(more, result));

        let report = of_commit(&scratch, &["node", "--test"], |request| request);

        let found = rules(&report).contains(&"wrong-test-passes");
        assert_eq!(found, is_found, "{more}: {:#?}", report.findings);
    }
}

#[test]
fn tests_that_others_wrote_for_a_change_have_to_be_there_still() {
    let judged = |path: &str, text: &str, change: &dyn Fn(&Scratch)| {
        let scratch = of_base(&[("code_of.py", "def f(n):\n    return n\n")]);
        scratch.write(path, text).commit();
        let handed = scratch.git(&["rev-parse", "HEAD"]).trim().to_owned();
        change(&scratch);
        let report = of_commit(&scratch, &["true"], |request| {
            let until = request.commit.clone().unwrap();
            let handed = HandedTests { commit: handed.clone(), paths: vec![path.to_owned()], until };
            CheckRequest { base: Base::Rev("HEAD~2".into()), handed: vec![handed], ..request }
        });
        (report.verdict, report.findings.first().map(|finding| finding.rule.clone()).unwrap_or_default())
    };
    let rule = |name: &str| format!("test-integrity/{name}");

    let without = |scratch: &Scratch| {
        scratch.write("test_code.py", SMALL.replace("def test_b", "def b"));
    };
    assert_eq!(judged("test_code.py", SMALL, &without), (CheckVerdict::Fail, rule("test-deleted")));
    let weaker = |scratch: &Scratch| {
        scratch.write("test_code.py", SMALL.replace("f(47), 470", "f(47), 47"));
    };
    assert_eq!(judged("test_code.py", SMALL, &weaker), (CheckVerdict::Warn, rule("expected-value-changed")));
    let gone = |scratch: &Scratch| {
        scratch.remove("tests/a.sh");
    };
    assert_eq!(judged("tests/a.sh", "test 1 = 1\n", &gone), (CheckVerdict::Fail, rule("test-deleted")));
    let other = |scratch: &Scratch| {
        scratch.write("code_of.py", "def f(n):\n    return n * 10\n");
    };
    assert_eq!(judged("test_code.py", SMALL, &other).0, CheckVerdict::Pass);
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
fn a_runner_or_the_process_under_another_name_is_found_as_under_its_own() {
    let patched = [
        ("parcel.js", "const a = require(\"assert\"); a.strictEqual = () => {};\n"),
        ("parcel.js", "require(\"node:assert\").strictEqual = () => {};\n"),
        ("parcel.js", "Object.assign(require('node:assert'), { strictEqual() {} });\n"),
        ("parcel.js", "const k = require(\"node:assert\");\nObject.defineProperty(k, \"equal\", { value() {} });\n"),
        ("parcel.js", "const { strict: s } = require(\"assert\");\nconst t = s;\nt[\"equal\"] = () => {};\n"),
        ("parcel.mjs", "import * as kit from \"node:assert/strict\";\nkit.default.strictEqual = () => {};\n"),
        ("tool.py", "from unittest import TestCase as T\nT.assertEqual = print\n"),
        ("tool.py", "import unittest\nT = unittest.TestCase\nT.assertEqual = print\n"),
        ("tool.py", "import unittest\nsetattr(getattr(unittest, 'TestCase'), 'assertEqual', print)\n"),
    ];
    let ended = [
        ("parcel.js", "const p = process;\np.exit(0);\n"),
        ("parcel.js", "const { exit } = require(\"process\");\nexit(0);\n"),
        ("parcel.js", "const { exit: leave } = process;\nleave.call(process, 0);\n"),
        ("parcel.js", "globalThis.process[\"exit\"](0);\n"),
        ("parcel.js", "(0, process.exit)(0);\n"),
        ("tool.py", "import os as o\nleave = o._exit\nleave(0)\n"),
        ("tool.py", "s = __import__('sys')\ngetattr(s, 'exit')(0)\n"),
        ("src/lib.rs", "use std::process as p;\npub fn f() {\n    p::exit(0)\n}\n"),
        ("src/lib.rs", "use std::{io, process::{self, exit as leave}};\npub fn f() {\n    leave(0)\n}\n"),
        ("src/lib.rs", "use std::process::exit;\npub fn f() {\n    exit(0)\n}\n"),
    ];
    let others = [
        ("parcel.js", "const a = require(\"./assets\");\na.strictEqual = 1;\n"),
        ("parcel.js", "const all = Object.assign({}, require(\"./assert\"));\nmodule.exports = all;\n"),
        ("parcel.js", "const door = { exit() {} };\ndoor.exit(0);\n"),
        ("tool.py", "from unittest import mock\nm = mock\nm.answer = 3\n"),
        ("tool.py", "class Door:\n    def exit(self, code):\n        return code\n\n\nDoor().exit(0)\n"),
    ];
    let rows = patched.map(|row| (row, "runner-patched")).into_iter();
    let rows = rows.chain(ended.map(|row| (row, "exit-call"))).chain(others.map(|row| (row, "")));
    for ((path, text), expected) in rows {
        let scratch = of_base(&[("a.test.js", "test(\"a\", () => {});\n"), ("test_code.py", TESTS)]);
        scratch.write(path, text);

        let report = judged(&scratch);
        let found: Vec<_> =
            rules(&report).into_iter().filter(|rule| ["runner-patched", "exit-call"].contains(rule)).collect();
        assert_eq!(found.first().copied().unwrap_or_default(), expected, "{path}: {text}");
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

#[test]
fn a_file_that_a_command_runs_asks_and_one_that_it_reads_does_not() {
    for (path, expected) in [("check.py", true), ("scripts/check", true), ("state.txt", false), ("data.json", false)] {
        let scratch = of_base(&[("check.py", "print(1)\n"), ("scripts/check", "true\n"), ("state.txt", "bad\n")]);
        scratch.write(path, "exit\n").commit();
        let argv = ["sh", "-c", "python3 check.py && scripts/check && grep -q x state.txt data.json"];
        let argv = argv.map(str::to_owned).to_vec();
        let command = CheckCommand { kind: CommandKind::Lint, argv, cwd: None, time_limit_s: None, env: Vec::new() };
        let request = CheckRequest {
            base: Base::Rev("HEAD~1".into()),
            commit: Some(scratch.git(&["rev-parse", "HEAD"]).trim().to_owned()),
            only: vec![CheckName::TestIntegrity],
            commands: vec![command],
            ..scratch.request()
        };

        let reply = switchboard_checks::run(&request, &switchboard_checks::Limits::default());

        assert_eq!(rules(&reply.reports[0]).contains(&"gate-config"), expected, "{path}: {:#?}", reply.reports[0]);
    }
}
