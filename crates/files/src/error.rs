//! Errors of the file protocol.

use switchboard_protocol::error::Failure;

/// Error with message files. The loop tries again with its next pass.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A refusal, or a failure of the daemon.
    #[error("{0}")]
    Refused(#[from] Failure),
    /// The bus failed.
    #[error(transparent)]
    Bus(#[from] switchboard_bus::Error),
    /// A row of the projection does not hold what the projector writes.
    #[error("the projection holds {what} that can't be read: {text:?}")]
    BadRow {
        /// Name of the field.
        what: &'static str,
        /// Content of the field.
        text: String,
    },
    /// A file or folder could not be used.
    #[error("a file could not be used")]
    Io(#[from] std::io::Error),
    /// A file or an event does not serialise: a defect of its type.
    #[error("a file does not serialise")]
    Shape(#[from] serde_json::Error),
}

impl From<switchboard_store::Error> for Error {
    fn from(error: switchboard_store::Error) -> Self {
        Self::Bus(error.into())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(failure) => failure,
            Error::Bus(error) => error.into(),
            Error::Io(error) => Self::new("io.denied", "a message file could not be used").because(&error),
            Error::BadRow { .. } | Error::Shape(_) => Self::new("internal.bug", error.to_string()),
        }
    }
}
