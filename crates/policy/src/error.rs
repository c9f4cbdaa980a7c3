//! Errors of a policy.

use std::path::PathBuf;

use switchboard_protocol::error::Failure;
use switchboard_protocol::text::cut;

/// Reason for which a policy does not load.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file can't be read.
    #[error("the policy file {path} can't be read")]
    Read {
        /// Path of the file or folder.
        path: PathBuf,
        /// Error of the system.
        #[source]
        source: std::io::Error,
    },
    /// A file is not a plain file or too large, or there are too many.
    #[error("{file}: {why}")]
    Unfit {
        /// Name of the file or folder.
        file: String,
        /// Fault of the file.
        why: String,
    },
    /// The rules do not parse or do not compile.
    #[error("the policy does not compile: {why}")]
    Syntax {
        /// File, line and column.
        place: String,
        /// Message of the compiler, without the text of the file.
        why: String,
    },
    /// A project's file does more than deny.
    #[error("a project's policy may hold `deny` rules of package switchboard.project only")]
    Widens {
        /// File and line.
        place: String,
    },
}

impl Error {
    /// Returns the failure that faces show.
    #[must_use]
    pub fn to_failure(&self) -> Failure {
        let failure = Failure::new("policy.invalid", self.to_string());
        match self {
            Self::Read { source, .. } => failure.because(source),
            Self::Unfit { .. } => failure,
            Self::Syntax { place, .. } => {
                failure.at(place.clone()).hint("correct the file; until then every call is refused")
            }
            Self::Widens { place } => failure
                .at(place.clone())
                .hint("write `deny contains \"why\" if { … }`; what allows belongs into your own policy folder"),
        }
    }

    /// Extracts position and reason from a compiler's message, which also quotes the file; a quote could contain a
    /// secret.
    pub(crate) fn syntax(file: &str, message: &str) -> Self {
        let place = message.lines().find_map(|line| line.trim().strip_prefix("--> ")).unwrap_or(file);
        let why = message
            .lines()
            .rev()
            .find_map(|line| line.trim().strip_prefix("error: "))
            .unwrap_or("it does not follow the language");
        Self::Syntax { place: place.to_owned(), why: cut(why, 200) }
    }
}
