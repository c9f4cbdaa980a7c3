//! How a store is opened, and the small values that it answers with.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use switchboard_protocol::event::Lsn;
use switchboard_protocol::id::Digest;

use crate::{Clock, Finding, IoHook};

/// Path and resources of a store.
#[derive(Debug, Clone)]
pub struct Config {
    /// The database file. It, its `-wal` and `-shm`, its `.redo` and `.head`, and a `.lock` that is never deleted lie in a folder that is made
    /// for the owner alone when it is missing. Must be on a local disk.
    pub path: PathBuf,
    /// Page cache of the connection that writes, in KiB; each of those that read takes a thirty-second
    /// part. Given back when nothing happens. Default 8,192.
    pub cache_kib: u32,
    /// Batches that may wait for the writer; one more is answered with [`crate::Error::Busy`]. Default 1,024.
    pub queue: usize,
    /// How long a write waits for another process that holds a lock on the database; then who needs it is answered with
    /// [`crate::Error::Contended`], and so is everybody else until the lock is gone. Default 5 s.
    pub lock_wait: Duration,
    /// Where the time comes from.
    pub clock: Clock,
    /// Called at every operation on the redo log's file; only disk simulations set it.
    pub io_hook: Option<Arc<dyn IoHook>>,
}

impl Config {
    /// The defaults for a path.
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
    /// The last event; 0 in an empty log.
    pub lsn: Lsn,
    /// Its hash, which stands for the whole chain; zero in an empty log.
    pub hash: Digest,
}

/// How thoroughly to checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checkpoint {
    /// Moves what it can without waiting for readers.
    Passive,
    /// Moves everything and cuts the WAL to nothing, waiting a moment for readers.
    Truncate,
}

/// What a checkpoint did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CheckpointStats {
    /// Whether the whole WAL was moved.
    pub complete: bool,
    /// Pages in the WAL.
    pub pages: u64,
    /// Pages of it that are in the database now.
    pub moved: u64,
}

/// How far the check behind the start has come. The start itself checks only what is newer than the last clean head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scan {
    /// At work.
    Running {
        /// Checked up to this event.
        checked: Lsn,
        /// Of so many.
        of: Lsn,
    },
    /// Everything was as it was written.
    Whole,
    /// Something was not; `switchboard verify` says more.
    Damaged(Finding),
}
