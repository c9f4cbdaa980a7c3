//! What the user has changed and not committed.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::repo::{OWN_FOLDER, Repo};
use crate::Result;

/// A path of the user's work tree that differs from the last commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirty {
    /// Relative to the top.
    pub path: PathBuf,
    /// Difference between the commit and the index, as one letter of `git status`; a space when there is none.
    pub staged: char,
    /// Difference between the index and the file; `?` for both when git doesn't know the file.
    pub unstaged: char,
}

// === impl Dirty ===

impl Dirty {
    /// Git doesn't know the file.
    #[must_use]
    pub fn is_untracked(&self) -> bool {
        self.unstaged == '?'
    }
}

// === impl Repo ===

impl Repo {
    /// All dirty paths of the user's work tree, untracked ones included, ignored ones and our own folder not. Changes nothing, not even
    /// the index's cache.
    ///
    /// # Errors
    /// [`crate::Error::Git`].
    pub fn status(&self) -> Result<Vec<Dirty>> {
        let args =
            ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=none"];
        let answer = self.call(args).bytes()?;
        Ok(answer.split(|b| *b == 0).filter_map(parse).filter(|dirty| !dirty.path.starts_with(OWN_FOLDER)).collect())
    }
}

/// Reads `XY PATH`.
fn parse(field: &[u8]) -> Option<Dirty> {
    let [staged, unstaged, b' ', path @ ..] = field else { return None };
    Some(Dirty {
        path: PathBuf::from(OsStr::from_bytes(path)),
        staged: char::from(*staged),
        unstaged: char::from(*unstaged),
    })
}
