//! Tests, and what stands in for something in tests: there a method may be left unwritten on purpose.

/// Beginnings of folders that hold tests, benchmarks, doubles, data and examples.
const FOLDERS: [&str; 15] = [
    "bench",
    "test",
    "__test",
    "spec",
    "mock",
    "__mock",
    "fake",
    "stub",
    "dummy",
    "dummies",
    "fixture",
    "__fixture",
    "example",
    "sample",
    "idlelib",
];
/// Words of a file's name, or of a class, that say the same.
const WORDS: [&str; 13] = [
    "stories", "test", "tests", "doctest", "doctests", "spec", "mock", "mocks", "fake", "stub", "stubs", "dummy",
    "fixture",
];

/// Returns whether a file holds tests or doubles.
pub(super) fn is_file(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_folder = |folder: &str| {
        let folder = folder.to_ascii_lowercase();
        FOLDERS.iter().any(|start| folder.starts_with(start))
            || folder.ends_with(".tests")
            || folder.ends_with("_test")
            || folder.ends_with("_tests")
            || folder.ends_with("-stubs")
            || folder.ends_with("_template")
    };
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    folders.split('/').any(is_folder) || is_name(stem) || name.starts_with("conftest")
}

/// Returns whether a name has one of the words: `FakeClock`, `clock_test`, `testhelpers`.
pub(super) fn is_name(name: &str) -> bool {
    let words = super::stub::words(name.as_bytes());
    let is_word = |word: &String| {
        WORDS.contains(&word.as_str()) || word.starts_with("testhelper") || word.starts_with("testutil")
    };
    words.iter().any(is_word)
}

/// Returns whether a file is the variant of another for a platform that lacks something: `index.browser.js`, `files/index-browser.js`, `sys/wasm.rs`,
/// `unsupported.go`.
pub(super) fn is_for_platform(path: &str) -> bool {
    /// Names of files that say that nothing, or nothing more, is to be had there.
    const STAND_INS: [&str; 9] =
        ["wasm", "wasm32", "emscripten", "unsupported", "unimplemented", "unknown", "noop", "nop", "fallback"];
    let name = path.rsplit('/').next().unwrap_or(path);
    let words = super::stub::words(name.as_bytes());
    let is_variant = words.len() > 2 && words.iter().any(|word| ["browser", "noop", "null"].contains(&word.as_str()));
    // The last word before the ending.
    is_variant || words.iter().rev().nth(1).is_some_and(|word| STAND_INS.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_for_a_platform_is_known_by_its_name() {
        for path in [
            "a/index.browser.mjs",
            "files/index-browser.js",
            "tracing-noop.ts",
            "src/null-loader.ts",
            "src/wasm.rs",
            "sys/unsupported.go",
            "src/delay_wasm.rs",
        ] {
            assert!(is_for_platform(path), "{path}");
        }
        for path in ["src/browser.js", "browser/find.js", "wasm/build.rs", "src/wasm_loader.rs"] {
            assert!(!is_for_platform(path), "{path}");
        }
    }

    #[test]
    fn doubles_are_known_by_folder_and_name() {
        for path in [
            "tests/a.py",
            "src/__mocks__/a.ts",
            "pkg/page/testhelpers_test.go",
            "A.Tests/B.cs",
            "src/FakeClock.java",
            "a.spec.ts",
            "Resources/stubs/Collator.php",
            "motor-stubs/core.py",
            "user_mock.rb",
            "conftest.py",
        ] {
            assert!(is_file(path), "{path}");
        }
        for path in ["src/latest.js", "src/contest.py", "lib/attestation.rb", "src/fakery.rs", "inspector/a.go"] {
            assert!(!is_file(path), "{path}");
        }
    }
}
