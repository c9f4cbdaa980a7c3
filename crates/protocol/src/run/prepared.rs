//! What a run of a plan would do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::TaskId;

/// What a run of a plan would do, for `--dry-run`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Prepared {
    /// Most workers at once.
    pub max_workers: u32,
    /// Tasks that the run will do, each after all it depends on.
    pub eligible: Vec<TaskId>,
    /// Pairs that nothing orders but that write the same files: they will not run at the same time.
    pub conflicts: Vec<Conflict>,
    /// Tasks that the run will not do, with the reason.
    pub skipped: Vec<Skipped>,
    /// Tasks that could start at once but have to wait for a worker or for a file.
    pub deferred: Vec<Skipped>,
    /// Who would run at the same time if every task took equally long.
    pub waves: Vec<Vec<TaskId>>,
    /// Whether `conflicts` or `waves` end early because there are too many.
    pub cut: bool,
}

/// Two tasks that write the same files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conflict {
    /// The one that goes first if both are ready.
    pub a: TaskId,
    /// The other.
    pub b: TaskId,
    /// What both write, as `a` declares it.
    pub paths: Vec<String>,
}

/// A task that is left out or put off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// Which task.
    pub id: TaskId,
    /// Why, as a word.
    pub code: SkipCode,
    /// Why, for a person.
    pub detail: String,
}

/// Why a task is left out or put off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SkipCode {
    /// It is done.
    Complete,
    /// The plan marks it as blocked or closed.
    Parked,
    /// It depends on one that is left out and not done.
    DepUnmet,
    /// Another task that goes first writes the same files.
    ConflictDeferred,
    /// All workers are taken.
    CapacityDeferred,
}
