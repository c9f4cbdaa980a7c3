//! Room for the write-ahead log: a file that grows with each commit costs a second trip to the disk each time, for its size.
//!
//! The writer puts zeros behind the log's end, between transactions. Nobody takes zeros for frames: a frame carries a page number
//! that is not 0, the log's salt and a checksum.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// Bytes that are added at once: cheap enough for a store that is hardly used.
const STEP: usize = 512 << 10;

/// Bytes that a group of commits may need before there is time to make room again.
const MARGIN: u64 = 128 << 10;

/// Bytes of a frame: its header and a page.
const FRAME: u64 = 24 + 4096;

/// The file and how long it is known to be.
pub(super) struct Room {
    path: PathBuf,
    file: Option<File>,
    length: u64,
}

// === impl Room ===

impl Room {
    pub(super) fn new(database: &Path) -> Self {
        let mut name = database.as_os_str().to_owned();
        name.push("-wal");
        Self { path: PathBuf::from(name), file: None, length: 0 }
    }

    /// Makes room behind so many frames. Without it the log works, only slower: trouble with the disk is met by the next commit.
    pub(super) fn make(&mut self, frames: u64) {
        let needed = frames.saturating_mul(FRAME) + MARGIN;
        if frames == 0 || needed <= self.length {
            return;
        }
        if let Err(error) = self.extend(needed) {
            tracing::debug!(%error, "no room was made for the write-ahead log");
        }
    }

    /// The log was cut.
    pub(super) fn forget(&mut self) {
        self.length = 0;
    }

    fn extend(&mut self, needed: u64) -> std::io::Result<()> {
        let file = match self.file.take() {
            Some(file) => file,
            None => OpenOptions::new().write(true).open(&self.path)?,
        };
        let file = self.file.insert(file);
        let length = file.metadata()?.len();
        self.length = length;
        if needed > length {
            file.write_all_at(&vec![0; STEP], length)?;
            self.length = length + STEP as u64;
        }
        Ok(())
    }
}
