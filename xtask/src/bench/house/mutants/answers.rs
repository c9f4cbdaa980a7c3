//! What is known of mutants already, in a file, so that an interrupted measurement goes on.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::sites::Site;

/// What became of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    /// A test of its own crate failed.
    Own,
    /// A test of the other crate failed.
    Other,
    /// Tests had to be ended at their time limit.
    Hung,
    /// All tests passed.
    Survived,
}

/// The answers so far.
#[derive(Debug)]
pub(super) struct Answers {
    path: PathBuf,
    known: BTreeMap<String, Answer>,
}

// === impl Answers ===

impl Answers {
    /// Reads the answers of an earlier measurement of the same mutants in the same tree.
    ///
    /// # Errors
    /// When the file is there and can't be read.
    pub(super) fn open(folder: &Path, seed: u64, sites: &[Site]) -> anyhow::Result<Self> {
        let mut hasher = DefaultHasher::new();
        for site in sites {
            site.to_string().hash(&mut hasher);
        }
        let tree = crate::command::output(crate::command::command("git", folder).args(["rev-parse", "HEAD"]))?;
        tree.hash(&mut hasher);
        let path = folder.join(format!("{seed}-{:016x}.json", hasher.finish()));
        let known = match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).with_context(|| path.display().to_string())?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        };
        Ok(Self { path, known })
    }

    /// What became of a mutant, if that is known.
    pub(super) fn get(&self, site: &Site) -> Option<Answer> {
        self.known.get(&site.to_string()).copied()
    }

    /// Keeps an answer.
    ///
    /// # Errors
    /// When the file can't be written.
    pub(super) fn put(&mut self, site: &Site, answer: Answer) -> anyhow::Result<()> {
        self.known.insert(site.to_string(), answer);
        let fresh = self.path.with_extension("new");
        fs::write(&fresh, serde_json::to_vec_pretty(&self.known)?)?;
        fs::rename(&fresh, &self.path)?;
        Ok(())
    }
}
