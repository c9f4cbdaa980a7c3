//! What a run may cost, and why it is paused.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Millis;

/// Shares of the ceiling, in percent, at which a run says once how much is spent.
pub const ALERTS: [u8; 4] = [75, 80, 90, 100];

/// Reservation for a turn of a worker, in millionths of a US dollar, as long as too few turns of the run have ended to tell from: half a dollar, at the
/// lower end of what users report for one unit of work (0.36 to 2.70 dollars).
pub const DEFAULT_RESERVE: u64 = 500_000;

/// Turns of a run that must have ended before its reservation is told from what they cost.
pub const KNOWN_COSTS: usize = 5;

/// Tasks of a run that must be done before another is called dear.
pub const KNOWN_TASKS: usize = 5;

/// A task is dear if it costs more than so many times what the last [`ROLLING`] tasks of the run cost on average.
pub const DEAR: u64 = 3;

/// Tasks that were done last, of which the average is taken.
pub const ROLLING: usize = 20;

/// What a run may cost. All amounts are millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// The ceiling.
    pub ceiling: u64,
    /// The ceiling of each task, with all its workers and subtasks. What happens there is what happens at the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u64>,
    /// What is set aside for a turn of a worker before it begins. Without it, [`DEFAULT_RESERVE`], or the ceiling if that is lower, until [`KNOWN_COSTS`]
    /// turns of the run have ended, then the 95th percentile of what they cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve: Option<u64>,
    /// What happens at the ceiling.
    #[serde(default)]
    pub at_ceiling: AtCeiling,
}

/// What all runs of a record have in common, as the user's settings say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Limits {
    /// What the runs of one day (UTC) may cost together, in millionths of a US dollar.
    pub day: Option<u64>,
    /// What happens at that ceiling.
    pub at_ceiling: AtCeiling,
    /// Most workers alive, over all runs.
    pub workers: Option<u32>,
}

/// Whose ceiling it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BudgetOf {
    /// The run's, or a task's.
    #[default]
    Run,
    /// The one for all runs of the same plan.
    Plan,
    /// The one for all runs of a day.
    Day,
}

/// A ceiling, and what is spent of it, in millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// Whose it is.
    pub of: BudgetOf,
    /// The ceiling.
    pub ceiling: u64,
    /// What is spent.
    pub spent: u64,
    /// What happens there.
    pub at_ceiling: AtCeiling,
}

/// What a task that is ready waits for beside the other tasks of its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum Wait {
    /// The settings can't be read, so that it is not known what may start.
    Settings,
    /// As many workers are alive as may be.
    Workers {
        /// How many may be.
        most: u32,
    },
    /// Its agent's account is at a limit of its service.
    RateLimit {
        /// Until then.
        until: Millis,
    },
    /// Reservations of workers at work take what is left below a ceiling.
    Budget {
        /// Whose.
        of: BudgetOf,
    },
}

// === impl BudgetOf ===

impl BudgetOf {
    /// Whether it is the default, which records leave out.
    #[must_use]
    pub fn is_run(&self) -> bool {
        *self == Self::Run
    }
}

// === impl Ceiling ===

impl Ceiling {
    /// Whether it is reached.
    #[must_use]
    pub const fn is_reached(&self) -> bool {
        self.spent >= self.ceiling
    }
}

/// What happens when a run's ceiling is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AtCeiling {
    /// It is said, and the run goes on.
    Warn,
    /// The turns of its workers are cancelled and nothing starts until a person raises the ceiling; they go on in their trees then.
    #[default]
    Pause,
    /// The run is stopped.
    Halt,
}

/// Why nothing starts in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PauseCause {
    /// Somebody asked for it.
    Requested,
    /// What is left of the budget is less than a worker's reservation.
    Budget,
    /// The ceiling for all runs of its plan is reached, or what is left is less than a reservation.
    Plan,
    /// The ceiling for all runs of the day is reached, or what is left is less than a reservation.
    Day,
    /// The disk is full: what failed for that is done again once the run is resumed.
    Disk,
}

/// Why nothing starts in a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskPauseCause {
    /// Somebody asked for it.
    #[default]
    Requested,
    /// It has cost as much as a task may. Its worker's turn is cancelled.
    Budget,
    /// It has cost more than [`DEAR`] times the average. Its worker's turn is cancelled.
    Dear,
}

// === impl TaskPauseCause ===

impl TaskPauseCause {
    /// Whether it is the default, which records leave out.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        *self == Self::Requested
    }
}
