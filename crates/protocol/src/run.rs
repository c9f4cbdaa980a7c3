//! A run: one execution of a plan. Its events and next effects as plain data; the rules are in `switchboard_pipeline::run`.
//!
//! [`RunEvent`]s are facts of the event log (subject `run/…`); the dispatcher carries out [`Effect`]s.

mod auto;
mod budget;
pub(crate) mod change;
mod effect;
mod event;
mod held;
mod limits;
mod outcome;
mod prepared;
mod refusal;
mod setup;
mod timeout;
pub mod way;

use serde::{Deserialize, Serialize};

use crate::id::{NeedId, WorkerId};
use crate::plan::TaskId;
use crate::schema::JsonSchema;
use way::StepId;

pub use auto::{AutoTurn, AutoTurnKind, MAX_AUTO_TURNS};
pub use budget::{
    ALERTS, AVERAGE_WINDOW_TASKS, AtCeiling, Budget, BudgetScope, Ceiling, DEFAULT_RESERVE, EXPENSIVE_FACTOR, Limits,
    LoopLimits, MIN_TASKS_FOR_AVERAGE, MIN_TURNS_FOR_RESERVE, PauseCause, TaskPauseCause, Wait,
};
pub use change::Change;
pub use effect::{Answered, CheckAsked, Effect, EffectKey, StartFrom, StepWork, StopCause};
pub use event::{RunEvent, TEXT_BUDGET};
pub use held::HeldBy;
pub use limits::TeamLimits;
pub use outcome::{PersonAnswer, RunOutcome, TurnOutcome, Verdict};
pub use prepared::{Access, Conflict, DerivedEdge, Prepared, SharedPath, SkipCode, Skipped};
pub use refusal::{Refusal, RefusalCause};
pub use setup::SetupCommand;
pub use timeout::WorkerTimeout;

/// Default maximum number of attempts of a task before it is blocked.
pub const MAX_ATTEMPTS: u32 = 5;

/// Default maximum number of attempts of a task whose worker is a command: the same command would do the same again.
pub const MAX_COMMAND_ATTEMPTS: u32 = 1;

/// Number of times an attempt may end exactly like the one before it until the task is blocked: its worker fails with the same words, or
/// its gates refuse the same tree with the same words.
pub const MAX_REPEATS: u32 = 2;

/// Maximum number of workers of a step that are asked for a usable answer: an unreadable answer is asked for again twice.
pub const MAX_ANSWERS: u32 = 3;

/// Maximum number of plan revisions that the critic may ask for before a person decides.
pub const MAX_CRITIC_CYCLES: u32 = 2;

/// Number of workers of an answering step that may fail or run out of time; the second one is the last.
pub const MAX_FAILURES: u32 = 2;

/// Number of times the change of one attempt is rebased onto a new head of the run's branch before the task is blocked. One task is merged
/// at a time, so that only a person can move the branch in between.
pub const MAX_REBASES: u32 = 20;

/// Number of workers that a task may lose before it is blocked; losses don't count as attempts.
pub const MAX_LOSSES: u32 = 3;

/// Number of times in a row a task waits for a rate limit before it is blocked; such waits don't count as attempts.
pub const MAX_RATE_WAITS: u32 = 5;

/// Wait for a rate limit if the service names no time, in milliseconds.
pub const RATE_WAIT_MS: u64 = 35_000;

/// Maximum wait for a rate limit, in milliseconds, whatever the service says.
pub const MAX_RATE_WAIT_MS: u64 = 10 * 60_000;

/// Default number of workers at once, if neither flag nor plan sets it.
pub const DEFAULT_WORKERS: u32 = 2;

/// Maximum number of workers of a run at once. Measured with 200 on two cores (`cargo xtask bench dispatch`).
pub const MAX_WORKERS: u32 = 256;

/// State of one task in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum TaskState {
    /// The task waits for tasks that it depends on.
    Pending,
    /// The task may start when a worker is free and no other task writes its files.
    Ready,
    /// A worker is about to run.
    Starting {
        /// Id of the worker.
        worker: WorkerId,
    },
    /// A worker runs.
    Working {
        /// Id of the worker.
        worker: WorkerId,
    },
    /// A person was asked: the worker ended without a permission that was denied, or the change needs approval.
    Waiting {
        /// Id of the question.
        need: NeedId,
        /// Subject of the question.
        reason: String,
    },
    /// The worker reported that it is done; its change is being captured.
    Capturing {
        /// Id of the worker.
        worker: WorkerId,
    },
    /// The change is committed; no gate has judged it yet.
    Captured {
        /// The change.
        change: Change,
    },
    /// Some gates have judged the change.
    Gating {
        /// The change.
        change: Change,
    },
    /// No gate refuses the change; it waits for its turn to be merged.
    Passed {
        /// The change.
        change: Change,
    },
    /// No gate refuses the change, but its merge waits because another agent has reserved files of it.
    Held {
        /// The change.
        change: Change,
        /// The lease that reserves the files.
        lease: HeldBy,
    },
    /// The change is being merged.
    Merging {
        /// The change.
        change: Change,
        /// Head of the run's branch when the merge began.
        onto: String,
    },
    /// The change is in the run's branch.
    Merged {
        /// Commit in the run's branch.
        commit: String,
    },
    /// The task is done and not merged separately: a report, or a part of a task with several workers.
    Done {
        /// Commit of its change; empty if it has none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        commit: String,
    },
    /// The task can't continue without a person.
    Blocked {
        /// Reason.
        reason: String,
    },
    /// The task can't start because a task that it needs was blocked or stopped.
    DepFailed {
        /// Id of that task.
        root: TaskId,
    },
    /// The task was stopped.
    Stopped,
}

impl TaskState {
    /// Returns true if the task's work is done, with or without a merge.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        matches!(self, Self::Merged { .. } | Self::Done { .. })
    }

    /// Returns true if nothing more happens to the task unless a person asks for it.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        match self {
            Self::Merged { .. } | Self::Done { .. } | Self::Blocked { .. } | Self::DepFailed { .. } | Self::Stopped => {
                true
            }
            Self::Pending
            | Self::Ready
            | Self::Starting { .. }
            | Self::Working { .. }
            | Self::Waiting { .. }
            | Self::Capturing { .. }
            | Self::Captured { .. }
            | Self::Gating { .. }
            | Self::Passed { .. }
            | Self::Held { .. }
            | Self::Merging { .. } => false,
        }
    }
}

/// Report of a gate on the present attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateReport {
    /// Name of the gate.
    pub gate: String,
    /// Whether the task requires the gate.
    pub required: bool,
    /// Verdict of the gate.
    pub verdict: Verdict,
    /// Reasons for the verdict.
    pub reasons: Vec<String>,
}

/// Report of a step's worker on the present attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepReport {
    /// Id of the step.
    pub step: StepId,
    /// Verdict of the worker.
    pub verdict: Verdict,
    /// Reasons for the verdict.
    pub reasons: Vec<String>,
}

/// One task as shown in status, report and page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskView {
    /// Id of the task.
    pub task: TaskId,
    /// State of the task.
    #[serde(flatten)]
    pub state: TaskState,
    /// Present attempt, from 1.
    pub attempt: u32,
    /// Number of workers lost since the last retry by a person.
    pub losses: u32,
    /// True if a stop was requested.
    pub stopping: bool,
    /// Reason why the task is paused, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<TaskPauseCause>,
    /// Reason why a task that needs a worker has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_started: Option<Skipped>,
    /// Reports of the gates on the present attempt, required ones first.
    pub gates: Vec<GateReport>,
    /// Gates of the task's way that have not reported on the present attempt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending_gates: Vec<String>,
    /// Reports of the workers of later steps on the present attempt, in the order of the steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepReport>,
    /// The current or next step, if it is not the one that makes the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// Refusals of earlier attempts, oldest first.
    pub refusals: Vec<Refusal>,
}
