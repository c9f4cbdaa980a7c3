//! What a run may cost, and why it is paused.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shares of the ceiling, in percent, at which a run says once how much is spent.
pub const ALERTS: [u8; 4] = [75, 80, 90, 100];

/// Reservation for a worker, in millionths of a US dollar, as long as too few workers of the run have ended to tell from: half a dollar, at the
/// lower end of what users report for one unit of work (0.36 to 2.70 dollars).
pub const DEFAULT_RESERVE: u64 = 500_000;

/// Workers of a run that must have ended before its reservation is told from what they cost.
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
    /// What is set aside for a worker before it starts. Without it, [`DEFAULT_RESERVE`], or the ceiling if that is lower, until [`KNOWN_COSTS`] workers
    /// of the run have ended, then the 95th percentile of what they cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve: Option<u64>,
    /// What happens at the ceiling.
    #[serde(default)]
    pub at_ceiling: AtCeiling,
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
