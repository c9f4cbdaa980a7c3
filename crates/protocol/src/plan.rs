//! The plan: phases of tasks in `plan.json`, with what that format lacks in `x-switchboard`.
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

/// The JSON Schema of a `plan.json`, as editors take it: `x-switchboard` has no other fields than ours.
#[must_use]
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Plan).to_value();
    for name in ["PlanSettings", "PhaseSettings", "TaskSettings"] {
        schema["$defs"][name]["additionalProperties"] = Value::Bool(false);
    }
    schema
}

/// Fields that this version doesn't know, kept as they were.
pub type Extra = Map<String, Value>;

/// Longest task id in bytes: it becomes a folder and part of a branch name.
pub const MAX_TASK_ID_BYTES: usize = 64;

/// Most tasks in one plan.
pub const MAX_TASKS: usize = 10_000;

/// Largest text of a plan, `plan.json` or `plan.md`, in bytes.
pub const MAX_PLAN_BYTES: usize = 4 << 20;

/// Longest entry of `files_touched` or `scope` in bytes: it has to fit into one event.
pub const MAX_PATH_BYTES: usize = 400;

/// The only version of the format so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum SchemaVersion {
    /// `"1.0.0"`.
    #[default]
    #[serde(rename = "1.0.0")]
    V1,
}

/// A plan: what is to be done, in phases of tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// `"1.0.0"`.
    pub schema_version: SchemaVersion,
    /// What the plan is about; not empty.
    pub title: String,
    /// The swarm (team) that works on it; not empty. Kept for other tools.
    pub swarm: String,
    /// Id of the phase that is worked on, from 1. Kept for other tools: a run begins with the first phase, or where `--phase` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_phase: Option<u64>,
    /// Whether it came from a `plan.md`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migration_status: Option<MigrationStatus>,
    /// When the specification behind it was last changed (ISO 8601). Kept for other tools.
    #[serde(rename = "specMtime", default, skip_serializing_if = "Option::is_none")]
    pub spec_mtime: Option<String>,
    /// SHA-256 of that specification, in hex. Kept for other tools.
    #[serde(rename = "specHash", default, skip_serializing_if = "Option::is_none")]
    pub spec_hash: Option<String>,
    /// How many tasks may run at once, and who may change that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_profile: Option<ExecutionProfile>,
    /// The phases, at least one.
    pub phases: Vec<Phase>,
    /// What Switchboard needs beyond the format.
    #[serde(rename = "x-switchboard", default, skip_serializing_if = "Option::is_none")]
    pub switchboard: Option<PlanSettings>,
    /// Fields that this version doesn't know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Plan {
    /// All tasks in file order.
    pub fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.phases.iter().flat_map(|phase| &phase.tasks)
    }

    /// The phase that is worked on: the named one, else the first in progress, else the first.
    #[must_use]
    pub fn phase_in_work(&self) -> Option<&Phase> {
        let named = |phase: &&Phase| Some(phase.id) == self.current_phase;
        let begun = |phase: &&Phase| phase.status == PhaseStatus::InProgress;
        let phases = &self.phases;
        phases.iter().find(named).or_else(|| phases.iter().find(begun)).or_else(|| phases.first())
    }
}

/// Where a plan came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MigrationStatus {
    /// It was written as JSON.
    Native,
    /// It was read from a `plan.md`.
    Migrated,
    /// A `plan.md` held no phase that could be read.
    MigrationFailed,
}

/// The plan's own word on running tasks side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ExecutionProfile {
    /// Whether tasks may run side by side at all; false: one at a time.
    pub parallelization_enabled: bool,
    /// Most tasks at once, 1 to 64.
    pub max_concurrent_tasks: u32,
    /// Whether the members of a council may work at once. Kept for other tools: no run heeds it.
    pub council_parallel: bool,
    /// Whether the profile is fixed for the rest of the plan. Kept for other tools: no run heeds it.
    pub locked: bool,
    /// Whether the next phase begins without asking, in a run that a team leads (`docs/team.md`); no other run asks between phases.
    pub auto_proceed: bool,
    /// Fields that this version doesn't know.
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

/// A phase: tasks that belong together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Phase {
    /// Number of the phase, from 1.
    pub id: u64,
    /// What it is about; not empty.
    pub name: String,
    /// How far it is, as far as the file knows: a run leaves out the tasks of a phase that is `blocked` or `closed`; where it is `completed` and tasks
    /// of it are not, they run.
    #[serde(default)]
    pub status: PhaseStatus,
    /// Its tasks.
    #[serde(default)]
    pub tasks: Vec<Task>,
    /// Whether it changes code. Kept for other tools: no run heeds it.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<PhaseKind>,
    /// Roles that must take part in it: a team leaves none of their steps out, and refuses what no step of it has; one that leads the run also looks at the phase's
    /// end whether they had. Without a team, no run heeds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_agents: Option<Vec<String>>,
    /// What Switchboard needs beyond the format.
    #[serde(rename = "x-switchboard", default, skip_serializing_if = "Option::is_none")]
    pub switchboard: Option<PhaseSettings>,
    /// Fields that this version doesn't know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Phase {
    /// Whether a run may do a task of it: neither the task nor the phase is marked as put away, nor the task as done.
    #[must_use]
    pub const fn may_do(&self, task: &Task) -> bool {
        let is_parked = matches!(self.status, PhaseStatus::Blocked | PhaseStatus::Closed);
        matches!(task.status, TaskStatus::Pending | TaskStatus::InProgress) && !is_parked
    }
}

/// How far a phase is. `complete` and `completed` mean the same; the spelling is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PhaseStatus {
    /// Not begun.
    #[default]
    Pending,
    /// Worked on.
    InProgress,
    /// Done.
    Complete,
    /// Done, in the other spelling.
    Completed,
    /// Can't go on.
    Blocked,
    /// Put away, done or not.
    Closed,
}

/// Whether a phase changes code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseKind {
    /// It does.
    Code,
    /// It doesn't.
    NonCode,
}

/// A task: one piece of work for one agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Unique in the plan.
    pub id: TaskId,
    /// Id of its phase.
    pub phase: u64,
    /// How far it is, as far as the file knows; the truth of a run is in the log.
    #[serde(default)]
    pub status: TaskStatus,
    /// How much work it is. Kept for other tools: no run heeds it.
    #[serde(default)]
    pub size: TaskSize,
    /// What is to be done; not empty.
    pub description: String,
    /// Tasks that must be merged before this one starts.
    #[serde(default)]
    pub depends: Vec<TaskId>,
    /// How one sees that it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceptance: Option<String>,
    /// Files, folders or globs that it will write, relative to the repository's root.
    #[serde(default)]
    pub files_touched: Vec<String>,
    /// Where its evidence lies. Kept for other tools: a run keeps its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence_path: Option<String>,
    /// Why it can't go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_reason: Option<String>,
    /// What Switchboard needs beyond the format.
    #[serde(rename = "x-switchboard", default, skip_serializing_if = "Option::is_none")]
    pub switchboard: Option<TaskSettings>,
    /// Fields that this version doesn't know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Task {
    /// Whether its result is a report: nothing of it is merged.
    #[must_use]
    pub fn is_report(&self) -> bool {
        self.switchboard.as_ref().is_some_and(TaskSettings::is_report)
    }
}

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Not begun.
    #[default]
    Pending,
    /// Worked on.
    InProgress,
    /// Done.
    Completed,
    /// Can't go on.
    Blocked,
    /// Put away, done or not.
    Closed,
}

/// How much work a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskSize {
    /// One file, under two hours.
    #[default]
    Small,
    /// At most two files, under four hours.
    Medium,
    /// More; it should have been split.
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
