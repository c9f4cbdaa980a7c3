//! Configuration of a store, and small types that it returns.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use switchboard_protocol::event::Lsn;
use switchboard_protocol::id::Digest;

use crate::{Clock, Finding, IoHook};

/// Path and resources of a store.
#[derive(Debug, Clone)]
pub struct Config {
    /// Path of the database file. It is stored with its `-wal` and `-shm`, its `.redo` and `.head`, and a `.lock` that
    /// is never deleted, in a folder that is created for the owner alone if it is missing. Must be on a local disk.
    pub path: PathBuf,
    /// Page cache of the write connection, in KiB; each read connection uses a thirty-second of it. Freed while the
    /// store is idle. Default 8,192.
    pub cache_kib: u32,
    /// Maximum number of batches that wait for the writer; a further one is answered with [`crate::Error::Busy`].
    /// Default 1,024.
    pub queue: usize,
    /// How long a write waits for another process that holds a lock on the database. After that, callers that need the
    /// lock get [`crate::Error::Contended`] until it is released. Default 5 s.
    pub lock_wait: Duration,
    /// Source of time.
    pub clock: Clock,
    /// Callback at every operation on the redo log's file; only disk simulations set it.
    pub io_hook: Option<Arc<dyn IoHook>>,
}

impl Config {
    /// Returns the defaults for a path.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            cache_kib: 8192,
            queue: 1024,
            lock_wait: Duration::from_secs(5),
            clock: Clock::system(),
            io_hook: None,
        }
    }
}

/// The end of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Head {
    /// Lsn of the last event; 0 in an empty log.
    pub lsn: Lsn,
    /// Hash of the last event, which covers the whole chain; zero in an empty log.
    pub hash: Digest,
}

/// Thoroughness of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checkpoint {
    /// Moves all pages that it can without waiting for readers.
    Passive,
    /// Moves all pages and truncates the WAL; waits briefly for readers.
    Truncate,
}

/// Result of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CheckpointStats {
    /// True if the whole WAL was moved.
    pub complete: bool,
    /// Number of pages in the WAL.
    pub pages: u64,
    /// Number of these pages that are in the database now.
    pub moved: u64,
}

/// Progress of the check in the background after the start. The start itself checks only events after the last clean
/// head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scan {
    /// The check is running.
    Running {
        /// Lsn of the last checked event.
        checked: Lsn,
        /// Lsn of the last event to check.
        of: Lsn,
    },
    /// The check found no damage.
    Whole,
    /// The check found damage; `switchboard verify` reports details.
    Damaged(Finding),
}
