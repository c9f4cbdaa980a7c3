//! How a process ended. A signal is never a code, so that it can't be taken for success.

use std::fmt;

use rustix::process::WaitIdStatus;
use serde::{Deserialize, Serialize};

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
}

// === impl Exit ===

impl Exit {
    /// It ended by itself with code 0. This says nothing about whether work was done.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self == Self::Exited(0)
    }

    /// The code, if it ended by itself.
    #[must_use]
    pub fn code(self) -> Option<i32> {
        match self {
            Self::Exited(code) => Some(code),
            Self::Signalled(_) => None,
        }
    }

    /// The signal, if one ended it.
    #[must_use]
    pub fn signal(self) -> Option<i32> {
        match self {
            Self::Exited(_) => None,
            Self::Signalled(signal) => Some(signal),
        }
    }

    /// A status that is neither exit nor signal can't come from a wait for exits; it counts as SIGKILL.
    pub(crate) fn from_wait(status: &WaitIdStatus) -> Self {
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Self::Exited(code),
            (None, Some(signal)) => Self::Signalled(signal),
            (None, None) => Self::Signalled(9),
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit code {code}"),
            Self::Signalled(signal) => write!(f, "signal {signal}"),
        }
    }
}
