//! The turns of the loop that runs a plan unit by unit (`switchboard run --auto`).

use serde::{Deserialize, Serialize};

use crate::schema::JsonSchema;

/// Maximum number of turns of a loop.
pub const MAX_AUTO_TURNS: u32 = 500;

/// One turn of the loop, which starts a run or retries the failed tasks of one, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AutoTurn {
    /// Number of the turn among those for the same plan, from 1.
    pub number: u32,
    /// Kind of the turn.
    pub kind: AutoTurnKind,
    /// Reason in a sentence.
    pub why: String,
}

/// Kind of a turn of the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AutoTurnKind {
    /// Starts the next unit of the plan.
    First,
    /// Retries the failed tasks of the last run.
    Retry,
    /// Starts the unit again, in a new run with new work trees.
    Clean,
    /// The loop is stuck: it has checked what is merged, and starts the unit once more in a new run.
    Verified,
    /// Retries tasks that a rate limit had delayed.
    Waited,
    /// A person has approved that the loop continues.
    Approved,
}

// === impl AutoTurnKind ===

impl AutoTurnKind {
    /// Returns true if the turn continues the last run instead of starting a new one.
    #[must_use]
    pub const fn is_same_run(self) -> bool {
        match self {
            Self::Retry | Self::Waited => true,
            Self::First | Self::Clean | Self::Verified | Self::Approved => false,
        }
    }
}
