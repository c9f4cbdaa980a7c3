//! Why an attempt was refused.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::way::StepId;

/// Why an attempt was refused; the next one is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// Attempt number, from 1.
    pub attempt: u32,
    /// Who refused it, and for what.
    #[serde(flatten)]
    pub cause: RefusalCause,
    /// The details, one thing each.
    pub reasons: Vec<String>,
}

impl RefusalCause {
    /// Whether the agent or its command failed, rather than the change that it left.
    #[must_use]
    pub const fn is_of_agent(&self) -> bool {
        match self {
            Self::AgentFailed | Self::AgentRefused | Self::TimedOut | Self::NothingChanged => true,
            Self::Gate { .. } | Self::Step { .. } | Self::MergeConflict | Self::Person => false,
        }
    }
}

/// What refused an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum RefusalCause {
    /// The agent gave up, or its command failed.
    AgentFailed,
    /// The agent would not do it.
    AgentRefused,
    /// The attempt took longer than the task's limit.
    TimedOut,
    /// The agent said it was done, and had changed nothing.
    NothingChanged,
    /// A required gate refused the change, or could not judge it.
    Gate {
        /// Name of the gate.
        gate: String,
    },
    /// The worker of a later step refused the change: a reviewer, or a test engineer.
    Step {
        /// Id of the step in the task's way.
        step: StepId,
    },
    /// The change did not fit onto the run's branch; the reasons are the files.
    MergeConflict,
    /// A person wants it done differently; the reason is their note.
    Person,
}
