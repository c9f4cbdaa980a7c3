//! The architect's seat of a run that a team carries out: who has it leads the run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::verb;
use crate::answer::AnswerKind;
use crate::id::{AgentName, RunId, WorkerId};
use crate::modes::Mode;
use crate::plan::{TaskId, TaskStatus};
use crate::run::Budget;
use crate::run::way::RoleId;

/// How long a seat lasts without a call of its holder where nobody says so, in milliseconds: a quarter of an hour.
pub const LEASE_MS: u64 = 15 * 60_000;

/// Shortest and longest lease of a seat, in milliseconds: a second, a day.
pub const LEASES_MS: std::ops::RangeInclusive<u64> = 1_000..=24 * 60 * 60_000;

/// Longest wait of [`SeatStatus`], in milliseconds: a minute, which the callers' own time limits allow for.
pub const MAX_WAIT_MS: u64 = 60_000;

/// Most files of a task.
pub const MAX_FILES: usize = 20;

/// Who is to have the seat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeadRunRequest {
    /// The run, which a team carries out (`run --team`).
    pub run: String,
    /// The agent; the caller itself by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// What the run may cost from now on; needed where it has no ceiling yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// How long the seat lasts without a call of the agent, in milliseconds: a quarter of an hour by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
}

/// The seat is to be given back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaveSeatRequest {
    /// The run.
    pub run: String,
    /// The seat's fence; a person needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
}

/// What the seat may do now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeatStatusRequest {
    /// The run.
    pub run: String,
    /// Wait so many milliseconds at most until there is something to do; at most 60,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

/// The plan, or its revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SavePlanRequest {
    /// The run.
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
    /// The run.
    pub run: String,
    /// Fence number of the seat.
    pub fence: u64,
    /// The task, whose work has not begun.
    pub task: TaskId,
    /// The files, 1 to 20: no others than the plan names.
    pub files: Vec<String>,
}

/// A step to begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BeginStepRequest {
    /// The run.
    pub run: String,
    /// Fence number of the seat.
    pub fence: u64,
    /// The task, in EXECUTE; without it the step of the role that the run waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The step; the one that is open by default, and another one is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Who does it.
    #[serde(default)]
    pub by: Hands,
}

/// Who does a step that is begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hands {
    /// A worker of the run.
    #[default]
    Worker,
    /// The caller, in the work tree that the reply names; `report_step` with `state: done` ends it.
    Seat,
}

/// More gates for the tasks of later phases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetQaGatesRequest {
    /// The run.
    pub run: String,
    /// Fence number of the seat.
    pub fence: u64,
    /// Names of gates, added to what the plan and the settings say; none can be taken away.
    pub add: Vec<String>,
}

/// A status that a task is to have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateTaskStatusRequest {
    /// The run.
    pub run: String,
    /// Fence number of the seat.
    pub fence: u64,
    /// Id of the task.
    pub task: TaskId,
    /// `in_progress` and `completed` are refused unless the record says so already; `blocked` blocks it.
    pub status: TaskStatus,
    /// Why it is blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The seat, and what may be done from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeatReply {
    /// Id of the run.
    pub run: RunId,
    /// `led`, `vacant` or `driven`.
    pub form: String,
    /// Who has the seat, or had it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// The seat's fence: every call from the seat carries it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
    /// How long the seat lasts without a call of its holder, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// What the run is at.
    pub mode: Mode,
    /// What it waits for.
    pub waits_for: String,
    /// What it may cost in all, in millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<u64>,
    /// What is left of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<u64>,
    /// What the seat may do now.
    pub open: Vec<OpenStep>,
}

/// Something that the seat may do now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenStep {
    /// By which verb: `begin_step`, `save_plan`, `report_step`.
    pub verb: String,
    /// Id of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Which step.
    pub step: String,
    /// Whose it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleId>,
    /// The answer that it wants of the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerKind>,
    /// What the caller is asked, with what is known for it, and the form of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// Why it is to be done again, where it was done before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
}

/// A step was begun, or had been.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BeginStepReply {
    /// The run that the step belongs to: one of those that carry out the run that is led.
    pub run: RunId,
    /// Id of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Which step.
    pub step: String,
    /// Who does it.
    pub by: Hands,
    /// `begun`, or what has become of it since.
    pub state: String,
    /// The worker; the caller's own hands have one, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerId>,
    /// The work tree in which the caller works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// The branch of that tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// What the caller is to do there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
}

verb! {
    /// Give an agent the architect's seat of a run that a team carries out: it answers for the architect, and every step of the others waits until it begins it.
    LeadRun = "lead_run", Synced, Delegate, Found,
    LeadRunRequest => SeatReply
}

verb! {
    /// Give the architect's seat back: the engine drives the run from then on.
    LeaveSeat = "leave_seat", Synced, Lead, Found,
    LeaveSeatRequest => SeatReply
}

verb! {
    /// See who leads a run, and as its leader what you may do now; waits for that, if you want.
    SeatStatus = "seat_status", Read, Lead, Found,
    SeatStatusRequest => SeatReply
}

verb! {
    /// Answer the run that you lead with the plan, or its revision: the critic reviews it before anything is carried out.
    SavePlan = "save_plan", Synced, Lead, Found,
    SavePlanRequest => SeatReply
}

verb! {
    /// Name the files that the coder of a task may change, before its work begins: no others than the plan names.
    DeclareScope = "declare_scope", Synced, Lead, Found,
    DeclareScopeRequest => SeatReply
}

verb! {
    /// Begin a step of the run that you lead: a role's answer, or the next step of a task, by a worker or with your own hands.
    BeginStep = "begin_step", Synced, Lead, Found,
    BeginStepRequest => BeginStepReply
}

verb! {
    /// Have the tasks of later phases of the run that you lead judged by more gates.
    SetQaGates = "set_qa_gates", Synced, Lead, Found,
    SetQaGatesRequest => SeatReply
}

verb! {
    /// Set the status of a task of the run that you lead, where it has earned it: `completed` says what is missing.
    UpdateTaskStatus = "update_task_status", Synced, Lead, Found,
    UpdateTaskStatusRequest => SeatReply
}
