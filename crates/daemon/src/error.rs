//! Errors of the daemon's start and of its faces.

use switchboard_protocol::error::Failure;

/// An error outside of verbs.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A refusal with a code.
    #[error("{0}")]
    Refused(Box<Failure>),
    /// The store could not be opened or did not answer.
    #[error(transparent)]
    Store(#[from] switchboard_store::Error),
    /// Git or a process failed.
    #[error(transparent)]
    Process(#[from] switchboard_process::Error),
    /// The dispatcher failed.
    #[error(transparent)]
    Dispatch(#[from] switchboard_dispatch::Error),
    /// A file or socket of ours could not be used.
    #[error("{path} can't be read or written")]
    Io {
        /// Path of the file or socket.
        path: String,
        /// Error of the system.
        #[source]
        source: std::io::Error,
    },
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::Refused(Box::new(failure))
    }
}

impl Error {
    /// Converts the error to the failure that faces show.
    #[must_use]
    pub fn to_failure(&self) -> Failure {
        match self {
            Self::Refused(failure) => (**failure).clone(),
            Self::Store(error) => error.failure(),
            Self::Process(error) => error.failure(),
            Self::Dispatch(error) => error.to_failure(),
            Self::Io { path, source } => {
                let code = if source.kind() == std::io::ErrorKind::StorageFull { "io.disk-full" } else { "io.denied" };
                Failure::new(code, "a file or folder of Switchboard's can't be read or written")
                    .at(path.clone())
                    .because(source)
            }
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        error.to_failure()
    }
}

pub(crate) fn io(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Error + use<> {
    let path = path.display().to_string();
    move |source| Error::Io { path, source }
}
