//! Reports and proposals of a worker about its own task, which by themselves change nothing.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::verb;
use crate::action::{StepState, WorkerAction};
use crate::id::{RunId, WorkerId};
use crate::plan::TaskId;
use crate::schema::JsonSchema;

/// State of the caller's own task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportStepRequest {
    /// State: `working`, `done` or `stuck`; the gates decide whether it is done.
    pub state: StepState,
    /// Explanation in a sentence or two, at most 2,000 bytes.
    pub note: String,
    /// Answer that the caller's step asks for, in the form that its prompt shows: a review, tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// Id of the caller's task; another task is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Attempt number of the caller; refused if the task is already in a later attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Id of the run, for the agent in its architect's seat: without a task, `answer` is the architect's answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Fence number of the seat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
}

/// A task that the caller proposes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposeTaskRequest {
    /// What the task is to do, at most 2,000 bytes.
    pub description: String,
    /// Files that the task would change, at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Tasks that have to be done before it, at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<TaskId>,
    /// Id of the caller's task; another task is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Attempt number of the caller; refused if the task is already in a later attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
}

/// Task and attempt that a caller claims: a worker that was replaced in its task is refused.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fence {
    /// Id of its task.
    pub task: Option<TaskId>,
    /// Attempt number.
    pub attempt: Option<u32>,
}

/// The recorded report or proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepReply {
    /// Id of the run.
    pub run: RunId,
    /// Id of the task; empty if it is an answer of a run's architect.
    pub task: String,
    /// Id of the worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerId>,
    /// Attempt number; 0 without a task.
    pub attempt: u32,
}

// === impl ReportStepRequest ===

impl ReportStepRequest {
    /// Returns the action, and the task and attempt that the caller claims.
    #[must_use]
    pub fn into_parts(self) -> (WorkerAction, Fence) {
        let Self { state, note, answer, task, attempt, run: _, fence: _ } = self;
        (WorkerAction::ReportStep { state, note, answer }, Fence { task, attempt })
    }
}

// === impl ProposeTaskRequest ===

impl ProposeTaskRequest {
    /// Returns the action, and the task and attempt that the caller claims.
    #[must_use]
    pub fn into_parts(self) -> (WorkerAction, Fence) {
        let Self { description, files, after, task, attempt } = self;
        (WorkerAction::ProposeTask { description, files, after }, Fence { task, attempt })
    }
}

verb! {
    /// Report the state of your own task, as a worker of a run: working, done or stuck, with a note. The agent that leads a run also answers
    /// with it.
    ReportStep = "report_step", Synced, Step, Found,
    ReportStepRequest => StepReply
}

verb! {
    /// Propose a further task, as a worker of a run: it is recorded and shown, and a person may add it to a plan.
    ProposeTask = "propose_task", Synced, Step, Found,
    ProposeTaskRequest => StepReply
}
