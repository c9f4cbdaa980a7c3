//! Uncommitted changes of the user.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::repo::{OWN_FOLDER, Repo};
use crate::Result;

/// A path of the user's work tree that differs from the last commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirty {
    /// Path relative to the top folder.
    pub path: PathBuf,
    /// Difference between the commit and the index, as one letter of `git status`; a space if there is none.
    pub staged: char,
    /// Difference between the index and the file; `?` for both if the file is untracked.
    pub unstaged: char,
}

// === impl Repo ===

impl Repo {
    /// Returns all dirty paths of the user's work tree, including untracked ones but not ignored ones and our own folder. Changes nothing,
    /// not even the index's cache.
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

/// Parses `XY PATH`.
fn parse(field: &[u8]) -> Option<Dirty> {
    let [staged, unstaged, b' ', path @ ..] = field else { return None };
    Some(Dirty {
        path: PathBuf::from(OsStr::from_bytes(path)),
        staged: char::from(*staged),
        unstaged: char::from(*unstaged),
    })
}
