//! A callback at every operation on the redo log's file, to simulate a disk that fails or loses power.

use std::io;
use std::path::Path;

/// Operation on the file.
#[derive(Debug, Clone, Copy)]
pub enum IoEvent<'a> {
    /// The file is opened.
    Open,
    /// Bytes are written.
    Write {
        /// Offset of the first byte.
        offset: u64,
        /// Bytes to write.
        data: &'a [u8],
    },
    /// The file is truncated, or extended by zeros.
    Resize {
        /// New length in bytes.
        length: u64,
    },
    /// Earlier writes are synced to the disk.
    Sync,
}

/// Callback at every operation on the redo log's file. SQLite's VFS serves the same purpose for SQLite's own files.
pub trait IoHook: std::fmt::Debug + Send + Sync {
    /// Called before the operation.
    ///
    /// # Errors
    /// Makes the operation fail with this error.
    fn before(&self, path: &Path, what: IoEvent<'_>) -> io::Result<()>;

    /// Called after the operation.
    fn after(&self, path: &Path, what: IoEvent<'_>);
}
