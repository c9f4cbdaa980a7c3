//! Files that git ignores and a list of patterns names; and differences between a work tree and its commit.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::repo::{OWN_FOLDER, Repo, utf8};
use super::worktree::Worktree;
use crate::Result;

// === impl Repo ===

impl Repo {
    /// Returns the files of the user's work tree that git ignores and a file of patterns names, in the syntax of `.gitignore`. Files of
    /// nested repositories and our own folder are left out.
    ///
    /// # Errors
    /// [`crate::Error::Git`].
    pub fn ignored_and_listed(&self, patterns: &Path) -> Result<Vec<PathBuf>> {
        let others = ["ls-files", "-z", "--others", "--ignored"];
        let listed = self.call(others).arg(format!("--exclude-from={}", utf8(patterns)?)).bytes()?;
        if listed.is_empty() {
            return Ok(Vec::new());
        }
        let ignored = self.call(others).arg("--exclude-standard").bytes()?;
        let ignored: BTreeSet<&[u8]> = ignored.split(|byte| *byte == 0).collect();
        let both = listed.split(|byte| *byte == 0).filter(|path| ignored.contains(path));
        let files = both.filter(|path| !path.is_empty() && !path.ends_with(b"/"));
        Ok(files
            .map(|path| PathBuf::from(OsStr::from_bytes(path)))
            .filter(|path| !path.starts_with(OWN_FOLDER))
            .collect())
    }
}

// === impl Worktree ===

impl Worktree {
    /// Returns the paths that differ from the commit, including untracked ones but not ignored ones and our own folder. An untracked folder
    /// is one path.
    ///
    /// # Errors
    /// [`crate::Error::Git`].
    pub fn changes(&self) -> Result<Vec<PathBuf>> {
        self.status("--untracked-files=normal")
    }

    /// Returns the files that differ from the commit, as [`changes`](Self::changes), but lists the files of untracked folders one by one.
    ///
    /// # Errors
    /// [`crate::Error::Git`].
    pub fn changed_files(&self) -> Result<Vec<PathBuf>> {
        self.status("--untracked-files=all")
    }

    fn status(&self, untracked: &str) -> Result<Vec<PathBuf>> {
        let args = ["status", "--porcelain=v1", "-z", untracked, "--no-renames"];
        let answer = self.call(args)?.bytes()?;
        let paths = answer.split(|byte| *byte == 0).filter_map(|field| field.get(3..));
        let paths = paths.map(|path| PathBuf::from(OsStr::from_bytes(path)));
        Ok(paths.filter(|path| !path.starts_with(OWN_FOLDER)).collect())
    }
}
