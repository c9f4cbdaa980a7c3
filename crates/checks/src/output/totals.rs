//! Parses what test frameworks print about each test and at the end.

use std::sync::LazyLock;

use regex::Regex;
use switchboard_protocol::finding::TestTotals;
use switchboard_protocol::verb::check::TestCase;

/// Maximum number of tests that are named.
const MAX_NAMED_TESTS: usize = 1_000;

/// Summary line of a framework. Groups: passed, failed, errors, skipped, total.
struct Form {
    frameworks: &'static [&'static str],
    pattern: &'static str,
    /// True if several such lines add up; else the last one counts.
    adds: bool,
}

const FORMS: &[Form] = &[
    Form {
        frameworks: &["cargo"],
        pattern: r"test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; (?P<skipped>\d+) ignored",
        adds: true,
    },
    Form { frameworks: &["jest"], pattern: r"(?m)^Tests:\s+(?P<list>.+)$", adds: false },
    Form { frameworks: &["vitest"], pattern: r"(?m)^\s+Tests\s+(?P<list>.+)$", adds: false },
    Form { frameworks: &["pytest"], pattern: r"(?m)^=*\s*(?P<list>(?:\d+ [a-z]+,? ?)+) in [\d.:]+", adds: false },
    Form {
        frameworks: &["maven", "gradle", "npm test"],
        pattern: r"Tests run: (?P<total>\d+), Failures: (?P<failed>\d+), Errors: (?P<errors>\d+), Skipped: (?P<skipped>\d+)",
        adds: false,
    },
    Form {
        frameworks: &["dotnet-test"],
        pattern: r"Failed:\s+(?P<failed>\d+), Passed:\s+(?P<passed>\d+), Skipped:\s+(?P<skipped>\d+)",
        adds: true,
    },
    Form {
        frameworks: &["ctest"],
        pattern: r"tests passed, (?P<failed>\d+) tests? failed out of (?P<total>\d+)",
        adds: false,
    },
    Form {
        frameworks: &["swift-test"],
        pattern: r"Executed (?P<total>\d+) tests?, with (?P<failed>\d+) failures?",
        adds: false,
    },
    Form {
        frameworks: &["dart-test"],
        pattern: r"\+(?P<passed>\d+)(?: ~(?P<skipped>\d+))?(?: -(?P<failed>\d+))?: ",
        adds: false,
    },
    Form {
        frameworks: &["rspec"],
        pattern: r"(?P<total>\d+) examples?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) pending)?",
        adds: false,
    },
    Form {
        frameworks: &["minitest"],
        pattern: r"(?P<total>\d+) runs, \d+ assertions, (?P<failed>\d+) failures, (?P<errors>\d+) errors, (?P<skipped>\d+) skips",
        adds: false,
    },
    Form { frameworks: &["phpunit", "pest", "laravel"], pattern: r"OK \((?P<total>\d+) tests?,", adds: false },
    Form {
        frameworks: &["phpunit", "pest", "laravel"],
        pattern: r"Tests: (?P<total>\d+), Assertions: \d+(?:, Errors: (?P<errors>\d+))?(?:, Failures: (?P<failed>\d+))?(?:, Skipped: (?P<skipped>\d+))?",
        adds: false,
    },
    Form {
        frameworks: &["pester"],
        pattern: r"Tests Passed: (?P<passed>\d+), Failed: (?P<failed>\d+), Skipped: (?P<skipped>\d+)",
        adds: false,
    },
    Form { frameworks: &["unittest"], pattern: r"Ran (?P<total>\d+) tests? in", adds: false },
];

/// A count with its word behind it, as several frameworks list them.
static COUNTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)(?P<count>\d+) (?P<word>passed|failed|skipped|pending|todo|errors?|xfailed|xpassed|passing|failing|pass|fail|skip)\b")
        .expect("a constant pattern")
});
/// A count with its word in front, as `node --test` prints it.
static NODE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^(?:#|ℹ) (?P<word>pass|fail|skipped) (?P<count>\d+)$").expect("a constant pattern")
});
/// The result of a single test.
static CASES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        r"^test (?P<name>\S+)(?: - should panic)? \.\.\. (?P<how>ok|FAILED|ignored)",
        r"^\s*--- (?P<how>PASS|FAIL|SKIP): (?P<name>\S+)",
        r"^(?P<name>\S+::\S.*?) (?P<how>PASSED|FAILED|SKIPPED|ERROR|XFAIL|XPASS)\b",
        r"^(?P<name>\w+ \([\w.]+\)) \.\.\. (?P<how>ok|FAIL|ERROR|skipped)",
        r"^(?P<name>\S.* > .+?) (?P<how>PASSED|FAILED|SKIPPED)$",
        r"^\s*(?P<how>✓|✔|√|✕|✗|✖|×|○|↓|﹣) (?P<name>.+?)(?: \(?[\d.]+ ?m?s\)?)?$",
        r"^\s*(?:not )?(?P<how>ok) \d+ - (?P<name>.+?)(?: # .*)?$",
        r"^\s*\d+/\d+ Test\s+#\d+: (?P<name>\S+) \.*\s*(?P<how>Passed|\*\*\*Failed)",
    ]
    .iter()
    .map(|pattern| Regex::new(pattern).expect("a constant pattern"))
    .collect()
});
static COVERAGE: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        r"(?m)^TOTAL\s.*?(\d+(?:\.\d+)?)%",
        r"(?m)^All files\s*\|\s*(\d+(?:\.\d+)?)",
        r"coverage: (\d+(?:\.\d+)?)% of statements",
        r"(?m)^\s*Lines:\s+(\d+(?:\.\d+)?)%",
    ]
    .iter()
    .map(|pattern| Regex::new(pattern).expect("a constant pattern"))
    .collect()
});

/// Each form with its compiled pattern; compiling takes longer than matching.
static PATTERNS: LazyLock<Vec<(&Form, Regex)>> =
    LazyLock::new(|| FORMS.iter().map(|form| (form, Regex::new(form.pattern).expect("a constant pattern"))).collect());

/// Counts the tests of an output. Without a summary line of the framework it counts the single tests.
pub(crate) fn totals(framework: &str, output: &str, cases: &[TestCase]) -> TestTotals {
    let mut totals = TestTotals::default();
    for (form, pattern) in PATTERNS.iter().filter(|(form, _)| form.frameworks.contains(&framework)) {
        let all: Vec<_> = pattern.captures_iter(output).collect();
        let counted = if form.adds { &all[..] } else { &all[all.len().saturating_sub(1)..] };
        for found in counted {
            let number = |name| found.name(name).and_then(|digits| digits.as_str().parse::<u64>().ok());
            if let Some(list) = found.name("list") {
                add_listed(&mut totals, list.as_str());
                continue;
            }
            let failed = number("failed").unwrap_or(0) + number("errors").unwrap_or(0);
            let skipped = number("skipped").unwrap_or(0);
            let total = number("total").map(|total| total.saturating_sub(failed + skipped));
            totals.passed += number("passed").or(total).unwrap_or(0);
            totals.failed += failed;
            totals.skipped += skipped;
        }
    }
    match framework {
        "mocha" | "bun" => add_listed(&mut totals, output),
        "node" | "npm test" => {
            NODE.captures_iter(output).for_each(|found| add(&mut totals, &found["word"], &found["count"]))
        }
        "unittest" => settle_unittest(&mut totals, output),
        _ => {}
    }
    if totals == TestTotals::default() {
        let count = |status: &str| cases.iter().filter(|case| case.status == status).count() as u64;
        totals = TestTotals { passed: count("passed"), failed: count("failed"), skipped: count("skipped"), total: 0 };
    }
    totals.total = totals.passed + totals.failed + totals.skipped;
    totals
}

/// Counts the tests of a command with an unknown framework, by the first form that matches; `None` if none does.
pub(crate) fn guess(output: &str) -> Option<TestTotals> {
    let cases = cases(output);
    let known = FORMS.iter().filter_map(|form| form.frameworks.first()).chain(&["node", "mocha"]);
    known.map(|framework| totals(framework, output, &cases)).find(|totals| totals.total > 0)
}

/// Returns whether a test runner reported that it ran no test.
pub(crate) fn counts_none(output: &str) -> bool {
    static NONE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?mi)^\s*(?:running 0 tests$|no tests? (?:ran|found|to run|were found)\b|no test (?:files|suites?) found|ran 0 tests\b|0 passing\b|0 examples, 0 failures|0 runs, 0 assertions|total tests: 0\b|# tests 0$|ℹ tests 0$|tests run: 0, failures: 0|no test is available|no tests executed|ok \(0 tests)|\bcollected 0 items\b|\[no test files\]|test result: ok\. 0 passed; 0 failed; 0 ignored")
            .expect("a constant pattern")
    });
    NONE.is_match(output) && guess(output).is_none()
}

fn add_listed(totals: &mut TestTotals, list: &str) {
    COUNTED.captures_iter(list).for_each(|found| add(totals, &found["word"], &found["count"]));
}

fn add(totals: &mut TestTotals, word: &str, count: &str) {
    let count: u64 = count.parse().unwrap_or(0);
    match word {
        "passed" | "passing" | "pass" | "xpassed" => totals.passed += count,
        "failed" | "failing" | "fail" | "error" | "errors" => totals.failed += count,
        _ => totals.skipped += count,
    }
}

/// Corrects counts by `FAILED (failures=1, errors=2, skipped=3)`: unittest's count of tests includes them all.
fn settle_unittest(totals: &mut TestTotals, output: &str) {
    let number = |word: &str| {
        let at = output.rfind(word)? + word.len();
        output[at..].chars().take_while(char::is_ascii_digit).collect::<String>().parse::<u64>().ok()
    };
    totals.failed = number("(failures=").or_else(|| number(" failures=")).unwrap_or(0)
        + number("(errors=").or_else(|| number(" errors=")).unwrap_or(0);
    totals.skipped = number("skipped=").unwrap_or(0);
    totals.passed = totals.passed.saturating_sub(totals.failed + totals.skipped);
}

/// Returns whether a runner that always prints a final count did not print it: something ended its process before.
/// Decides only where the command names the runner itself, without a reporter.
pub(crate) fn is_cut_short(argv: &[String], output: &str) -> bool {
    const OTHER_OUTPUT: [&str; 9] = [
        "--reporter",
        "--test-reporter",
        "--json",
        "--collect-only",
        "--co",
        "--no-run",
        "--list",
        "--format",
        "--help",
    ];
    let words = shell_words(argv);
    let is_other = |word: &&str| {
        let name = word.split('=').next().unwrap_or(word);
        OTHER_OUTPUT.contains(&name) || name.starts_with("-qq")
    };
    if words.iter().any(is_other) {
        return false;
    }
    let counts = |pattern: &str| output.lines().filter(|line| line.trim_start().starts_with(pattern)).count();
    let runs = |program: &str, with: &[&str]| {
        words.windows(2).any(|pair| program_of(pair[0]) == program && with.contains(&pair[1]))
    };
    match () {
        () if words.contains(&"-munittest") || runs("-m", &["unittest"]) => counts("Ran ") == 0,
        () if words.iter().any(|word| ["pytest", "py.test"].contains(&program_of(word))) => guess(output).is_none(),
        () if runs("node", &["--test"]) => counts("# tests ") + counts("ℹ tests ") == 0,
        () if runs("cargo", &["test", "t"]) => {
            let begun = output.lines().filter(|line| {
                line.strip_prefix("running ").is_some_and(|rest| rest.ends_with(" tests") || rest.ends_with(" test"))
            });
            let left_out = output.contains("bytes left out");
            !left_out && begun.count() > counts("test result:") || counts("test result:") == 0
        }
        () => false,
    }
}

/// Returns the words of a command, including those inside a shell line. Leaves out a toolchain (`+nightly`).
fn shell_words(argv: &[String]) -> Vec<&str> {
    let words = argv.iter().flat_map(|word| word.split([' ', '\t', '\n', ';', '&', '|', '(', ')', '"', '\'']));
    words.filter(|word| !word.is_empty() && !word.starts_with('+')).collect()
}

/// Returns the name of a program without its folder.
fn program_of(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Lists the tests that an output names.
pub(crate) fn cases(output: &str) -> Vec<TestCase> {
    let lines = output.lines().filter(|line| line.len() < 1_000);
    lines.filter_map(case).take(MAX_NAMED_TESTS).collect()
}

fn case(line: &str) -> Option<TestCase> {
    let found = CASES.iter().find_map(|form| form.captures(line))?;
    let status = match &found["how"] {
        "ok" if line.trim_start().starts_with("not ok") => "failed",
        "ok" | "PASS" | "PASSED" | "Passed" | "XPASS" | "✓" | "✔" | "√" => "passed",
        "ignored" | "SKIP" | "SKIPPED" | "skipped" | "XFAIL" | "○" | "↓" | "﹣" => "skipped",
        _ => "failed",
    };
    Some(TestCase { name: found["name"].trim().to_owned(), status: status.to_owned() })
}

/// Returns the test coverage in percent.
pub(crate) fn coverage(output: &str) -> Option<f64> {
    COVERAGE.iter().find_map(|form| form.captures_iter(output).last()?[1].parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_framework_is_counted() {
        let rows = [
            (
                "cargo",
                "test result: ok. 3 passed; 0 failed; 1 ignored; x\ntest result: FAILED. 2 passed; 1 failed; 0 ignored;",
                (5, 1, 1),
            ),
            ("jest", "Tests:       1 failed, 2 skipped, 3 passed, 6 total\n", (3, 1, 2)),
            ("vitest", "      Tests  1 failed | 2 passed (3)\n", (2, 1, 0)),
            ("pytest", "===== 1 failed, 4 passed, 2 skipped in 0.12s =====", (4, 1, 2)),
            ("pytest", "===== 4 passed in 0.12s =====", (4, 0, 0)),
            ("mocha", "  3 passing (5ms)\n  1 pending\n  2 failing\n", (3, 2, 1)),
            ("node", "# tests 3\n# pass 2\n# fail 1\n# skipped 0\n", (2, 1, 0)),
            (
                "maven",
                "Tests run: 2, Failures: 0, Errors: 0, Skipped: 0\nTests run: 5, Failures: 1, Errors: 1, Skipped: 1\n",
                (2, 2, 1),
            ),
            ("dotnet-test", "Failed!  - Failed:     1, Passed:     2, Skipped:     0, Total:     3", (2, 1, 0)),
            ("ctest", "80% tests passed, 1 tests failed out of 5", (4, 1, 0)),
            ("swift-test", "Executed 5 tests, with 2 failures (0 unexpected)", (3, 2, 0)),
            ("dart-test", "00:01 +1: a\n00:02 +4 ~1 -2: Some tests failed.", (4, 2, 1)),
            ("rspec", "5 examples, 1 failure, 1 pending", (3, 1, 1)),
            ("minitest", "5 runs, 9 assertions, 1 failures, 1 errors, 1 skips", (2, 2, 1)),
            ("phpunit", "OK (5 tests, 9 assertions)", (5, 0, 0)),
            ("phpunit", "Tests: 5, Assertions: 9, Failures: 1, Skipped: 1.", (3, 1, 1)),
            ("pester", "Tests Passed: 5, Failed: 1, Skipped: 2", (5, 1, 2)),
            ("bun", " 5 pass\n 1 skip\n 1 fail\n", (5, 1, 1)),
            ("unittest", "Ran 6 tests in 0.1s\n\nFAILED (failures=1, errors=1, skipped=2)", (2, 2, 2)),
            ("go-test", "--- PASS: TestA (0.0s)\n--- FAIL: TestB (0.0s)\n    --- SKIP: TestB/c (0.0s)\n", (1, 1, 1)),
        ];
        for (framework, output, (passed, failed, skipped)) in rows {
            let totals = totals(framework, output, &cases(output));
            assert_eq!(
                (totals.passed, totals.failed, totals.skipped),
                (passed, failed, skipped),
                "{framework}: {output}"
            );
            assert_eq!(totals.total, passed + failed + skipped);
        }
    }

    #[test]
    fn single_tests_are_named_with_how_they_went() {
        let output = "test a::b ... ok\ntests/t.py::test_x FAILED [ 50%]\n  ✓ adds (3 ms)\n  ✕ subtracts\nnot ok 2 - third\ntest_y (m.C) ... skipped 'x'\nok\n";

        let cases = cases(output);

        let seen: Vec<_> = cases.iter().map(|case| (case.name.as_str(), case.status.as_str())).collect();
        assert_eq!(
            seen,
            [
                ("a::b", "passed"),
                ("tests/t.py::test_x", "failed"),
                ("adds", "passed"),
                ("subtracts", "failed"),
                ("third", "failed"),
                ("test_y (m.C)", "skipped"),
            ]
        );
    }

    #[test]
    fn a_runner_that_did_not_count_was_cut_short_and_a_word_in_a_command_is_no_runner() {
        let rows: [(&[&str], &str, bool); 14] = [
            (&["python3", "-m", "unittest"], "", true),
            (&["python3", "-m", "unittest", "-v"], "Ran 2 tests in 0.1s\n\nOK\n", false),
            (&["sh", "-c", "cd a && python -m unittest discover"], "", true),
            (&["pytest"], "", true),
            (&[".venv/bin/py.test", "tests"], "", true),
            (&["python", "-m", "pytest"], "", true),
            (&["sh", "-c", "PYTHONPATH=. pytest -x; true"], "", true),
            (&["pytest"], "==== 2 passed in 0.1s ====\n", false),
            (&["node", "--test"], "", true),
            (&["cargo", "test"], "running 2 tests\n", true),
            (&["make", "unittest"], "ok\n", false),
            (&["ctest", "-R", "unittest"], "ok\n", false),
            (&["./scripts/unittests.sh"], "ok\n", false),
            (&["./run-pytest-like.sh", "--pytest-dir"], "ok\n", false),
        ];
        for (argv, output, expected) in rows {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();

            assert_eq!(is_cut_short(&argv, output), expected, "{argv:?}: {output:?}");
        }
    }

    #[test]
    fn coverage_is_read_where_it_is_said() {
        assert_eq!(coverage("TOTAL   120   12   90%\n"), Some(90.0));
        assert_eq!(coverage("All files |   87.5 | 80 |\n"), Some(87.5));
        assert_eq!(coverage("nothing"), None);
    }
}
