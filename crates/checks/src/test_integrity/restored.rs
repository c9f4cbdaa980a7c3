//! Selects what is restored from the base before the base's tests run against a change.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use switchboard_grammars::Language;
use switchboard_protocol::finding::CheckCommand;
use switchboard_syntax::Parsers;
use toml_edit::DocumentMut;

use super::change::Change;
use super::changed_file::ChangedFile;
use super::hit::{Consequence, Hit};
use super::runner_file::RunnerFile;
use super::{paths, recipes, rust, traces};
use crate::error::Error;
use crate::git::Git;
use crate::limits::Limits;

/// Sections of `package.json` that decide which tests run, and how.
const NODE: [&str; 8] = ["scripts", "jest", "mocha", "vitest", "ava", "nyc", "babel", "tap"];
/// Tables of `Cargo.toml` that decide which tests run, and how.
const CARGO: [&str; 5] = ["test", "profile", "patch", "replace", "lib"];

/// Files to restore, and how.
#[derive(Debug, Default)]
pub(super) struct Restored {
    /// Files that the base has; restored whole.
    whole: BTreeSet<String>,
    /// Files that the base lacks; removed.
    removed: BTreeSet<String>,
    /// Files restored in part, with their merged text.
    parts: Vec<(String, Vec<u8>)>,
    /// True if something other than new tests is restored.
    is_worth_a_run: bool,
}

/// Selects what is restored; a new file that a runner loads is removed only if there is a finding about it.
pub(super) fn of(change: &Change, commands: &[CheckCommand], hits: &[Hit]) -> Restored {
    let before = traces::path_folders(commands);
    let is_harmless = |path: &str| !hits.iter().any(|hit| hit.path == path && hit.consequence != Consequence::Reported);
    let mut restored = Restored::default();
    let manifest =
        change.files.iter().find(|file| file.name() == "Cargo.toml").map(|file| file.texts().1).unwrap_or_default();
    for file in &change.files {
        let runner = RunnerFile::of(&file.path);
        let is_test = paths::is_test(&file.path);
        match runner {
            Some(RunnerFile::PackageJson) => restored.part(file, package),
            Some(RunnerFile::Pyproject) => restored.part(file, pyproject),
            Some(RunnerFile::CargoToml) => restored.part(file, cargo),
            Some(_) if file.is_new() && is_harmless(&file.path) => {}
            Some(_) => restored.file(file, true),
            None if traces::is_found_first(&file.path, &before) || paths::is_cache(&file.path) => {
                restored.file(file, true)
            }
            None if recipes::is_run(&file.path, commands) && !file.is_new() => restored.file(file, true),
            None if is_test && file.is_new() => {
                let stem = file.name().trim_end_matches(".rs");
                let is_built = file.path.ends_with(".rs")
                    && (file.path.starts_with("src/") || file.path.contains("/src/") || manifest.contains(stem));
                if !is_built {
                    restored.file(file, false);
                }
            }
            None if is_test || (paths::is_test_data(&file.path) && !file.is_new()) => restored.file(file, true),
            None if file.path.ends_with(".rs") => restored.part(file, inline_tests),
            None => {}
        }
    }
    restored
}

// === impl Restored ===

impl Restored {
    /// Selects everything but tests and test data: restoring it makes the change's tests run against the code of the
    /// base.
    pub(super) fn code_of(change: &Change) -> Self {
        let mut code = Self::default();
        for file in &change.files {
            let is_of_tests = paths::is_test(&file.path) || paths::is_test_data(&file.path);
            let is_loaded = RunnerFile::of(&file.path).is_some() && file.is_new();
            match (is_of_tests || is_loaded, file.path.ends_with(".rs")) {
                (true, _) => {}
                (false, true) if !file.is_new() && !file.is_deleted() => {
                    code.part(file, |before, after| inline_tests(after, before).or_else(|| Some(before.to_owned())))
                }
                (false, _) => code.file(file, true),
            }
        }
        code
    }

    /// Selects the tests only.
    pub(super) fn tests_of(change: &Change) -> Self {
        let mut tests = Self::default();
        change.files.iter().filter(|file| paths::is_test(&file.path)).for_each(|file| tests.file(file, true));
        tests
    }

    /// Selects one file.
    pub(super) fn only(change: &Change, path: &str) -> Self {
        let mut only = Self::default();
        change.files.iter().filter(|file| file.path == path).for_each(|file| only.file(file, true));
        only
    }

    /// Selects all of the change.
    pub(super) fn all_of(change: &Change) -> Self {
        let mut all = Self::default();
        change.files.iter().for_each(|file| all.file(file, true));
        all
    }

    pub(super) fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.removed.is_empty() && self.parts.is_empty()
    }

    pub(super) const fn is_worth_a_run(&self) -> bool {
        self.is_worth_a_run
    }

    pub(super) fn names(&self, path: &str) -> bool {
        self.whole.contains(path) || self.removed.contains(path) || self.parts.iter().any(|(part, _)| part == path)
    }

    fn file(&mut self, file: &ChangedFile, is_worth_a_run: bool) {
        let list = if file.is_new() { &mut self.removed } else { &mut self.whole };
        list.insert(file.path.clone());
        self.is_worth_a_run |= is_worth_a_run;
    }

    fn part(&mut self, file: &ChangedFile, merged: fn(&str, &str) -> Option<String>) {
        let (before, after) = file.texts();
        if file.is_new() || file.is_deleted() {
            return;
        }
        if let Some(text) = merged(&before, &after).filter(|text| *text != after) {
            self.parts.push((file.path.clone(), text.into_bytes()));
            self.is_worth_a_run = true;
        }
    }

    /// Writes the restored files into the tree.
    pub(super) fn write(&self, root: &Path, git: &Git, base: &str) -> Result<(), Error> {
        for path in &self.removed {
            remove(root, path)?;
        }
        let whole: Vec<&str> = self.whole.iter().map(String::as_str).collect();
        if !whole.is_empty() {
            git.put(base, &whole)?;
        }
        for (path, text) in &self.parts {
            std::fs::write(root.join(path), text).map_err(|source| unwritable(path, source))?;
        }
        Ok(())
    }
}

/// Removes a file, unless its resolved folder lies outside the tree: a link could lead there.
fn remove(root: &Path, path: &str) -> Result<(), Error> {
    let full = root.join(path);
    let folder = full.parent().and_then(|folder| folder.canonicalize().ok());
    let is_below = folder.is_some_and(|folder| root.canonicalize().is_ok_and(|root| folder.starts_with(root)));
    match if is_below { std::fs::remove_file(&full) } else { Ok(()) } {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => Err(unwritable(path, source)),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn unwritable(path: &str, source: std::io::Error) -> Error {
    Error::Root { root: path.to_owned(), source }
}

fn package(before: &str, after: &str) -> Option<String> {
    let (old, mut new): (Value, Value) = (serde_json::from_str(before).ok()?, serde_json::from_str(after).ok()?);
    let mut is_changed = false;
    let (from, into) = (old.as_object()?, new.as_object_mut()?);
    for name in NODE {
        if from.get(name) == into.get(name) {
            continue;
        }
        is_changed = true;
        match from.get(name) {
            Some(value) => drop(into.insert(name.to_owned(), value.clone())),
            None => drop(into.remove(name)),
        }
    }
    is_changed.then(|| serde_json::to_string_pretty(&new).ok()).flatten()
}

fn pyproject(before: &str, after: &str) -> Option<String> {
    let (old, mut new): (DocumentMut, DocumentMut) = (before.parse().ok()?, after.parse().ok()?);
    let from = old.get("tool").and_then(|tool| tool.get("pytest"));
    let into = new.get("tool").and_then(|tool| tool.get("pytest"));
    if from.map(ToString::to_string) == into.map(ToString::to_string) {
        return None;
    }
    let tool = new.entry("tool").or_insert_with(toml_edit::table).as_table_mut()?;
    match from {
        Some(value) => drop(tool.insert("pytest", value.clone())),
        None => drop(tool.remove("pytest")),
    }
    Some(new.to_string())
}

fn cargo(before: &str, after: &str) -> Option<String> {
    let (old, mut new): (DocumentMut, DocumentMut) = (before.parse().ok()?, after.parse().ok()?);
    let mut is_changed = false;
    for name in CARGO {
        if old.get(name).map(ToString::to_string) == new.get(name).map(ToString::to_string) {
            continue;
        }
        // A new target for new tests removes nothing from those of the base.
        if name == "test" && old.get(name).is_none() && !after.contains("harness") {
            continue;
        }
        is_changed = true;
        match old.get(name) {
            Some(value) => drop(new.insert(name, value.clone())),
            None => drop(new.remove(name)),
        }
    }
    for key in ["autotests", "build"] {
        let value = old.get("package").and_then(|package| package.get(key)).cloned();
        let package = new.get_mut("package").and_then(|package| package.as_table_mut());
        if let Some(package) = package
            .filter(|package| package.get(key).map(ToString::to_string) != value.as_ref().map(ToString::to_string))
        {
            is_changed = true;
            match value {
                Some(value) => drop(package.insert(key, value)),
                None => drop(package.remove(key)),
            }
        }
    }
    is_changed.then(|| new.to_string())
}

/// Merges the change's code with the base's test modules.
fn inline_tests(before: &str, after: &str) -> Option<String> {
    let modules = |text: &str| {
        let mut parsers = Parsers::new(Limits::default().parse_time);
        parsers.parse(Language::Rust, text.as_bytes()).map(|tree| rust::test_modules(&tree, text))
    };
    let (old, new) = (modules(before)?, modules(after)?);
    let mut text = after.to_owned();
    for (name, range) in new.iter().rev() {
        let of_base = old.iter().find(|(other, _)| other == name).map_or("", |(_, range)| &before[range.clone()]);
        text.replace_range(range.clone(), of_base);
    }
    for (_, range) in old.iter().filter(|(name, _)| !new.iter().any(|(other, _)| other == name)) {
        text.push('\n');
        text.push_str(&before[range.clone()]);
        text.push('\n');
    }
    // A new module removes nothing from the tests of the base.
    let is_worth_it = old.iter().any(|(name, range)| {
        new.iter()
            .find(|(other, _)| other == name)
            .is_none_or(|(_, other)| after[other.clone()] != before[range.clone()])
    });
    is_worth_it.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_of_the_base_stand_in_the_code_of_the_change() {
        let before = "fn a() {}\n#[cfg(test)]\nmod tests {\n    old();\n}\n";
        let after = "fn b() {}\n#[cfg(test)]\nmod tests {\n    new();\n}\n";

        assert_eq!(inline_tests(before, after).unwrap(), "fn b() {}\n#[cfg(test)]\nmod tests {\n    old();\n}\n");
        assert_eq!(inline_tests("fn a() {}\n", after), None, "a new module takes nothing away");
        assert!(inline_tests(before, "fn b() {}\n").unwrap().contains("old();"));
    }

    #[test]
    fn a_manifest_keeps_its_dependencies_and_gets_the_scripts_of_the_base() {
        let merged =
            package(r#"{"scripts":{"test":"node --test"}}"#, r#"{"scripts":{"test":"true"},"dependencies":{"a":"1"}}"#)
                .unwrap();

        assert!(merged.contains("node --test") && merged.contains("dependencies"), "{merged}");
        assert_eq!(package("{}", r#"{"dependencies":{"a":"1"}}"#), None);
        let merged = cargo(
            "[package]\nname = \"a\"\n",
            "[package]\nname = \"a\"\nautotests = false\n[dependencies]\nb = \"1\"\n",
        )
        .unwrap();
        assert!(!merged.contains("autotests") && merged.contains("b = \"1\""), "{merged}");
    }
}
