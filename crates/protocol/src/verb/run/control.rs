//! Runs that are under way: stopped, paused, given another budget, tried again and resumed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::verb;
use crate::id::{AgentName, MessageId, RunId};
use crate::run::{AutoTurn, Budget};

/// What to stop.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopRunRequest {
    /// `RUN` or `RUN/TASK`.
    pub what: String,
    /// Further tasks of that run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// Milliseconds between asking an agent to end and killing its process group: 5,000 if nothing is said, 600,000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
}

/// Longest grace of a stop, in milliseconds: ten minutes.
pub const MAX_GRACE_MS: u64 = 600_000;

/// A change that takes effect on the next step of the run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RunReply {
    /// Id of the run.
    pub run: RunId,
    /// Its state now; `stopping` where all of it is stopped, and not only tasks of it.
    pub state: String,
    /// The tasks that it concerns, in their order, at most 50.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<ConcernedTask>,
    /// How many more there are.
    #[serde(default, skip_serializing_if = "is_none_left")]
    pub more: u64,
}

fn is_none_left(more: &u64) -> bool {
    *more == 0
}

/// A task that a call concerns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConcernedTask {
    /// Its id.
    pub id: String,
    /// What is to be done.
    pub description: String,
    /// Its state when the call came.
    pub state: String,
    /// Whether it only waits for another one of them, which will not be done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
}

verb! {
    /// Stop a run or one task of it; work that was not merged stays in its branch.
    StopRun = "stop_run", Synced, Work, Found,
    StopRunRequest => RunReply
}

/// What to pause.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseRunRequest {
    /// `RUN` or `RUN/TASK`.
    pub what: String,
    /// Further tasks of that run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
}

verb! {
    /// Pause a run or tasks of it: workers wait at their next tool or the end of their turns, alive, and nothing new starts or merges until it is resumed.
    PauseRun = "pause_run", Synced, Work, Found,
    PauseRunRequest => RunReply
}

/// What to rebase.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RebaseRunRequest {
    /// `RUN` or `RUN/TASK`; the newest run when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    /// Further tasks of that run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
}

verb! {
    /// Put the trees of workers at work on what was merged meanwhile, each as soon as its worker is between two tools. Conflicts are told to the worker, whose tree then stays as it is.
    RebaseRun = "rebase_run", Synced, Work, Found,
    RebaseRunRequest => RunReply
}

/// What a run may cost from now on.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetBudgetRequest {
    /// Its id or the beginning of it; the newest run when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The budget; without it the ceiling is lifted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// What all runs of its plan may cost together, in millionths of a US dollar; stays as it is without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<u64>,
    /// The ceiling of one task instead, before what the budget says of each; the run's and the plan's stay as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskCeiling>,
}

/// What one task may cost, with all its workers and subtasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskCeiling {
    /// Its id.
    pub task: String,
    /// The ceiling in millionths of a US dollar; without it the ceiling is lifted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<u64>,
}

verb! {
    /// Set what a run, or one task of it, may cost. What was paused for want of budget goes on where there is room now.
    SetBudget = "set_budget", Synced, Approve, Found,
    SetBudgetRequest => RunReply
}

/// What to try again.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryTaskRequest {
    /// `RUN/TASK`, or `RUN` for all of its blocked tasks.
    pub what: String,
    /// Further tasks of that run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// The turn of the loop that wants it (`next_unit` says which).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<AutoTurn>,
}

verb! {
    /// Try a blocked or stopped task again with fresh attempts.
    RetryTask = "retry_task", Synced, Work, Found,
    RetryTaskRequest => RunReply
}

/// Which run.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeRunRequest {
    /// Its id or the beginning of it, or `RUN/TASK` for a task that was paused; the newest run when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Further tasks of that run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// The daemon ends with this run when nothing else needs it.
    #[serde(default)]
    pub ends_daemon: bool,
}

/// Where to follow.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ResumeRunReply {
    /// Id of the run.
    pub run: RunId,
    /// Its state.
    pub state: String,
    /// Position in the log: follow from here.
    pub cursor: u64,
}

verb! {
    /// Go on with a run that a pause, a stop or a crash interrupted, or with a task that was paused.
    ResumeRun = "resume_run", Synced, Work, Found,
    ResumeRunRequest => ResumeRunReply
}

/// What to tell whom.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TellWorkerRequest {
    /// `RUN/TASK`, or `TASK` of the newest run.
    pub task: String,
    /// What, at most 256 KiB.
    pub text: String,
}

/// It is on the disk.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TellWorkerReply {
    /// Id of the run.
    pub run: RunId,
    /// Id of the task.
    pub task: String,
    /// Who works on it.
    pub agent: AgentName,
    /// The id of the message: `show_task` and the outbox say how far it has come.
    pub id: MessageId,
}

verb! {
    /// Tell the worker of a task something: by mail where its run is managed, else with the next turn of its agent. A running tool is not broken off for it.
    TellWorker = "tell_worker", Synced, Work, Found,
    TellWorkerRequest => TellWorkerReply
}
