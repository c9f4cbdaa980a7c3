//! Classifies files by path: tests, test data, installed tools, caches, reports.

use super::language::TestLanguage;

/// Names of folders that hold tests, in any language.
const TEST_FOLDERS: [&str; 6] = ["test", "tests", "__tests__", "spec", "specs", "testing"];
/// Endings of the stems of test files, in any language.
const TEST_ENDINGS: [&str; 4] = ["_test", "_spec", ".test", ".spec"];
/// Endings of test classes, after which their files are named.
const TEST_CLASSES: [&str; 2] = ["Test", "Tests"];
/// File endings of languages that name files after classes.
const CLASS_FILES: [&str; 5] = [".java", ".kt", ".cs", ".swift", ".php"];
/// Folders that tools search first, or that hold installed packages.
const INSTALLED: [&str; 9] =
    ["node_modules", ".venv", "venv", "site-packages", ".tox", ".nox", "vendor/bundle", "__pypackages__", ".yarn"];
/// Folders with caches of tools.
const CACHES: [&str; 8] =
    ["__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".jest-cache", ".nyc_output", ".cache", ".gradle"];

/// Returns the name of a file without its folders.
pub(super) fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn folders(path: &str) -> impl Iterator<Item = &str> {
    let name = name(path).len();
    path[..path.len() - name].split('/').filter(|part| !part.is_empty())
}

/// Returns whether a file holds tests, or is read only by tests. The base's version of such a file is run against the
/// change, and the file counts as a test of the file that it names or imports.
pub(crate) fn is_test(path: &str) -> bool {
    let name = name(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let in_folder = folders(path).any(|folder| TEST_FOLDERS.contains(&folder));
    let by_ending = TEST_ENDINGS.iter().any(|end| stem.ends_with(end));
    match TestLanguage::of(path).map(|(kind, _)| kind) {
        Some(TestLanguage::Python) => {
            in_folder || by_ending || stem.starts_with("test_") || ["test", "tests"].contains(&stem)
        }
        Some(TestLanguage::JavaScript) => {
            in_folder || by_ending || stem.ends_with("-test") || stem.starts_with("test-") || stem == "test"
        }
        Some(TestLanguage::Rust) => {
            folders(path).any(|folder| folder == "tests" || folder == "benches") || ["test", "tests"].contains(&stem)
        }
        None => {
            let is_code = switchboard_grammars::Language::of(path, b"").is_some();
            (is_code && (in_folder || by_ending))
                || is_test_class(name, stem)
                || [".Tests.ps1", ".bats"].iter().any(|end| name.ends_with(end))
        }
    }
}

fn is_test_class(name: &str, stem: &str) -> bool {
    // `FooIT.java` is an integration test, `AUDIT.java` is not.
    let is_integration =
        name.ends_with(".java") && stem.strip_suffix("IT").is_some_and(|of| of.ends_with(char::is_lowercase));
    let is_class = CLASS_FILES.iter().any(|end| name.ends_with(end));
    is_class && (is_integration || TEST_CLASSES.iter().any(|end| stem.ends_with(end)))
}

/// Returns whether a file belongs to the tests but is no test: data, snapshots, helpers.
pub(super) fn is_test_data(path: &str) -> bool {
    let in_folder = folders(path).any(|folder| {
        TEST_FOLDERS.contains(&folder) || ["fixtures", "testdata", "__snapshots__", "snapshots"].contains(&folder)
    });
    in_folder && !is_test(path)
}

/// Returns whether a file lies where programs are found before those of the system.
pub(super) fn is_installed(path: &str) -> bool {
    folders(path).any(|folder| INSTALLED.contains(&folder))
        || path.starts_with("target/")
        || path.contains("/target/debug/")
}

/// Returns whether a file is a cache that a tool trusts.
pub(super) fn is_cache(path: &str) -> bool {
    folders(path).any(|folder| CACHES.contains(&folder)) || path.ends_with(".pyc")
}

/// Returns whether a file is named like the report of a test runner.
pub(super) fn is_report(path: &str) -> bool {
    let name = name(path).to_ascii_lowercase();
    let is_xml = name.ends_with(".xml");
    let is_named = ["junit", "test-", "test_", "results", "report", "pytest", "xunit", "nunit", "nosetests"]
        .iter()
        .any(|part| name.starts_with(part) || name.contains("test-results") || name.contains("test-report"));
    (is_xml && is_named)
        || name == "coverage.xml"
        || name == "lcov.info"
        || name == ".coverage"
        || name.ends_with(".trx")
        || name.ends_with(".tap")
        || ((name.ends_with(".json") || name.ends_with(".txt") || name.ends_with(".html"))
            && ["test-results", "test-report", "test_results", "test_report", "jest-results", "pytest-report"]
                .iter()
                .any(|part| name.contains(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_files_are_known_by_their_names() {
        let tests = [
            "test_a.py",
            "pkg/a_test.py",
            "tests/helpers.py",
            "a.test.js",
            "src/a.spec.tsx",
            "test/a.mjs",
            "tests/it.rs",
            "src/foo/tests.rs",
            "a/b_test.go",
            "src/test/java/FooTest.java",
            "spec/a_spec.rb",
            "src/FooTests.kt",
            "src/FooTests.php",
            "Sources/FooTest.swift",
            "src/a_spec.js",
            "My.ProjectTests.cs",
            "src/a.b_test.js",
            "src/FooIT.java",
            "a.bats",
            "A.Tests.ps1",
        ];
        let others = [
            "a.py",
            "src/testing.rs",
            "contest.py",
            "latest.js",
            "attest.go",
            "src/lib.rs",
            "protest.rs",
            ".env.test",
            "app.spec",
            "data_test.csv",
            "AUDIT.java",
            "Test.java.md",
        ];

        assert_eq!(tests.iter().filter(|path| !is_test(path)).collect::<Vec<_>>(), Vec::<&&str>::new());
        assert_eq!(others.iter().filter(|path| is_test(path)).collect::<Vec<_>>(), Vec::<&&str>::new());
    }

    #[test]
    fn programs_caches_and_reports_are_known_by_their_places() {
        assert!(is_installed("node_modules/.bin/jest") && is_installed(".venv/bin/python") && is_installed("target/x"));
        assert!(is_cache("a/__pycache__/a.cpython-311.pyc") && !is_cache("src/cache.py"));
        assert!(is_report("junit.xml") && is_report("out/TEST-a.xml") && is_report("test-results.json"));
        assert!(!is_report("pom.xml") && !is_report("report.py") && !is_report("data/results.json"));
    }
}
