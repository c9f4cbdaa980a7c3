//! A callback at every operation on the redo log's file, to simulate a disk that fails or loses power.

use std::io;
use std::path::Path;

/// What is done to the file.
#[derive(Debug, Clone, Copy)]
pub enum IoEvent<'a> {
    /// It is opened.
    Open,
    /// Bytes are written.
    Write {
        /// From which byte on.
        offset: u64,
        /// Which.
        data: &'a [u8],
    },
    /// It is cut, or grows by zeros.
    Resize {
        /// To how many bytes.
        length: u64,
    },
    /// What was written before is put on the disk.
    Sync,
}

/// Is called at every operation on the redo log's file. For SQLite's own files, SQLite's VFS does the same.
pub trait IoHook: std::fmt::Debug + Send + Sync {
    /// Before it is done.
    ///
    /// # Errors
    /// Makes it fail with this error instead.
    fn before(&self, path: &Path, what: IoEvent<'_>) -> io::Result<()>;

    /// After it was done.
    fn after(&self, path: &Path, what: IoEvent<'_>);
}
