//! What a run of a plan would do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::TaskId;

/// What a run of a plan would do, for `--dry-run`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Prepared {
    /// Maximum number of workers at once.
    pub max_workers: u32,
    /// Tasks that the run will do, each after all it depends on.
    pub eligible: Vec<TaskId>,
    /// Pairs that nothing orders and of which one writes what the other writes or reads: they will not run at the same time.
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

/// Two tasks of which one writes files that the other writes or reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conflict {
    /// The one that goes first if both are ready.
    pub a: TaskId,
    /// The other.
    pub b: TaskId,
    /// What they have in common.
    pub paths: Vec<SharedPath>,
}

/// Files that two tasks have in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SharedPath {
    /// The files, as `a` declares them.
    pub path: String,
    /// What `a` does with them.
    pub a: Access,
    /// What `b` does with them.
    pub b: Access,
}

/// What a task does with files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// It reads them, and does not write them.
    Read,
    /// It writes them.
    Write,
}

/// A task that waits for another because the plan says that it needs what the other makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DerivedEdge {
    /// The task that waits.
    pub task: TaskId,
    /// The task that it waits for.
    pub on: TaskId,
    /// The input of the one that is an output of the other, as `task` declares it.
    pub path: String,
}

impl Access {
    /// The verb for it: `reads` or `writes`.
    #[must_use]
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
        }
    }
}

/// A task that is left out or put off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// Id of the task.
    pub id: TaskId,
    /// Why, as a word.
    pub code: SkipCode,
    /// Why, for a person.
    pub detail: String,
}

/// Why a task is left out, put off, or has no worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SkipCode {
    /// It is done.
    Complete,
    /// The plan marks it as blocked or closed.
    Parked,
    /// It depends on one that is left out and not done.
    DepUnmet,
    /// Another task that goes first writes the same files, or one of the two reads what the other writes.
    ConflictDeferred,
    /// All workers are taken.
    CapacityDeferred,
    /// A task that it needs has failed or was stopped.
    DepFailed,
    /// It is paused, or its run is.
    Paused,
    /// What is left below a ceiling is less than a worker's reservation.
    Budget,
    /// Its agent's account is at a limit of its service.
    RateLimited,
    /// The settings that all runs have in common can't be read.
    SettingsUnreadable,
    /// The agent that leads the run has not begun its step.
    NotBegun,
    /// It was stopped before it began.
    Stopped,
    /// Another run works on it.
    AlreadyRunning,
}

impl SkipCode {
    /// Whether the task is put off, and not left out.
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

    /// The code as it is written.
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
