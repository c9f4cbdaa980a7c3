//! What a worker says about its own task, by which it changes nothing itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::verb;
use crate::action::{StepState, WorkerAction};
use crate::id::{RunId, WorkerId};
use crate::plan::TaskId;

/// How the caller's own task stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportStepRequest {
    /// `working`, `done` or `stuck`; the gates decide whether it is done.
    pub state: StepState,
    /// A sentence or two, at most 2,000 bytes.
    pub note: String,
    /// The answer that the caller's step wants, as its prompt shows it: a review, tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// The caller's task; another one is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The caller's attempt; refused when the task has gone on to another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The run, for who has its architect's seat: without a task, `answer` is what the architect is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The seat's fence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
}

/// A task that the caller proposes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposeTaskRequest {
    /// What is to be done, at most 2,000 bytes.
    pub description: String,
    /// Files that it would touch, at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Tasks that it would come after, at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<TaskId>,
    /// The caller's task; another one is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The caller's attempt; refused when the task has gone on to another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
}

/// Who a caller says that it is: a worker that has lost its task is refused.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fence {
    /// Its task.
    pub task: Option<TaskId>,
    /// Its attempt.
    pub attempt: Option<u32>,
}

/// It is in the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepReply {
    /// Id of the run.
    pub run: RunId,
    /// The task; empty where the architect of a run answered.
    pub task: String,
    /// The worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerId>,
    /// Its attempt; 0 without a task.
    pub attempt: u32,
}

// === impl ReportStepRequest ===

impl ReportStepRequest {
    /// What is asked for, and by whom.
    #[must_use]
    pub fn into_parts(self) -> (WorkerAction, Fence) {
        let Self { state, note, answer, task, attempt, run: _, fence: _ } = self;
        (WorkerAction::ReportStep { state, note, answer }, Fence { task, attempt })
    }
}

// === impl ProposeTaskRequest ===

impl ProposeTaskRequest {
    /// What is asked for, and by whom.
    #[must_use]
    pub fn into_parts(self) -> (WorkerAction, Fence) {
        let Self { description, files, after, task, attempt } = self;
        (WorkerAction::ProposeTask { description, files, after }, Fence { task, attempt })
    }
}

verb! {
    /// Say how your own task stands, as a worker of a run: working, done or stuck, with a note for those who look at it. Who leads a run answers with it, too.
    ReportStep = "report_step", Synced, Step, Found,
    ReportStepRequest => StepReply
}

verb! {
    /// Propose a further task, as a worker of a run: it is recorded and shown, and a person may put it into a plan.
    ProposeTask = "propose_task", Synced, Step, Found,
    ProposeTaskRequest => StepReply
}
