//! Errors of the store, and the failures that users see for them.

use std::path::PathBuf;

use switchboard_protocol::error::Failure;
use switchboard_protocol::event::Lsn;

/// An error of the store.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The writer's queue is full; nothing was written.
    #[error("the store's queue is full")]
    Busy,
    /// Another process holds a lock on the database; nothing was written, and the store continues to work.
    #[error("another process holds a lock on the database")]
    Contended,
    /// A guard didn't hold; nothing was written.
    #[error(transparent)]
    Refused(Box<Failure>),
    /// A subject has another revision than expected; nothing was written.
    #[error("{subject} is at revision {found}, not {expected}")]
    Conflict {
        /// The subject.
        subject: String,
        /// Revision that the batch expected.
        expected: u64,
        /// Actual revision.
        found: u64,
    },
    /// The idempotency key was used with another verb or other arguments; nothing was written.
    #[error("the key {key:?} was used before for {verb} with other arguments")]
    KeyReused {
        /// The key.
        key: String,
        /// The verb of the first call.
        verb: String,
    },
    /// The batch was decided in an earlier epoch; nothing was written.
    #[error("the store is in epoch {current}, the batch is of epoch {given}")]
    StaleEpoch {
        /// Epoch of the batch.
        given: u64,
        /// Epoch of the store.
        current: u64,
    },
    /// Facts, a body, a reply or a name exceeds its limit; nothing was written.
    #[error("{what}: {size} {unit}, at most {limit} are allowed")]
    TooLarge {
        /// What is too large, with the event's kind and subject.
        what: String,
        /// Size, in the unit.
        size: usize,
        /// Limit, in the unit.
        limit: usize,
        /// What is counted: `bytes`, `events`, `levels of nesting`.
        unit: &'static str,
    },
    /// A cursor lies beyond the head of the log: it belongs to another chain or to a later state of this one.
    #[error("the cursor {cursor} is ahead of the log, which ends at {head}")]
    Ahead {
        /// Lsn of the cursor.
        cursor: Lsn,
        /// Lsn of the head.
        head: Lsn,
    },
    /// The search query is invalid.
    #[error("the search can't be made: {0}")]
    Query(String),
    /// A declaration, a change or a query doesn't fit the tables: a defect of the part that made it.
    #[error("table {table}: {what}")]
    Schema {
        /// Name of the table.
        table: String,
        /// What doesn't fit.
        what: String,
    },
    /// A row lacks a column that its reader needs: the projector and its reader disagree.
    #[error("column {column} should hold {wanted}")]
    Column {
        /// Name of the column.
        column: String,
        /// Expected type of the value.
        wanted: &'static str,
    },
    /// Another process owns the store.
    #[error("{} is owned by {holder}", path.display())]
    Locked {
        /// Path of the database.
        path: PathBuf,
        /// Process id and address of the owner, as far as known.
        holder: String,
    },
    /// The file is not on a local disk, where locks and syncs are reliable.
    #[error("{} lies on {kind}, a network file system", path.display())]
    NetworkFileSystem {
        /// Path of the database.
        path: PathBuf,
        /// Type of the file system.
        kind: String,
    },
    /// The record is damaged.
    #[error("{place}: {what}")]
    Corrupt {
        /// The file, or the event by lsn, kind and subject.
        place: String,
        /// Description of the damage.
        what: String,
    },
    /// The file was written by a newer version of this program.
    #[error("{} has format {found}, this version reads up to {known}", path.display())]
    Newer {
        /// Path of the database.
        path: PathBuf,
        /// Format of the file.
        found: i64,
        /// Newest format that this version supports.
        known: i64,
    },
    /// The disk is full; nothing was written, and the store continues to work.
    #[error("the disk is full")]
    DiskFull,
    /// A file or folder could not be read or written.
    #[error("{what}: {source}")]
    Io {
        /// The attempted operation.
        what: String,
        /// The cause.
        #[source]
        source: std::sync::Arc<std::io::Error>,
    },
    /// A write or sync failed, so the content on disk is unknown. The handle is unusable: reopen the store and read its
    /// content.
    #[error("the store failed and must be reopened: {0}")]
    Fatal(String),
    /// The store has been closed.
    #[error("the store is closed")]
    Closed,
    /// SQLite refused a statement: a defect of this crate.
    #[error("the database refused: {0}")]
    Database(String),
}

impl Error {
    /// Returns the failure that users see.
    #[must_use]
    pub fn failure(&self) -> Failure {
        if let Self::Refused(failure) = self {
            return (**failure).clone();
        }
        let (code, hint) = self.code();
        let failure = Failure::new(code, self.to_string()).hint(hint);
        match self {
            Self::Corrupt { place, .. } => failure.at(place.clone()),
            Self::Locked { path, .. } | Self::NetworkFileSystem { path, .. } | Self::Newer { path, .. } => {
                failure.at(path.display().to_string())
            }
            Self::Busy
            | Self::Contended
            | Self::Refused(_)
            | Self::Conflict { .. }
            | Self::KeyReused { .. }
            | Self::StaleEpoch { .. }
            | Self::TooLarge { .. }
            | Self::Ahead { .. }
            | Self::Query(_)
            | Self::Schema { .. }
            | Self::Column { .. }
            | Self::DiskFull
            | Self::Io { .. }
            | Self::Fatal(_)
            | Self::Closed
            | Self::Database(_) => failure,
        }
    }

    fn code(&self) -> (&'static str, &'static str) {
        match self {
            Self::Busy => ("store.busy", "try again in a moment"),
            Self::Contended => ("store.busy", "end the process that has store.db open, or try again when it has ended"),
            Self::Refused(_) | Self::Schema { .. } | Self::Column { .. } | Self::Database(_) => {
                ("internal.bug", "please report it with the daemon's log")
            }
            Self::Conflict { .. } | Self::StaleEpoch { .. } => {
                ("store.conflict", "read the current state and decide again")
            }
            Self::KeyReused { .. } => ("request.conflict", "use a new key for a new call"),
            Self::TooLarge { .. } => ("store.too-large", "put large text into a file and send its path"),
            Self::Ahead { .. } => ("store.conflict", "start again from the current head"),
            Self::Query(_) => {
                ("request.bad-args", "name words, \"phrases in quotes\", beginnings* and -words that must not occur")
            }
            Self::Locked { .. } => ("store.locked", "use that daemon, or stop it with `switchboard down`"),
            Self::NetworkFileSystem { .. } => {
                ("store.network-file-system", "set XDG_STATE_HOME to a folder on a local disk")
            }
            Self::Corrupt { .. } => (
                "store.corrupt",
                "keep a copy of the folder; `switchboard verify --no-daemon` names what is damaged, `switchboard restore FILE` puts a backup back",
            ),
            Self::Newer { .. } => ("daemon.other-version", "use the version that wrote it, or a newer one"),
            Self::DiskFull => ("io.disk-full", "free some space and try again"),
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::AlreadyExists => {
                ("io.denied", "name a file that is not there yet")
            }
            Self::Io { .. } => ("io.denied", "check that the folder belongs to you and may be written"),
            Self::Fatal(_) => ("store.fatal", "run `switchboard restart`"),
            Self::Closed => ("daemon.unreachable", "the daemon is stopping: call again in a moment"),
        }
    }

    /// Wraps an error of the file system.
    pub(crate) fn io(what: impl Into<String>, source: std::io::Error) -> Self {
        Self::Io { what: what.into(), source: std::sync::Arc::new(source) }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::Refused(Box::new(failure))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        error.failure()
    }
}
