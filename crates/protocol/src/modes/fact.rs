//! The record of a run's modes: events with the subject `modes/RUN`.

use serde::{Deserialize, Serialize};

use super::{Mode, ModeEvent};
use crate::id::RunId;
use crate::run::RunOutcome;
use crate::schema::JsonSchema;

/// Maximum length, in bytes, of the description of what a run waits for: it fits beside the longest event.
pub const MAX_NOW: usize = 96;

/// Fact about the modes of a run. Folding all facts in order gives the state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(tag = "kind", content = "facts")]
pub enum ModeFact {
    /// An event occurred; the body is the text whose digest the event holds.
    ModeStepped {
        /// The event.
        event: ModeEvent,
        /// Mode of the run after the event.
        mode: Mode,
        /// What the run waits for, shortened.
        now: String,
        /// Why the answer does not count and is asked for again, shortened.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused: Option<String>,
        /// Outcome of the run, once it has ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<RunOutcome>,
    },
    /// A run was started or continued for a step. Committed together with its start.
    PartStarted {
        /// Id of the run that the team leads.
        run: RunId,
        /// Number of the step.
        step: u32,
        /// Id of the run that was started.
        part: RunId,
        /// Name of its work: `critic: plan_review`, `phase 2`. The same name stands for the same work.
        what: String,
        /// Kind of its work.
        work: PartWork,
    },
}

/// Kind of work of a run that was started for a step.
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
