//! Budgets of runs, and reasons for pauses.

use serde::{Deserialize, Serialize};

use crate::schema::JsonSchema;
use crate::time::Millis;

/// Percentages of the ceiling at which a run reports once how much is spent.
pub const ALERTS: [u8; 4] = [75, 80, 90, 100];

/// Default reservation for a worker's turn, in millionths of a US dollar, until enough turns of the run have ended to compute it: half a
/// dollar, at the lower end of what users report for one unit of work (0.36 to 2.70 dollars).
pub const DEFAULT_RESERVE: u64 = 500_000;

/// Number of turns of a run that must have ended before its reservation is computed from their cost.
pub const MIN_TURNS_FOR_RESERVE: usize = 5;

/// Number of tasks of a run that must be done before another can be called expensive.
pub const MIN_TASKS_FOR_AVERAGE: usize = 5;

/// Factor from which a task is expensive, compared with the average cost of the last [`AVERAGE_WINDOW_TASKS`] tasks of the run.
pub const EXPENSIVE_FACTOR: u64 = 3;

/// Number of most recent tasks in that average.
pub const AVERAGE_WINDOW_TASKS: usize = 20;

/// Budget of a run. All amounts are millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Ceiling of the run.
    pub ceiling: u64,
    /// Ceiling of each task, with all its workers and subtasks. `at_ceiling` applies to it as to the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u64>,
    /// Amount reserved for a worker's turn before it begins. By default [`DEFAULT_RESERVE`], or the ceiling if that is lower, until
    /// [`MIN_TURNS_FOR_RESERVE`] turns of the run have ended; then the 95th percentile of their cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve: Option<u64>,
    /// What happens when the ceiling is reached.
    #[serde(default)]
    pub at_ceiling: AtCeiling,
}

/// Limits for all runs together, from the user's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Limits {
    /// Ceiling of all runs of one day (UTC), in millionths of a US dollar.
    pub day: Option<u64>,
    /// What happens when that ceiling is reached.
    pub at_ceiling: AtCeiling,
    /// Maximum number of live workers over all runs.
    pub workers: Option<u32>,
    /// Numbers of equal delegations of an agent that cause a warning and a refusal.
    #[serde(default)]
    pub loops: LoopLimits,
}

/// Numbers of equal delegations of an agent that cause a warning and a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopLimits {
    /// Number that causes a warning.
    pub warns: u32,
    /// Number from which on they are refused.
    pub stops: u32,
}

impl Default for LoopLimits {
    /// Returns the numbers of other tools for the `.swarm/` format.
    fn default() -> Self {
        Self { warns: 3, stops: 5 }
    }
}

/// Scope of a ceiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "BudgetOf")]
pub enum BudgetScope {
    /// One run, or one task.
    #[default]
    Run,
    /// All runs of the same plan.
    Plan,
    /// All runs of a day.
    Day,
}

/// A ceiling and the amount spent, in millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// Scope of the ceiling.
    pub of: BudgetScope,
    /// The ceiling.
    pub ceiling: u64,
    /// Amount spent.
    pub spent: u64,
    /// What happens when the ceiling is reached.
    pub at_ceiling: AtCeiling,
}

/// What a ready task waits for, apart from the other tasks of its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum Wait {
    /// The settings can't be read, so it is unknown what may start.
    Settings,
    /// The maximum number of live workers is reached.
    Workers {
        /// Maximum number of workers.
        most: u32,
    },
    /// The agent's account has reached a rate limit of its service.
    RateLimit {
        /// End of the wait.
        until: Millis,
    },
    /// Reservations of current workers use up what is left of a ceiling.
    Budget {
        /// Scope of the ceiling.
        of: BudgetScope,
    },
}

// === impl BudgetScope ===

impl BudgetScope {
    /// Returns true for the default, which records leave out.
    #[must_use]
    pub fn is_run(&self) -> bool {
        *self == Self::Run
    }
}

// === impl Ceiling ===

impl Ceiling {
    /// Returns true if the limit is reached.
    #[must_use]
    pub const fn is_reached(&self) -> bool {
        self.spent >= self.ceiling
    }
}

/// What happens when a run's ceiling is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AtCeiling {
    /// It is reported, and the run continues.
    Warn,
    /// The workers' turns are cancelled and nothing starts until a person raises the ceiling; the workers then continue in their trees.
    #[default]
    Pause,
    /// The run is stopped.
    Halt,
}

/// Reason why a run is paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PauseCause {
    /// The pause was requested.
    Requested,
    /// The rest of the budget is less than a worker's reservation.
    Budget,
    /// The ceiling of all runs of the plan is reached, or the rest is less than a reservation.
    Plan,
    /// The ceiling of all runs of the day is reached, or the rest is less than a reservation.
    Day,
    /// The disk is full; operations that failed because of it are repeated when the run is resumed.
    Disk,
}

/// Reason why a task is paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskPauseCause {
    /// The pause was requested.
    #[default]
    Requested,
    /// The task has reached its ceiling. Its worker's turn is cancelled.
    Budget,
    /// The task has cost more than [`EXPENSIVE_FACTOR`] times the average. Its worker's turn is cancelled.
    Dear,
}

// === impl TaskPauseCause ===

impl TaskPauseCause {
    /// Returns true for the default, which records leave out.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        *self == Self::Requested
    }
}
