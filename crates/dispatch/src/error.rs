//! Errors of the dispatcher.

use switchboard_protocol::error::Failure;

/// A refusal, or a failure of the environment.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The dispatcher refuses the request; nothing has changed.
    #[error("{0}")]
    Refused(Box<Failure>),
    /// The run has gone on, so what was to be recorded no longer applies.
    #[error("{0}")]
    Superseded(Box<Failure>),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] switchboard_store::Error),
    /// Git, a process or a file operation failed.
    #[error(transparent)]
    Process(#[from] switchboard_process::Error),
    /// One of our files could not be read or written.
    #[error("{path} could not be read or written")]
    Io {
        /// Path of the file.
        path: String,
        /// Cause of the failure.
        #[source]
        source: std::io::Error,
    },
    /// A record does not have its expected form.
    #[error("{what} does not have its own shape")]
    Shape {
        /// Name of the record.
        what: String,
        /// Error of serde.
        #[source]
        source: serde_json::Error,
    },
    /// A row or an event that must be there is missing.
    #[error("{0} is missing from the record")]
    Missing(String),
    /// The run's engine has ended, or the daemon is shutting down.
    #[error("the daemon is stopping")]
    Stopping,
}

impl From<switchboard_needs::Error> for Error {
    fn from(error: switchboard_needs::Error) -> Self {
        match error {
            switchboard_needs::Error::Store(error) => Self::Store(error),
            other @ (switchboard_needs::Error::Refused(_)
            | switchboard_needs::Error::BadRow { .. }
            | switchboard_needs::Error::Shape(_)) => Failure::from(other).into(),
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::Refused(Box::new(failure))
    }
}

impl Error {
    /// Returns the failure that faces show.
    #[must_use]
    pub fn to_failure(&self) -> Failure {
        match self {
            Self::Refused(failure) | Self::Superseded(failure) => (**failure).clone(),
            Self::Store(error) => error.failure(),
            Self::Process(error) => error.failure(),
            Self::Io { path, source } => {
                use std::io::ErrorKind::{QuotaExceeded, StorageFull};
                let is_full = matches!(source.kind(), StorageFull | QuotaExceeded);
                let code = if is_full { "io.disk-full" } else { "io.denied" };
                Failure::new(code, self.to_string()).at(path.clone()).because(source)
            }
            Self::Shape { source, .. } => Failure::new("internal.bug", self.to_string()).because(source),
            Self::Missing(_) => Failure::new("internal.bug", self.to_string()),
            Self::Stopping => Failure::new("daemon.unreachable", self.to_string()).hint("call again in a moment"),
        }
    }
}

impl Error {
    /// Returns true if the disk was full.
    pub(crate) fn is_disk_full(&self) -> bool {
        self.to_failure().code == "io.disk-full"
    }

    /// Returns true if the same may succeed later: the disk is full, or the store can't take it now.
    pub(crate) fn may_pass(&self) -> bool {
        self.is_disk_full() || self.is_busy() || matches!(self, Self::Store(error) if is_transient(error))
    }

    /// Returns true if the store is busy and may answer in a moment.
    pub(crate) fn is_busy(&self) -> bool {
        self.to_failure().code == "store.busy"
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        error.to_failure()
    }
}

/// Returns true if the same commit may succeed later: nothing was written, and the commit itself is valid.
pub(crate) fn is_transient(error: &switchboard_store::Error) -> bool {
    use switchboard_store::Error as Store;
    match error {
        Store::Busy | Store::Contended | Store::DiskFull | Store::Conflict { .. } => true,
        Store::Refused(_)
        | Store::KeyReused { .. }
        | Store::StaleEpoch { .. }
        | Store::TooLarge { .. }
        | Store::Ahead { .. }
        | Store::Query(_)
        | Store::Schema { .. }
        | Store::Column { .. }
        | Store::Locked { .. }
        | Store::NetworkFileSystem { .. }
        | Store::Corrupt { .. }
        | Store::Newer { .. }
        | Store::Io { .. }
        | Store::Fatal(_)
        | Store::Closed
        | Store::Database(_) => false,
    }
}

/// Wraps an I/O error with its path.
pub(crate) fn io(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Error + use<> {
    let path = path.display().to_string();
    move |source| Error::Io { path, source }
}

/// Wraps a serde error with the name of what was read or written.
pub(crate) fn shape(what: impl Into<String>) -> impl FnOnce(serde_json::Error) -> Error {
    let what = what.into();
    move |source| Error::Shape { what, source }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    #[test]
    fn a_disk_without_room_is_told_from_a_path_that_can_not_be_used() {
        let code = |kind: ErrorKind| io(std::path::Path::new("/state"))(kind.into()).to_failure().code;

        assert_eq!([ErrorKind::StorageFull, ErrorKind::QuotaExceeded].map(code), ["io.disk-full"; 2]);
        assert_eq!([ErrorKind::PermissionDenied, ErrorKind::NotFound].map(code), ["io.denied"; 2]);
    }
}
