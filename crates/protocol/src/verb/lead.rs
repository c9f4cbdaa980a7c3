//! Verbs about the architect's seat of a run led by a team: the agent in the seat leads the run.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::verb;
use crate::answer::AnswerKind;
use crate::id::{AgentName, RunId, WorkerId};
use crate::modes::Mode;
use crate::plan::{TaskId, TaskStatus};
use crate::run::Budget;
use crate::run::way::RoleId;
use crate::schema::JsonSchema;

/// Default lease of a seat without a call of its holder, in milliseconds: a quarter of an hour.
pub const LEASE_MS: u64 = 15 * 60_000;

/// Minimum and maximum lease of a seat, in milliseconds: a second, a day.
pub const LEASES_MS: std::ops::RangeInclusive<u64> = 1_000..=24 * 60 * 60_000;

/// Maximum wait of [`SeatStatus`], in milliseconds: a minute, which is within the callers' own time limits.
pub const MAX_WAIT_MS: u64 = 60_000;

/// Maximum number of files of a task.
pub const MAX_FILES: usize = 20;

/// The run, and the agent that takes the seat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeadRunRequest {
    /// Id of the run, which a team carries out (`run --team`).
    pub run: String,
    /// Name of the agent; by default the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// Budget of the run; required if it has no ceiling yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// How long the agent keeps the seat without a call, in milliseconds: a quarter of an hour by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
}

/// The seat to leave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaveSeatRequest {
    /// Id of the run.
    pub run: String,
    /// Fence number of the seat; a person needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
}

/// The run, and how long to wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeatStatusRequest {
    /// Id of the run.
    pub run: String,
    /// Maximum wait for something to do, in milliseconds; at most 60,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

/// The plan, or its revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SavePlanRequest {
    /// Id of the run.
    pub run: String,
    /// Fence number of the seat.
    pub fence: u64,
    /// The plan, in the form of a plan.json.
    pub plan: Value,
}

/// The files that a task's coder may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeclareScopeRequest {
    /// Id of the run.
    pub run: String,
    /// Fence number of the seat.
    pub fence: u64,
    /// Id of the task, whose work must not have begun.
    pub task: TaskId,
    /// Paths of the files, 1 to 20; only files that the plan names.
    pub files: Vec<String>,
}

/// A step to begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BeginStepRequest {
    /// Id of the run.
    pub run: String,
    /// Fence number of the seat.
    pub fence: u64,
    /// Id of the task, in the mode EXECUTE; without it the step of the role that the run waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Id of the step; by default the open one. Another step is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Who does the step.
    #[serde(default)]
    pub by: StepExecutor,
}

/// Who does a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Hands")]
pub enum StepExecutor {
    /// A worker of the run.
    #[default]
    Worker,
    /// The caller, in the work tree that the reply names; the call `report_step` with `state: done` ends the step.
    Seat,
}

/// Additional gates for the tasks of later phases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetQaGatesRequest {
    /// Id of the run.
    pub run: String,
    /// Fence number of the seat.
    pub fence: u64,
    /// Names of gates to add to those of the plan and the settings; none can be removed.
    pub add: Vec<String>,
}

/// The new status of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateTaskStatusRequest {
    /// Id of the run.
    pub run: String,
    /// Fence number of the seat.
    pub fence: u64,
    /// Id of the task.
    pub task: TaskId,
    /// New status: `in_progress` and `completed` are refused unless the record already shows them; `blocked` blocks the task.
    pub status: TaskStatus,
    /// Reason why it is blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// State of the seat, and what can be done from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeatReply {
    /// Id of the run.
    pub run: RunId,
    /// Form of the run: `led`, `vacant` or `driven`.
    pub form: String,
    /// Name of the agent that has the seat, or had it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// Fence number of the seat, which every call from the seat contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
    /// How long the seat lasts without a call of its holder, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// Mode of the run.
    pub mode: Mode,
    /// What the run waits for.
    pub waits_for: String,
    /// Ceiling of the run, in millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<u64>,
    /// Amount left below the ceiling, in millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<u64>,
    /// What can be done from the seat now.
    pub open: Vec<OpenStep>,
}

/// Something that can be done from the seat now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenStep {
    /// Name of the verb: `begin_step`, `save_plan`, `report_step`.
    pub verb: String,
    /// Id of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Id of the step.
    pub step: String,
    /// Role of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleId>,
    /// Kind of answer that the caller has to give.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerKind>,
    /// Question to the caller, with what is known about it, and the form of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// Reason why the step has to be repeated, if it was done before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
}

/// A step that was begun, now or earlier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BeginStepReply {
    /// Id of the run that contains the step: one of those that carry out the run that is led.
    pub run: RunId,
    /// Id of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Id of the step.
    pub step: String,
    /// Who does the step.
    pub by: StepExecutor,
    /// `begun`, or the later state of the step.
    pub state: String,
    /// Id of the worker; also set if the caller does the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerId>,
    /// Path of the work tree for the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// Branch of that tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Instruction for the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
}

verb! {
    /// Give an agent the architect's seat of a run that a team carries out: it answers for the architect, and all other steps wait until it
    /// begins them.
    LeadRun = "lead_run", Synced, Delegate, Found,
    LeadRunRequest => SeatReply
}

verb! {
    /// Leave the architect's seat: the engine drives the run from then on.
    LeaveSeat = "leave_seat", Synced, Lead, Found,
    LeaveSeatRequest => SeatReply
}

verb! {
    /// Show who leads a run and, to its leader, what can be done now; can wait for that.
    SeatStatus = "seat_status", Read, Lead, Found,
    SeatStatusRequest => SeatReply
}

verb! {
    /// Answer the run that you lead with the plan, or its revision: the critic reviews it before anything is carried out.
    SavePlan = "save_plan", Synced, Lead, Found,
    SavePlanRequest => SeatReply
}

verb! {
    /// Name the files that the coder of a task may change, before its work begins: only files that the plan names.
    DeclareScope = "declare_scope", Synced, Lead, Found,
    DeclareScopeRequest => SeatReply
}

verb! {
    /// Begin a step of the run that you lead: a role's answer, or the next step of a task, done by a worker or by yourself.
    BeginStep = "begin_step", Synced, Lead, Found,
    BeginStepRequest => BeginStepReply
}

verb! {
    /// Add gates for the tasks of later phases of the run that you lead.
    SetQaGates = "set_qa_gates", Synced, Lead, Found,
    SetQaGatesRequest => SeatReply
}

verb! {
    /// Set the status of a task of the run that you lead, if the record supports it: a refused `completed` lists what is missing.
    UpdateTaskStatus = "update_task_status", Synced, Lead, Found,
    UpdateTaskStatusRequest => SeatReply
}
