//! The turns of the loop that runs a plan unit by unit (`switchboard run --auto`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most turns of a loop.
pub const MAX_AUTO_TURNS: u32 = 500;

/// One turn of the loop: why it starts a run, or tries the failed tasks of one again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AutoTurn {
    /// Its number among the turns for the same plan, from 1.
    pub number: u32,
    /// What it does.
    pub kind: AutoTurnKind,
    /// Why, in a sentence.
    pub why: String,
}

/// What a turn of the loop does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AutoTurnKind {
    /// It starts the next unit of the plan.
    First,
    /// It tries the failed tasks of the last run again.
    Retry,
    /// It starts the unit again, in a new run with new work trees.
    Clean,
    /// The loop is stuck: it has looked at what is merged, and starts the unit once more in a new run.
    Verified,
    /// It tries what was held up by a rate limit again.
    Waited,
    /// A person has said that it goes on.
    Approved,
}

// === impl AutoTurnKind ===

impl AutoTurnKind {
    /// Whether it goes on in the last run instead of starting a new one.
    #[must_use]
    pub const fn is_same_run(self) -> bool {
        match self {
            Self::Retry | Self::Waited => true,
            Self::First | Self::Clean | Self::Verified | Self::Approved => false,
        }
    }
}
