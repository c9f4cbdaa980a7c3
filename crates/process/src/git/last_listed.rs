//! What git listed last of an index, so that it is not started again as long as nobody writes to the index.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes of the checksum at the end of an index, of SHA-1. That of SHA-256 is longer, so that this is its end.
const CHECKSUM: usize = 20;

/// The size of an index and its checksum.
pub(super) type IndexState = (u64, [u8; CHECKSUM]);

/// Files of an index that have some names, if they were asked for.
#[derive(Debug, Default)]
pub(super) struct LastListed(Option<Listed>);

#[derive(Debug)]
struct Listed {
    index: IndexState,
    names: Vec<String>,
    files: Vec<PathBuf>,
}

// === impl LastListed ===

impl LastListed {
    pub(super) fn new(index: IndexState, names: &[&str], files: &[PathBuf]) -> Self {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Self(Some(Listed { index, names, files: files.to_vec() }))
    }

    /// What was listed of this index for these names.
    pub(super) fn files(&self, index: IndexState, names: &[&str]) -> Option<Vec<PathBuf>> {
        let Listed { files, .. } = self.0.as_ref().filter(|listed| listed.index == index && listed.names == names)?;
        Some(files.clone())
    }
}

/// The size of an index and the checksum that git writes at its end; `None` where there is none, or git was told to leave it out.
pub(super) fn checksum(index: &Path) -> Option<IndexState> {
    let mut file = File::open(index).ok()?;
    let size = file.metadata().ok()?.len();
    let mut sum = [0; CHECKSUM];
    file.seek(SeekFrom::Start(size.checked_sub(CHECKSUM as u64)?)).ok()?;
    file.read_exact(&mut sum).ok()?;
    (sum != [0; CHECKSUM]).then_some((size, sum))
}
