//! Verbs that stop, pause, retry and resume current runs and change their budget.

use serde::{Deserialize, Serialize};

use super::super::verb;
use super::InheritedEnv;
use crate::id::{AgentName, MessageId, RunId};
use crate::run::{AutoTurn, Budget};
use crate::schema::JsonSchema;

/// The run or tasks to stop.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopRunRequest {
    /// Run, task, phase or slice, as `RUN`, `RUN/TASK`, `RUN/phase:2` or `RUN/slice:NAME`.
    pub what: String,
    /// Further tasks of that run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// Milliseconds between asking an agent to end and killing its process group: 5,000 by default, 600,000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
}

/// Maximum grace of a stop, in milliseconds: ten minutes.
pub const MAX_GRACE_MS: u64 = 600_000;

/// A change that takes effect on the next step of the run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RunReply {
    /// Id of the run.
    pub run: RunId,
    /// Its state now; `stopping` if the whole run is stopped, and not only tasks of it.
    pub state: String,
    /// Tasks concerned, in order, at most 50.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<ConcernedTask>,
    /// Number of further tasks concerned.
    #[serde(default, skip_serializing_if = "is_none_left")]
    pub more: u64,
}

fn is_none_left(more: &u64) -> bool {
    *more == 0
}

/// A task that a call concerns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConcernedTask {
    /// Id of the task.
    pub id: String,
    /// What the task is to do.
    pub description: String,
    /// State of the task when the call came.
    pub state: String,
    /// True if it only waits for another one of them, which will not be done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
}

verb! {
    /// Stop a run or one task of it; work that was not merged stays in its branch.
    StopRun = "stop_run", Synced, Work, Found,
    StopRunRequest => RunReply
}

/// The run or tasks to pause.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseRunRequest {
    /// Run, task, phase or slice, as `RUN`, `RUN/TASK`, `RUN/phase:2` or `RUN/slice:NAME`.
    pub what: String,
    /// Further tasks of that run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
}

verb! {
    /// Pause a run or tasks of it: workers wait, alive, at their next tool or the end of their turns, and nothing new starts or merges until
    /// it is resumed.
    PauseRun = "pause_run", Synced, Work, Found,
    PauseRunRequest => RunReply
}

/// The run or tasks to rebase.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RebaseRunRequest {
    /// Run or task, as `RUN` or `RUN/TASK`; the newest run by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    /// Further tasks of that run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
}

verb! {
    /// Rebase the trees of current workers onto what was merged meanwhile, each as soon as its worker is between two tools. On a conflict
    /// the worker is informed and its tree stays unchanged.
    RebaseRun = "rebase_run", Synced, Work, Found,
    RebaseRunRequest => RunReply
}

/// The new budget of a run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetBudgetRequest {
    /// Id of the run, or its beginning; the newest run by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The budget; removes the ceiling if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// Budget of all runs of its plan together, in millionths of a US dollar; unchanged if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<u64>,
    /// Ceiling of one task instead, which takes precedence over the task limit in the budget; the run's and the plan's stay unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskCeiling>,
}

/// Ceiling of one task, with all its workers and subtasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskCeiling {
    /// Id of the task.
    pub task: String,
    /// Ceiling in millionths of a US dollar; removes the ceiling if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<u64>,
}

verb! {
    /// Set the ceiling of a run or of one task of it. Work that was paused because of the budget continues if the new ceiling allows it.
    SetBudget = "set_budget", Synced, Approve, Found,
    SetBudgetRequest => RunReply
}

/// The tasks to retry.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryTaskRequest {
    /// Task, as `RUN/TASK`, or `RUN` for all of its blocked tasks.
    pub what: String,
    /// Further tasks of that run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// Turn of the loop that retries (from `next_unit`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<AutoTurn>,
    /// Variables that the run's agents may inherit from a person's command from now on; ignored in an agent's call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<InheritedEnv>,
}

verb! {
    /// Retry a blocked or stopped task with all attempts available again.
    RetryTask = "retry_task", Synced, Work, Found,
    RetryTaskRequest => RunReply
}

/// The run or tasks to resume.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeRunRequest {
    /// Id of the run, or its beginning, or `RUN/TASK`, `RUN/phase:2` or `RUN/slice:NAME` for paused tasks; the newest run by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Further tasks of that run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// Whether the daemon ends with this run when nothing else needs it.
    #[serde(default)]
    pub ends_daemon: bool,
    /// Variables that the run's agents may inherit from a person's command from now on; ignored in an agent's call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<InheritedEnv>,
}

/// The resumed run, and where to follow it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ResumeRunReply {
    /// Id of the run.
    pub run: RunId,
    /// State of the run.
    pub state: String,
    /// Position in the log from which to follow it.
    pub cursor: u64,
}

verb! {
    /// Continue a run that a pause, a stop or a crash interrupted, or a paused task.
    ResumeRun = "resume_run", Synced, Work, Found,
    ResumeRunRequest => ResumeRunReply
}

/// The task, and the text for its worker.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TellWorkerRequest {
    /// Task, as `RUN/TASK`, or `TASK` of the newest run.
    pub task: String,
    /// The text, at most 256 KiB.
    pub text: String,
}

/// The stored message.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TellWorkerReply {
    /// Id of the run.
    pub run: RunId,
    /// Id of the task.
    pub task: String,
    /// Name of the agent that works on it.
    pub agent: AgentName,
    /// Id of the message: `show_task` and the outbox show its delivery state.
    pub id: MessageId,
}

verb! {
    /// Send a text to the worker of a task: by mail in a managed run, else with the agent's next turn. A running tool is not interrupted.
    TellWorker = "tell_worker", Synced, Work, Found,
    TellWorkerRequest => TellWorkerReply
}
