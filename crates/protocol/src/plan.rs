//! The plan: phases of tasks in `plan.json`, with Switchboard's additions in `x-switchboard`.
//!
//! Every level keeps the fields it doesn't know in `extra`, so that reading and writing a plan loses nothing.

mod id;
mod settings;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use id::{BadTaskId, TaskId, natural_order};
pub use settings::{
    AskSettings, AutoMerge, BestOf, CommandLine, Confirm, DebateSettings, MergeBy, OnViolation, PhaseSettings,
    PlanSettings, RetryFrom, TaskResult, TaskSettings, UnknownWrites, WorkerSettings,
};

/// Returns the JSON Schema of a `plan.json` for editors: it allows only Switchboard's own fields in `x-switchboard`.
#[must_use]
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Plan).to_value();
    for name in ["PlanSettings", "PhaseSettings", "TaskSettings"] {
        schema["$defs"][name]["additionalProperties"] = Value::Bool(false);
    }
    schema
}

/// Fields unknown to this version, kept unchanged.
pub type Extra = Map<String, Value>;

/// Maximum length of a task id, in bytes: it becomes a folder and part of a branch name.
pub const MAX_TASK_ID_BYTES: usize = 64;

/// Maximum number of tasks in one plan.
pub const MAX_TASKS: usize = 10_000;

/// Maximum size of a plan's text (`plan.json` or `plan.md`), in bytes.
pub const MAX_PLAN_BYTES: usize = 4 << 20;

/// Maximum length of an entry of `files_touched` or `scope`, in bytes: it has to fit into one event.
pub const MAX_PATH_BYTES: usize = 400;

/// Version of the format; only one exists so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum SchemaVersion {
    /// `"1.0.0"`.
    #[default]
    #[serde(rename = "1.0.0")]
    V1,
}

/// A plan: work in phases of tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Version of the format, `"1.0.0"`.
    pub schema_version: SchemaVersion,
    /// Title of the plan; not empty.
    pub title: String,
    /// Name of the swarm (team) that works on the plan; not empty. Kept for other tools.
    pub swarm: String,
    /// Id of the current phase, from 1. Kept for other tools: a run begins with the first phase, or where `--phase` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_phase: Option<u64>,
    /// Whether the plan was converted from a `plan.md`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migration_status: Option<MigrationStatus>,
    /// Time of the last change of the plan's specification (ISO 8601). Kept for other tools.
    #[serde(rename = "specMtime", default, skip_serializing_if = "Option::is_none")]
    pub spec_mtime: Option<String>,
    /// SHA-256 of the plan's specification, in hex. Kept for other tools.
    #[serde(rename = "specHash", default, skip_serializing_if = "Option::is_none")]
    pub spec_hash: Option<String>,
    /// Rules for running tasks in parallel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_profile: Option<ExecutionProfile>,
    /// Phases of the plan, at least one.
    pub phases: Vec<Phase>,
    /// Settings for Switchboard.
    #[serde(rename = "x-switchboard", default, skip_serializing_if = "Option::is_none")]
    pub switchboard: Option<PlanSettings>,
    /// Fields unknown to this version.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Plan {
    /// Returns all tasks in file order.
    pub fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.phases.iter().flat_map(|phase| &phase.tasks)
    }
}

/// Origin of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MigrationStatus {
    /// The plan was written as JSON.
    Native,
    /// The plan was converted from a `plan.md`.
    Migrated,
    /// The `plan.md` held no readable phase.
    MigrationFailed,
}

/// The plan's rules for running tasks in parallel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ExecutionProfile {
    /// Whether tasks may run in parallel at all; if false, one at a time.
    pub parallelization_enabled: bool,
    /// Maximum number of tasks at once, 1 to 64.
    pub max_concurrent_tasks: u32,
    /// Whether the members of a council may work in parallel. Kept for other tools: no run uses it.
    pub council_parallel: bool,
    /// Whether the profile is fixed for the rest of the plan. Kept for other tools: no run uses it.
    pub locked: bool,
    /// Whether the next phase begins without asking, in a run that a team leads (`docs/team.md`); other runs never ask between phases.
    pub auto_proceed: bool,
    /// Fields unknown to this version.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Default for ExecutionProfile {
    fn default() -> Self {
        Self {
            parallelization_enabled: false,
            max_concurrent_tasks: 10,
            council_parallel: true,
            locked: false,
            auto_proceed: false,
            extra: Extra::new(),
        }
    }
}

/// A phase: a group of tasks that the next phase waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Phase {
    /// Number of the phase, from 1.
    pub id: u64,
    /// Name of the phase; not empty.
    pub name: String,
    /// Status of the phase in the file. A run leaves out the tasks of a phase that is `blocked` or `closed`; unfinished tasks of a
    /// `completed` phase run.
    #[serde(default)]
    pub status: PhaseStatus,
    /// Tasks of the phase.
    #[serde(default)]
    pub tasks: Vec<Task>,
    /// Whether the phase changes code. Kept for other tools: no run uses it.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<PhaseKind>,
    /// Roles that must take part in the phase. A team leaves out none of their steps and refuses roles without a step; a team that leads
    /// the run also checks at the end of the phase that they took part. Without a team, no run uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_agents: Option<Vec<String>>,
    /// Settings for Switchboard.
    #[serde(rename = "x-switchboard", default, skip_serializing_if = "Option::is_none")]
    pub switchboard: Option<PhaseSettings>,
    /// Fields unknown to this version.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Phase {
    /// Returns true if a run may do the task: neither the task nor the phase is blocked or closed, and the task is not done.
    #[must_use]
    pub const fn may_do(&self, task: &Task) -> bool {
        let is_parked = matches!(self.status, PhaseStatus::Blocked | PhaseStatus::Closed);
        matches!(task.status, TaskStatus::Pending | TaskStatus::InProgress) && !is_parked
    }
}

/// Status of a phase. `complete` and `completed` mean the same; the spelling is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PhaseStatus {
    /// Not started.
    #[default]
    Pending,
    /// In progress.
    InProgress,
    /// Done.
    Complete,
    /// Done, in the other spelling.
    Completed,
    /// Can't continue.
    Blocked,
    /// Closed, done or not.
    Closed,
}

/// Whether a phase changes code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseKind {
    /// Changes code.
    Code,
    /// Changes no code.
    NonCode,
}

/// A task: one piece of work for one agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Id of the task, unique in the plan.
    pub id: TaskId,
    /// Id of the task's phase.
    pub phase: u64,
    /// Status of the task in the file; the actual state in a run is in the log.
    #[serde(default)]
    pub status: TaskStatus,
    /// Size of the task. Kept for other tools: no run uses it.
    #[serde(default)]
    pub size: TaskSize,
    /// What the task is to do; not empty.
    pub description: String,
    /// Ids of the tasks that must be merged before this one starts.
    #[serde(default)]
    pub depends: Vec<TaskId>,
    /// How to tell that the task is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceptance: Option<String>,
    /// Files, folders or globs that the task will write, relative to the repository's root.
    #[serde(default)]
    pub files_touched: Vec<String>,
    /// Path of the task's evidence. Kept for other tools: a run keeps its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence_path: Option<String>,
    /// Reason why the task can't continue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_reason: Option<String>,
    /// Settings for Switchboard.
    #[serde(rename = "x-switchboard", default, skip_serializing_if = "Option::is_none")]
    pub switchboard: Option<TaskSettings>,
    /// Fields unknown to this version.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Task {
    /// Returns true if the task's result is a report, of which nothing is merged.
    #[must_use]
    pub fn is_report(&self) -> bool {
        self.switchboard.as_ref().is_some_and(TaskSettings::is_report)
    }
}

/// Status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Not started.
    #[default]
    Pending,
    /// In progress.
    InProgress,
    /// Done.
    Completed,
    /// Can't continue.
    Blocked,
    /// Closed, done or not.
    Closed,
}

/// Size of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskSize {
    /// One file, under two hours.
    #[default]
    Small,
    /// At most two files, under four hours.
    Medium,
    /// More than that; the task should have been split.
    Large,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_unknown_fields_and_spellings_on_every_level() {
        let text = r#"{"schema_version":"1.0.0","title":"T","swarm":"s","execution_profile":{"parallelization_enabled":true,"max_concurrent_tasks":3,"council_parallel":true,"locked":false,"auto_proceed":false,"e":1},"phases":[{"id":1,"name":"P","status":"completed","tasks":[{"id":"1.1","phase":1,"status":"pending","size":"small","description":"d","depends":[],"files_touched":[],"x-switchboard":{"command":["a"],"test":"b c","t":2},"k":[3]}],"type":"non-code","p":null}],"x-switchboard":{"max_workers":1,"w":4},"z":{"y":5}}"#;

        let plan: Plan = serde_json::from_str(text).unwrap();

        assert_eq!(serde_json::to_string(&plan).unwrap(), text);
    }
}
