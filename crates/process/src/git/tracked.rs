//! Files that git tracks, by their names.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use super::repo::Repo;
use crate::Result;

// === impl Repo ===

impl Repo {
    /// Files of the user's index with one of these names, in any folder; sorted.
    ///
    /// # Errors
    /// [`crate::Error::Git`].
    pub fn tracked_named<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<Vec<PathBuf>> {
        let patterns = names.into_iter().map(|name| format!(":(glob)**/{name}"));
        let args = ["ls-files", "-z", "--cached", "--full-name", "--"].map(str::to_owned);
        let listed = self.call(args.into_iter().chain(patterns)).bytes()?;
        let mut files: Vec<_> = listed
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty())
            .map(|path| PathBuf::from(OsStr::from_bytes(path)))
            .collect();
        files.sort();
        // A file in conflict stands there several times.
        files.dedup();
        Ok(files)
    }
}
