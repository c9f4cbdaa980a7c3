//! The record of the modes of a run: one kind of event, of the subject `modes/RUN`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Mode, ModeEvent};
use crate::id::RunId;
use crate::run::RunOutcome;

/// Longest description of what a run waits for, in bytes: it fits beside the longest event.
pub const MAX_NOW: usize = 96;

/// What is recorded of the modes of a run. Folding the events of all facts in their order gives the state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "facts", rename_all = "snake_case")]
pub enum ModeFact {
    /// Something happened; the text whose digest the event holds is the body.
    ModeStepped {
        /// What.
        event: ModeEvent,
        /// What the run is at since.
        mode: Mode,
        /// What it waits for, cut.
        now: String,
        /// How it ended, once it has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<RunOutcome>,
    },
    /// A run was started for a step, or goes on for it. In the same commit as its start.
    PartStarted {
        /// The run that the team leads.
        run: RunId,
        /// Which step.
        step: u32,
        /// The run that was started.
        part: RunId,
        /// What it does: `critic: plan_review`, `phase 2`. The same words stand for the same work.
        what: String,
        /// What kind of work that is.
        work: PartWork,
    },
}

/// What kind of work a run does that was started for a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartWork {
    /// A question to a role.
    Question,
    /// The documentation of a phase.
    Docs,
    /// The tasks of a phase.
    Phase,
}
