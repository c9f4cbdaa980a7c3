//! Steps that the agent which leads a run begins.

use switchboard_protocol::id::{AgentName, Digest};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::StepId;

/// A step that the agent which leads the run has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Begun {
    pub(super) step: usize,
    pub(super) input: Digest,
    /// The agent, where it does the work with its own hands.
    pub(super) by: Option<AgentName>,
}

/// A step that may be begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenStep {
    /// Of which task.
    pub task: TaskId,
    /// Which step.
    pub step: StepId,
    /// Which attempt.
    pub attempt: u32,
    /// Whether its worker answers: it judges a change, and makes none.
    pub answers: bool,
}
