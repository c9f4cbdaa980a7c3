//! The pool of read-only connections.

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use super::file;
use crate::Error;
use crate::core::lock;

/// Number of connections for short reads.
const POOL: usize = 2;

/// How long a read waits for a connection.
const WAIT: Duration = Duration::from_secs(5);

/// A few shared read-only connections.
pub(super) struct Readers {
    path: PathBuf,
    cache_kib: u32,
    idle: Mutex<Idle>,
    back: Condvar,
}

struct Idle {
    connections: Vec<Connection>,
    /// Number of reads that wait for a connection; avoids a system call if there are none to wake.
    waiting: usize,
}

// === impl Readers ===

impl Readers {
    pub(super) fn open(path: &Path, cache_kib: u32) -> Result<Self, Error> {
        let connections = (0..POOL).map(|_| file::open_reader(path, cache_kib)).collect::<Result<_, _>>()?;
        let idle = Mutex::new(Idle { connections, waiting: 0 });
        Ok(Self { path: path.to_owned(), cache_kib, idle, back: Condvar::new() })
    }

    /// Calls `read` with a pooled connection, for one short read.
    pub(super) fn with<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<T, Error> {
        let mut idle = lock(&self.idle);
        idle.waiting += 1;
        let waited = self.back.wait_timeout_while(idle, WAIT, |idle| idle.connections.is_empty());
        let (mut idle, _) = waited.unwrap_or_else(PoisonError::into_inner);
        idle.waiting -= 1;
        let connection = idle.connections.pop().ok_or(Error::Busy)?;
        drop(idle);
        let lent = PooledReader { readers: self, connection: Some(connection) };
        lent.connection.as_ref().map_or(Err(Error::Busy), read)
    }

    /// Frees the caches of idle connections.
    pub(super) fn shrink(&self) {
        lock(&self.idle).connections.iter().for_each(super::back::shrink);
    }

    /// Opens a separate connection, for a read that takes long.
    pub(super) fn separate(&self) -> Result<Connection, Error> {
        file::open_reader(&self.path, self.cache_kib)
    }
}

/// Returns its connection to the pool when dropped.
struct PooledReader<'a> {
    readers: &'a Readers,
    connection: Option<Connection>,
}

impl Drop for PooledReader<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            let mut idle = lock(&self.readers.idle);
            idle.connections.push(connection);
            if idle.waiting > 0 {
                self.readers.back.notify_one();
            }
        }
    }
}
