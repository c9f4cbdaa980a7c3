//! Why the dispatcher refuses or fails.

use protocol::error::Failure;

/// A refusal, or a failure of the world.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The dispatcher says no; nothing has changed.
    #[error("{0}")]
    Refused(Box<Failure>),
    /// The store could not answer.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// Git, a process or a file could not do its part.
    #[error(transparent)]
    Process(#[from] process::Error),
    /// A file of ours could not be read or written.
    #[error("{path} could not be read or written")]
    Io {
        /// Which file.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A record does not have the shape that it was written in.
    #[error("{what} does not have its own shape")]
    Shape {
        /// Which record.
        what: String,
        /// What serde says.
        #[source]
        source: serde_json::Error,
    },
    /// A row or an event that must be there is missing.
    #[error("{0} is missing from the record")]
    Missing(String),
    /// The run's own loop has ended, or the daemon is going down.
    #[error("the daemon is stopping")]
    Stopping,
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::Refused(Box::new(failure))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(failure) => *failure,
            Error::Store(error) => error.failure(),
            Error::Process(error) => error.failure(),
            Error::Io { ref path, ref source } => {
                let code = if source.kind() == std::io::ErrorKind::StorageFull { "io.disk-full" } else { "io.denied" };
                Self::new(code, error.to_string()).at(path.clone()).because(source)
            }
            Error::Shape { ref source, .. } => Self::new("internal.bug", error.to_string()).because(source),
            Error::Missing(_) => Self::new("internal.bug", error.to_string()),
            Error::Stopping => Self::new("daemon.unreachable", error.to_string()).hint("call again in a moment"),
        }
    }
}

/// Wraps an I/O error with its path.
pub(crate) fn io(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Error + use<> {
    let path = path.display().to_string();
    move |source| Error::Io { path, source }
}

/// Wraps a serde error with what was read or written.
pub(crate) fn shape(what: impl Into<String>) -> impl FnOnce(serde_json::Error) -> Error {
    let what = what.into();
    move |source| Error::Shape { what, source }
}
