//! Time limits of attempts.

use serde::{Deserialize, Serialize};

use crate::schema::JsonSchema;

/// Time limits of each attempt of a run, in milliseconds from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkerTimeout {
    /// Time at which the agent is told to finish; by default four fifths of `hard`. A command can't be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soft: Option<u64>,
    /// Time at which the attempt is ended; by default what the plan says, or an hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hard: Option<u64>,
}

// === impl WorkerTimeout ===

impl WorkerTimeout {
    /// Maximum time that can be set, in milliseconds: a week.
    pub const MAX_MS: u64 = 7 * 24 * 60 * 60_000;

    /// Returns true if no limit is set, which records leave out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
