//! The owner's lock on the store, in a file beside the database.

use std::path::{Path, PathBuf};

use switchboard_process::Error as ProcessError;
use switchboard_process::lock::{self, Holder};

use crate::Error;

/// The lock, held as long as this value lives.
#[derive(Debug)]
pub(crate) struct Lock(lock::Lock);

// === impl Lock ===

impl Lock {
    /// Takes the lock beside a database, or fails with the name of its owner.
    pub(crate) fn take(database: &Path) -> Result<Self, Error> {
        lock::Lock::take(&path_of(database), "").map(Self).map_err(|error| lifted(error, database))
    }

    /// Records the address at which the owner can be reached.
    pub(crate) fn announce(&mut self, address: &str) -> Result<(), Error> {
        self.0.note(address).map_err(|error| Error::io("could not write the owner into the lock file", other(error)))
    }
}

fn lifted(error: ProcessError, database: &Path) -> Error {
    if let ProcessError::Held { holder, .. } = error {
        return Error::Locked { path: database.to_owned(), holder: holder.map_or_else(unknown, shown) };
    }
    Error::io(format!("could not lock {}", database.display()), other(error))
}

fn other(error: ProcessError) -> std::io::Error {
    if let ProcessError::Io { source, .. } = error { source } else { std::io::Error::other(error) }
}

fn unknown() -> String {
    "another process".to_owned()
}

fn shown(holder: Holder) -> String {
    let Holder { pid, extra, .. } = holder;
    if extra.is_empty() { format!("process {pid}") } else { format!("process {pid} at {extra}") }
}

/// Returns the path `<db>.lock`.
fn path_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}
