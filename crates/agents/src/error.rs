//! The errors of this crate, each with its code of the error table.

use switchboard_protocol::error::Failure;

/// A failure of a driver, the shim or the scripted agent.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A spawn or a file operation of ours failed.
    #[error(transparent)]
    Process(#[from] switchboard_process::Error),
    /// The agent can't be driven.
    #[error("{what}")]
    Agent {
        /// Code of the error table, `agent.…`.
        code: &'static str,
        /// What happened.
        what: String,
    },
    /// The worker's spec can't be used.
    #[error("the spec of the worker can't be used: {why}")]
    Spec {
        /// What is wrong with the spec.
        why: String,
    },
    /// The script can't be used.
    #[error("the script can't be used: {why}")]
    Script {
        /// What is wrong with the script, with its line if it is known.
        why: String,
    },
    /// A file could not be handled.
    #[error("could not {what}")]
    Io {
        /// Operation that failed: verb and object.
        what: String,
        /// Error of the system.
        #[source]
        source: std::io::Error,
    },
}

// === impl Error ===

impl Error {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// Returns the code of the error table.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Process(error) => error.code(),
            Self::Agent { code, .. } => code,
            Self::Spec { .. } => "agent.spawn",
            Self::Script { .. } => "config.syntax",
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => "io.disk-full",
            Self::Io { .. } => "io.denied",
        }
    }

    /// Returns the failure that every face shows, with its causes.
    #[must_use]
    pub fn failure(&self) -> Failure {
        match self {
            Self::Process(error) => error.failure(),
            Self::Agent { .. } | Self::Spec { .. } | Self::Script { .. } | Self::Io { .. } => {
                let failure = Failure::new(self.code(), self.to_string());
                std::error::Error::source(self).map_or(failure.clone(), |source| failure.because(source))
            }
        }
    }
}
