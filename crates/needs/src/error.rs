//! Errors of questions.

use switchboard_protocol::error::Failure;

/// Why a question can't be read or answered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The question is unknown or settled, or has no such option.
    #[error("{}", .0.what)]
    Refused(Failure),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] switchboard_store::Error),
    /// A row of the table can't be read.
    #[error("a question's {what} can't be read")]
    BadRow {
        /// Name of the column.
        what: &'static str,
    },
    /// A fact or a reply does not serialise.
    #[error("a question does not serialise")]
    Shape(#[from] serde_json::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(failure) => failure,
            Error::Store(error) => error.failure(),
            Error::BadRow { .. } | Error::Shape(_) => Self::new("internal.bug", error.to_string()),
        }
    }
}
