//! Preview of a run.

use serde::{Deserialize, Serialize};

use crate::plan::TaskId;
use crate::schema::JsonSchema;

/// Preview of a run of a plan, for `--dry-run`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Prepared {
    /// Maximum number of workers at once.
    pub max_workers: u32,
    /// Tasks that the run will do, each after all tasks it depends on.
    pub eligible: Vec<TaskId>,
    /// Pairs of tasks without an order, of which one writes what the other writes or reads: they will not run at the same time.
    pub conflicts: Vec<Conflict>,
    /// Tasks that the run will not do, with the reason.
    pub skipped: Vec<Skipped>,
    /// Tasks that could start at once but have to wait for a worker or for a file.
    pub deferred: Vec<Skipped>,
    /// Tasks that would run at the same time if every task took equally long.
    pub waves: Vec<Vec<TaskId>>,
    /// True if `conflicts` or `waves` were cut off because there are too many.
    pub cut: bool,
}

/// Two tasks of which one writes files that the other writes or reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conflict {
    /// Task that goes first if both are ready.
    pub a: TaskId,
    /// The other task.
    pub b: TaskId,
    /// Files that both use.
    pub paths: Vec<SharedPath>,
}

/// Files that two tasks use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SharedPath {
    /// Path of the files, as `a` declares them.
    pub path: String,
    /// Access of `a`.
    pub a: Access,
    /// Access of `b`.
    pub b: Access,
}

/// How a task uses files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// The task reads the files and does not write them.
    Read,
    /// The task writes the files.
    Write,
}

/// An order between two tasks that follows from the inputs and outputs in the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DerivedEdge {
    /// Id of the task that waits.
    pub task: TaskId,
    /// Id of the task that it waits for.
    pub on: TaskId,
    /// Path of the input that is an output of the other task, as `task` declares it.
    pub path: String,
}

impl Access {
    /// Returns the verb for the access: `reads` or `writes`.
    #[must_use]
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
        }
    }
}

/// A task that is left out or deferred.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// Id of the task.
    pub id: TaskId,
    /// Reason as a code.
    pub code: SkipCode,
    /// Reason in words.
    pub detail: String,
}

/// Reason why a task is left out, deferred, or has no worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SkipCode {
    /// The task is done.
    Complete,
    /// The plan marks it as blocked or closed.
    Parked,
    /// The task depends on one that is left out and not done.
    DepUnmet,
    /// Another task that goes first writes the same files, or one of the two reads what the other writes.
    ConflictDeferred,
    /// No worker is free.
    CapacityDeferred,
    /// A task that it needs has failed or was stopped.
    DepFailed,
    /// The task or its run is paused.
    Paused,
    /// The rest of a ceiling is less than a worker's reservation.
    Budget,
    /// The agent's account has reached a rate limit of its service.
    RateLimited,
    /// The settings for all runs can't be read.
    SettingsUnreadable,
    /// The agent that leads the run has not begun the task's step.
    NotBegun,
    /// The task was stopped before it began.
    Stopped,
    /// Another run works on the task.
    AlreadyRunning,
}

impl SkipCode {
    /// Returns true if the task is deferred, and not left out.
    #[must_use]
    pub const fn is_deferral(self) -> bool {
        match self {
            Self::ConflictDeferred
            | Self::CapacityDeferred
            | Self::Paused
            | Self::Budget
            | Self::RateLimited
            | Self::SettingsUnreadable
            | Self::NotBegun => true,
            Self::Complete | Self::Parked | Self::DepUnmet | Self::DepFailed | Self::Stopped | Self::AlreadyRunning => {
                false
            }
        }
    }

    /// Returns the code as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Parked => "parked",
            Self::DepUnmet => "dep-unmet",
            Self::ConflictDeferred => "conflict-deferred",
            Self::CapacityDeferred => "capacity-deferred",
            Self::DepFailed => "dep-failed",
            Self::Paused => "paused",
            Self::Budget => "budget",
            Self::RateLimited => "rate-limited",
            Self::SettingsUnreadable => "settings-unreadable",
            Self::NotBegun => "not-begun",
            Self::Stopped => "stopped",
            Self::AlreadyRunning => "already-running",
        }
    }
}
