//! Steps that are begun by the agent that leads a run.

use switchboard_protocol::id::{AgentName, Digest};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::StepId;

/// A step that the leading agent has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Begun {
    pub(super) step: usize,
    pub(super) input: Digest,
    /// The leading agent, if it does the work itself.
    pub(super) by: Option<AgentName>,
    /// True if that agent has lost its seat: the step is open again once its work has ended.
    pub(super) is_taken_back: bool,
}

/// A step that may be begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenStep {
    /// Id of the task.
    pub task: TaskId,
    /// Id of the step.
    pub step: StepId,
    /// Attempt number, from 1.
    pub attempt: u32,
    /// True if the worker answers: it judges a change, and makes none.
    pub answers: bool,
}
