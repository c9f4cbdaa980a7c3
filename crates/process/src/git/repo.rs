//! The git program, and a repository that it found.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use switchboard_protocol::text::cut;

use super::call::Call;
use super::last_listed::LastListed;
use crate::env::Env;
use crate::{Error, Result};

/// Oldest supported git version: the first with `merge-tree --write-tree`.
pub const OLDEST: &str = "2.38";

/// Name and address of the committer. Authors are the agents.
pub const COMMITTER: (&str, &str) = ("Switchboard", "switchboard@localhost");

/// The folder in a work tree that is never captured, reported as dirty, or cleaned.
pub const OWN_FOLDER: &str = ".switchboard";

/// The git program, with the environment of its calls.
#[derive(Debug, Clone)]
pub struct Git {
    env: Env,
}

/// A repository of the user, with a work tree.
#[derive(Debug, Clone)]
pub struct Repo {
    pub(super) git: Git,
    pub(super) root: PathBuf,
    pub(super) git_dir: PathBuf,
    pub(super) common_dir: PathBuf,
    pub(super) last_listed: Arc<Mutex<LastListed>>,
}

// === impl Git ===

impl Git {
    /// Finds git on the `PATH` of `env` and checks its version. `HOME` and `XDG_CONFIG_HOME` of `env` decide which settings of the user apply
    /// (ignore files, filters); those that run programs or prompt are overridden.
    ///
    /// # Errors
    /// [`Error::GitMissing`], [`Error::GitTooOld`].
    pub fn find(env: Env) -> Result<Self> {
        let git = Self { env };
        let said = Call::new(&git, ["version"]).text()?;
        let found = said.trim().trim_start_matches("git version ").to_owned();
        if version(&found) < version(OLDEST) {
            return Err(Error::GitTooOld { found, needed: OLDEST });
        }
        Ok(git)
    }

    pub(crate) fn env(&self) -> &Env {
        &self.env
    }
}

// === impl Repo ===

impl Repo {
    /// Returns the top folder of the work tree.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder with the index and `HEAD` of this work tree.
    #[must_use]
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// Returns the folder with the objects and references that all work trees of the repository share.
    #[must_use]
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// Returns a git call in the work tree.
    pub(super) fn call<S: Into<String>>(&self, args: impl IntoIterator<Item = S>) -> Call {
        Call::new(&self.git, args).cwd(&self.root)
    }
}

/// Returns major and minor of `2.47.3 (Apple Git-1)`; a part that does not parse counts as 0.
fn version(text: &str) -> (u32, u32) {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// Converts a path to text, as git gets it.
pub(super) fn utf8(path: &Path) -> Result<&str> {
    path.to_str()
        .ok_or_else(|| Error::BadName { text: cut(&path.display().to_string(), 100), expected: "a path in UTF-8" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number() {
        assert!(version("2.9.5") < version(OLDEST));
        assert!(version("2.38.0") >= version(OLDEST));
        assert!(version("2.47.3 (Apple Git-1)") >= version(OLDEST));
        assert!(version("3.0") >= version(OLDEST));
        assert!(version("nonsense") < version(OLDEST));
    }
}
