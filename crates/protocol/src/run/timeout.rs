//! How long an attempt may take.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long each attempt of a run may take, in milliseconds from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkerTimeout {
    /// When its agent is told to finish; four fifths of its time without it. A command can't be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soft: Option<u64>,
    /// When it is ended; what the plan says, or an hour, without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hard: Option<u64>,
}

// === impl WorkerTimeout ===

impl WorkerTimeout {
    /// Longest time that can be set: a week.
    pub const MAX_MS: u64 = 7 * 24 * 60 * 60_000;

    /// Whether nothing is said, which records leave out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
