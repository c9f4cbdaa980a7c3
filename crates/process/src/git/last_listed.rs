//! Cache of git's last listing of an index, so that git is not started again while the index is unchanged.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// Length of the checksum at the end of an index with SHA-1, in bytes. That of SHA-256 is longer, so this reads its last part.
const CHECKSUM: usize = 20;

/// Size and checksum of an index.
pub(super) type IndexState = (u64, [u8; CHECKSUM]);

/// Files of an index with certain names, if they were listed before.
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

    /// Returns the earlier listing of this index for these names.
    pub(super) fn files(&self, index: IndexState, names: &[&str]) -> Option<Vec<PathBuf>> {
        let Listed { files, .. } = self.0.as_ref().filter(|listed| listed.index == index && listed.names == names)?;
        Some(files.clone())
    }
}

/// Returns the size of an index and the checksum that git writes at its end; `None` if there is no index, or git was configured to leave
/// the checksum out.
pub(super) fn checksum(index: &Path) -> Option<IndexState> {
    let mut file = File::open(index).ok()?;
    let size = file.metadata().ok()?.len();
    let mut sum = [0; CHECKSUM];
    file.seek(SeekFrom::Start(size.checked_sub(CHECKSUM as u64)?)).ok()?;
    file.read_exact(&mut sum).ok()?;
    (sum != [0; CHECKSUM]).then_some((size, sum))
}
