//! Counts lines of code and tests by crate.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde_json::{Map, Value, json};

use crate::bench::stats::{count, rounded};
use crate::circles::crates;

/// Returns the lines of tests, their share of all lines and the number of tests, by crate; the stories over the real
/// binary are last.
///
/// # Errors
/// When a file can't be read.
pub(super) fn tests(root: &Path) -> anyhow::Result<Value> {
    let mut shares = Map::new();
    for (name, src) in crates(root)? {
        let mut lines = Lines::default();
        lines.add_folder(&src, false)?;
        let beside = src.with_file_name("tests");
        if beside.is_dir() {
            lines.add_folder(&beside, true)?;
        }
        shares.insert(name, lines.json());
    }
    let mut stories = Lines::default();
    stories.add_folder(&root.join("tests"), true)?;
    shares.insert("stories".to_owned(), stories.json());
    Ok(Value::Object(shares))
}

#[derive(Debug, Default)]
struct Lines {
    code: usize,
    tests: usize,
    functions: usize,
}

// === impl Lines ===

impl Lines {
    fn add_folder(&mut self, folder: &Path, are_tests: bool) -> anyhow::Result<()> {
        for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                self.add_folder(&path, are_tests || path.ends_with("tests"))?;
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
                self.add(&text, are_tests || path.ends_with("tests.rs"));
            }
        }
        Ok(())
    }

    fn add(&mut self, text: &str, are_tests: bool) {
        let code = if are_tests { "" } else { text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default() };
        let code = code.lines().count();
        self.code += code;
        self.tests += text.lines().count() - code;
        let marks = ["#[test]", "#[tokio::test", "#[test_case"];
        self.functions += text.lines().filter(|line| marks.iter().any(|mark| line.trim().starts_with(mark))).count();
    }

    fn json(&self) -> Value {
        let all = (self.code + self.tests).max(1);
        let share = rounded(count(self.tests) / count(all));
        json!({ "tests": self.functions, "lines": self.tests, "share": share })
    }
}

#[cfg(test)]
mod tests_of_counts {
    use super::*;

    #[test]
    fn unit_tests_at_the_end_of_a_file_count_as_tests() {
        let mut lines = Lines::default();

        lines.add("fn a() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() {}\n}\n", false);

        assert_eq!((lines.code, lines.tests, lines.functions), (2, 5, 1));
    }
}
