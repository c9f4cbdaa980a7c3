//! Errors of the bus.

use switchboard_protocol::error::Failure;

/// A refusal, or a failure of the store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bus or a guard refused; nothing has changed.
    #[error("{0}")]
    Refused(Failure),
    /// The store failed.
    #[error(transparent)]
    Store(switchboard_store::Error),
    /// A row of the projection does not hold what the projector writes.
    #[error("the projection holds {what} that can't be read: {text:?}")]
    BadRow {
        /// Name of the field.
        what: &'static str,
        /// Content of the field.
        text: String,
    },
    /// A fact does not serialise: a defect of its type.
    #[error("an event does not serialise")]
    Fact(#[from] serde_json::Error),
}

/// Converts a guard's refusal into one of the bus.
impl From<switchboard_store::Error> for Error {
    fn from(error: switchboard_store::Error) -> Self {
        if let switchboard_store::Error::Refused(failure) = error {
            Self::Refused(*failure)
        } else {
            Self::Store(error)
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(failure) => failure,
            Error::Store(error) => error.failure(),
            Error::BadRow { .. } | Error::Fact(_) => Self::new("internal.bug", error.to_string()),
        }
    }
}

pub(crate) fn refuse<T>(failure: Failure) -> Result<T, Error> {
    Err(Error::Refused(failure))
}
