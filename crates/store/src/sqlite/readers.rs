//! The pool of read-only connections.

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use super::file;
use crate::Error;
use crate::core::lock;

/// Connections for short reads.
const POOL: usize = 2;

/// How long a read waits for a connection.
const WAIT: Duration = Duration::from_secs(5);

/// A few read-only connections that take turns.
pub(super) struct Readers {
    path: PathBuf,
    cache_kib: u32,
    idle: Mutex<Vec<Connection>>,
    back: Condvar,
}

// === impl Readers ===

impl Readers {
    pub(super) fn open(path: &Path, cache_kib: u32) -> Result<Self, Error> {
        let idle = (0..POOL).map(|_| file::open_reader(path, cache_kib)).collect::<Result<_, _>>()?;
        Ok(Self { path: path.to_owned(), cache_kib, idle: Mutex::new(idle), back: Condvar::new() })
    }

    /// Lends a connection for one short read.
    pub(super) fn with<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<T, Error> {
        let idle = lock(&self.idle);
        let (mut idle, _) =
            self.back.wait_timeout_while(idle, WAIT, |idle| idle.is_empty()).unwrap_or_else(PoisonError::into_inner);
        let connection = idle.pop().ok_or(Error::Busy)?;
        drop(idle);
        let lent = PooledReader { readers: self, connection: Some(connection) };
        lent.connection.as_ref().map_or(Err(Error::Busy), read)
    }

    /// Has the connections that are idle give up what they cache.
    pub(super) fn shrink(&self) {
        lock(&self.idle).iter().for_each(super::back::shrink);
    }

    /// A connection of its own, for a read that takes long.
    pub(super) fn separate(&self) -> Result<Connection, Error> {
        file::open_reader(&self.path, self.cache_kib)
    }
}

/// Goes back into the pool whatever happens.
struct PooledReader<'a> {
    readers: &'a Readers,
    connection: Option<Connection>,
}

impl Drop for PooledReader<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            lock(&self.readers.idle).push(connection);
            self.readers.back.notify_one();
        }
    }
}
