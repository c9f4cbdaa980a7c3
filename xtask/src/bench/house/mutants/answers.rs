//! Known results of mutants in files, so that an interrupted measurement continues.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::sites::Site;

/// Result of a mutant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    /// A test failed; holds the tests of which one failed.
    Failed(Vec<String>),
    /// Tests exceeded their time limit; holds the tests of which one did.
    Hung(Vec<String>),
    /// All tests that evaluate it passed.
    Survived,
    /// No test evaluates it.
    Unreached,
}

/// Results so far.
#[derive(Debug)]
pub(super) struct Answers {
    path: PathBuf,
    known: BTreeMap<String, Answer>,
    hints: Hints,
}

/// Tests that caught a mutant in any tree: they are run first.
#[derive(Debug)]
struct Hints {
    path: PathBuf,
    tests: BTreeMap<String, Vec<String>>,
}

// === impl Answers ===

impl Answers {
    /// Reads the results of an earlier measurement of the same mutants in the same tree.
    ///
    /// # Errors
    /// When a file exists and can't be read.
    pub(super) fn open(folder: &Path, key: &str) -> anyhow::Result<Self> {
        let (path, hints) = (folder.join(format!("answers-{key}.json")), folder.join("hints.json"));
        let known = read(&path)?.unwrap_or_default();
        let tests = read(&hints)?.unwrap_or_default();
        Ok(Self { path, known, hints: Hints { path: hints, tests } })
    }

    /// Returns the result of a mutant, if it is known.
    pub(super) fn get(&self, site: &Site) -> Option<Answer> {
        self.known.get(&site.to_string()).cloned()
    }

    /// Returns the tests that caught the same mutant in another tree, if any.
    pub(super) fn hint(&self, site: &Site) -> Vec<String> {
        self.hints.tests.get(&site.key()).cloned().unwrap_or_default()
    }

    /// Stores a result.
    ///
    /// # Errors
    /// When a file can't be written.
    pub(super) fn put(&mut self, site: &Site, answer: Answer) -> anyhow::Result<()> {
        if let Answer::Failed(tests) | Answer::Hung(tests) = &answer {
            self.hints.tests.insert(site.key(), tests.clone());
            write(&self.hints.path, &self.hints.tests)?;
        }
        self.known.insert(site.to_string(), answer);
        write(&self.path, &self.known)
    }
}

/// Reads a stored value; returns `None` if there is none.
///
/// # Errors
/// When the file can't be read.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> anyhow::Result<Option<T>> {
    match fs::read(path) {
        Ok(text) => serde_json::from_slice(&text).map(Some).with_context(|| path.display().to_string()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
}

/// Stores a value atomically.
///
/// # Errors
/// When the file can't be written.
pub(super) fn write(path: &Path, value: &impl Serialize) -> anyhow::Result<()> {
    let fresh = path.with_extension("new");
    fs::write(&fresh, serde_json::to_vec_pretty(value)?).with_context(|| fresh.display().to_string())?;
    fs::rename(&fresh, path).with_context(|| path.display().to_string())
}
