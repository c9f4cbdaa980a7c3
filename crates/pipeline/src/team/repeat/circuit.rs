//! A circuit breaker: what fails several times in a row is not called for a while, and called freely only after successes.

use switchboard_protocol::time::Millis;

use super::{Finding, FindingKind, Reaction};

/// Errors in a row that open the circuit.
const OPENS_AFTER: u32 = 5;
/// How long it stays open, in milliseconds.
const OPEN_MS: i64 = 30_000;
/// Successes in a row that close it.
const CLOSES_AFTER: u32 = 3;

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Well.
    Succeeded,
    /// With an error that counts.
    Failed,
}

/// The circuit of one thing that is called: a tool, a server, a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Circuit {
    /// Calls go through.
    Closed {
        /// Errors in a row.
        failures: u32,
    },
    /// Calls are refused.
    Open {
        /// When the next one is tried.
        until: Millis,
    },
    /// Calls are tried.
    HalfOpen {
        /// Successes in a row.
        successes: u32,
    },
}

impl Default for Circuit {
    fn default() -> Self {
        Self::Closed { failures: 0 }
    }
}

impl Circuit {
    /// Whether a call may be made now.
    #[must_use]
    pub fn allows(&self, now: Millis) -> bool {
        match self {
            Self::Closed { .. } | Self::HalfOpen { .. } => true,
            Self::Open { until } => *until <= now,
        }
    }

    /// Takes the end of a call of `what`.
    pub fn step(&mut self, what: &str, outcome: Outcome, now: Millis) -> Option<Finding> {
        let next = match (*self, outcome) {
            (Self::Closed { .. }, Outcome::Succeeded) => Self::default(),
            (Self::Closed { failures }, Outcome::Failed) if failures + 1 < OPENS_AFTER => {
                Self::Closed { failures: failures + 1 }
            }
            // A call that began before the circuit opened ends while it is open.
            (Self::Open { until }, _) if now < until => Self::Open { until },
            (Self::Open { .. }, Outcome::Succeeded) => Self::HalfOpen { successes: 1 },
            (Self::HalfOpen { successes }, Outcome::Succeeded) if successes + 1 < CLOSES_AFTER => {
                Self::HalfOpen { successes: successes + 1 }
            }
            (Self::HalfOpen { .. }, Outcome::Succeeded) => Self::default(),
            (Self::Closed { .. } | Self::Open { .. } | Self::HalfOpen { .. }, Outcome::Failed) => {
                Self::Open { until: now.plus(OPEN_MS) }
            }
        };
        let opens = matches!(next, Self::Open { .. }) && next != *self;
        *self = next;
        opens.then(|| {
            let words = format!("{what} failed again and again: it is not called for {} s", OPEN_MS / 1000);
            Finding::new(FindingKind::CircuitOpen, Reaction::Stop, words)
        })
    }
}
