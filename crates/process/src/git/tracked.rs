//! Files that git tracks.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::PoisonError;

use super::last_listed::{LastListed, checksum};
use super::repo::Repo;
use super::types::Oid;
use crate::Result;

// === impl Repo ===

impl Repo {
    /// Returns the files of the user's index with one of these names, in any folder; sorted.
    ///
    /// # Errors
    /// [`crate::Error::Git`].
    pub fn tracked_named<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<Vec<PathBuf>> {
        let names: Vec<_> = names.into_iter().collect();
        let index = checksum(&self.git_dir.join("index"));
        let mut last = self.last_listed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(files) = index.and_then(|index| last.files(index, &names)) {
            return Ok(files);
        }
        let files = self.list_named(&names)?;
        // If the index was written while git read it, git's output may belong to either version.
        let is_same = index == checksum(&self.git_dir.join("index"));
        *last = match index.filter(|_| is_same) {
            Some(index) => LastListed::new(index, &names, &files),
            None => LastListed::default(),
        };
        Ok(files)
    }

    fn list_named(&self, names: &[&str]) -> Result<Vec<PathBuf>> {
        let patterns = names.iter().map(|name| format!(":(glob)**/{name}"));
        let args = ["ls-files", "-z", "--cached", "--full-name", "--"].map(str::to_owned);
        let listed = self.call(args.into_iter().chain(patterns)).bytes()?;
        let mut files = paths(&listed);
        files.sort();
        // A file in conflict is listed several times.
        files.dedup();
        Ok(files)
    }

    /// Returns the files of a commit, relative to the root of the repository.
    ///
    /// # Errors
    /// [`crate::Error::Git`], also when there is no such commit.
    pub fn files_of(&self, commit: &Oid) -> Result<Vec<PathBuf>> {
        let args = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit.as_str()].map(str::to_owned);
        Ok(paths(&self.call(args).bytes()?))
    }
}

/// Splits paths that end with NUL.
fn paths(listed: &[u8]) -> Vec<PathBuf> {
    let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect()
}
