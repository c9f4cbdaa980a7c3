//! Files that git tracks.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use super::repo::Repo;
use super::types::Oid;
use crate::Result;

/// Bytes of the checksum at the end of an index, of SHA-1. That of SHA-256 is longer, so that this is its end.
const CHECKSUM: usize = 20;

/// What git listed last of an index, so that it is not started again as long as nobody writes to the index.
#[derive(Debug, Default)]
pub(super) struct Tracked(Option<Listed>);

#[derive(Debug)]
struct Listed {
    index: (u64, [u8; CHECKSUM]),
    names: Vec<String>,
    files: Vec<PathBuf>,
}

// === impl Tracked ===

impl Tracked {
    fn files(&self, index: (u64, [u8; CHECKSUM]), names: &[&str]) -> Option<Vec<PathBuf>> {
        let Listed { files, .. } = self.0.as_ref().filter(|listed| listed.index == index && listed.names == names)?;
        Some(files.clone())
    }
}

// === impl Repo ===

impl Repo {
    /// Files of the user's index with one of these names, in any folder; sorted.
    ///
    /// # Errors
    /// [`crate::Error::Git`].
    pub fn tracked_named<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<Vec<PathBuf>> {
        let names: Vec<_> = names.into_iter().collect();
        let index = checksum(&self.git_dir.join("index"));
        let mut tracked = self.tracked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(files) = index.and_then(|index| tracked.files(index, &names)) {
            return Ok(files);
        }
        let files = self.list_named(&names)?;
        let names = names.into_iter().map(str::to_owned).collect();
        // Where somebody writes the index while git reads it, what git said may be of either.
        let is_same = index == checksum(&self.git_dir.join("index"));
        tracked.0 = index.filter(|_| is_same).map(|index| Listed { index, names, files: files.clone() });
        Ok(files)
    }

    fn list_named(&self, names: &[&str]) -> Result<Vec<PathBuf>> {
        let patterns = names.iter().map(|name| format!(":(glob)**/{name}"));
        let args = ["ls-files", "-z", "--cached", "--full-name", "--"].map(str::to_owned);
        let listed = self.call(args.into_iter().chain(patterns)).bytes()?;
        let mut files = paths(&listed);
        files.sort();
        // A file in conflict stands there several times.
        files.dedup();
        Ok(files)
    }

    /// The files of a commit, from the root of the repository.
    ///
    /// # Errors
    /// [`crate::Error::Git`], also when there is no such commit.
    pub fn files_of(&self, commit: &Oid) -> Result<Vec<PathBuf>> {
        let args = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit.as_str()].map(str::to_owned);
        Ok(paths(&self.call(args).bytes()?))
    }
}

/// The size of an index and the checksum that git writes at its end; `None` where there is none, or git was told to leave it out.
fn checksum(index: &Path) -> Option<(u64, [u8; CHECKSUM])> {
    let mut file = File::open(index).ok()?;
    let size = file.metadata().ok()?.len();
    let mut sum = [0; CHECKSUM];
    file.seek(SeekFrom::Start(size.checked_sub(CHECKSUM as u64)?)).ok()?;
    file.read_exact(&mut sum).ok()?;
    (sum != [0; CHECKSUM]).then_some((size, sum))
}

/// Paths that end with NUL.
fn paths(listed: &[u8]) -> Vec<PathBuf> {
    let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect()
}
