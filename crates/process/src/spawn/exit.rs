//! Exit of a process. A signal is never a code, so that it can't be mistaken for success.

use std::fmt;

use rustix::process::WaitIdStatus;
use serde::{Deserialize, Serialize};

/// Exit of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// Exited by itself, with this code.
    Exited(i32),
    /// Ended by this signal.
    Signalled(i32),
}

// === impl Exit ===

impl Exit {
    /// Returns true if it exited by itself with code 0, which is no proof that work was done.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self == Self::Exited(0)
    }

    /// Returns the code, if it exited by itself.
    #[must_use]
    pub fn code(self) -> Option<i32> {
        match self {
            Self::Exited(code) => Some(code),
            Self::Signalled(_) => None,
        }
    }

    /// Returns the signal, if one ended it.
    #[must_use]
    pub fn signal(self) -> Option<i32> {
        match self {
            Self::Exited(_) => None,
            Self::Signalled(signal) => Some(signal),
        }
    }

    /// Converts a wait status. A status that is neither exit nor signal can't come from a wait for exits; it counts as SIGKILL.
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
