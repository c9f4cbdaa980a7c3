//! Refusals of attempts.

use serde::{Deserialize, Serialize};

use super::way::StepId;
use crate::schema::JsonSchema;

/// Refusal of an attempt, which is passed to the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// Attempt number, from 1.
    pub attempt: u32,
    /// Cause of the refusal.
    #[serde(flatten)]
    pub cause: RefusalCause,
    /// Details, one entry each.
    pub reasons: Vec<String>,
}

impl RefusalCause {
    /// Returns true if the agent or its command failed, and not the change.
    #[must_use]
    pub const fn is_of_agent(&self) -> bool {
        match self {
            Self::AgentFailed | Self::AgentRefused | Self::TimedOut | Self::NothingChanged => true,
            Self::FilesLeftOut | Self::Gate { .. } | Self::Step { .. } | Self::MergeConflict | Self::Person => false,
        }
    }
}

/// Cause of a refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum RefusalCause {
    /// The agent gave up, or its command failed.
    AgentFailed,
    /// The agent refused the task.
    AgentRefused,
    /// The attempt exceeded the task's time limit.
    TimedOut,
    /// The agent reported that it was done but had changed nothing.
    NothingChanged,
    /// The change holds files that can't be part of it: those of a git repository of their own, or of a submodule.
    FilesLeftOut,
    /// A required gate refused the change, or could not judge it.
    Gate {
        /// Name of the gate.
        gate: String,
    },
    /// The worker of a later step, such as a reviewer or test engineer, refused the change.
    Step {
        /// Id of the step.
        step: StepId,
    },
    /// The change conflicts with the run's branch; the reasons are the files.
    MergeConflict,
    /// A person wants the change done differently; the reason is the person's note.
    Person,
}
