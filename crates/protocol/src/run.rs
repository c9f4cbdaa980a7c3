//! A run: one execution of a plan. What happens to its tasks, and what is to be done next, as plain data;
//! the rules are in `switchboard_pipeline::run`.
//!
//! [`RunEvent`]s are facts of the event log (subject `run/…`); [`Effect`]s are what the dispatcher carries out.

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

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{NeedId, WorkerId};
use crate::plan::TaskId;
use way::StepId;

pub use auto::{AutoTurn, AutoTurnKind, MAX_AUTO_TURNS};
pub use budget::{
    ALERTS, AtCeiling, Budget, BudgetOf, Ceiling, DEAR, DEFAULT_RESERVE, KNOWN_COSTS, KNOWN_TASKS, Limits, PauseCause,
    ROLLING, TaskPauseCause, Wait,
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

/// Attempts that a task gets before it is blocked.
pub const MAX_ATTEMPTS: u32 = 5;

/// Attempts that a task gets whose worker is a command: the same command does the same again.
pub const MAX_COMMAND_ATTEMPTS: u32 = 1;

/// How often an attempt may end as the one before it did before the task is blocked: its worker fails with the same words, or its gates
/// refuse the same tree with the same words.
pub const MAX_REPEATS: u32 = 2;

/// Workers of a step that are asked until their answer can be used: one that can't be read is asked for again twice.
pub const MAX_ANSWERS: u32 = 3;

/// Workers of a step that answers that may fail or run out of time: the second is the last.
pub const MAX_FAILURES: u32 = 2;

/// How often the change of one attempt is put on a new head of the run's branch before the task is blocked. One task is merged at a
/// time, so that only a person's hand moves the branch in between.
pub const MAX_REBASES: u32 = 20;

/// Workers that a task may lose before it is blocked; losses don't count as attempts.
pub const MAX_LOSSES: u32 = 3;

/// How often in a row a task waits for a rate limit before it is blocked; such waits don't count as attempts.
pub const MAX_RATE_WAITS: u32 = 5;

/// How long an account waits where its service names no time, in milliseconds.
pub const RATE_WAIT_MS: u64 = 35_000;

/// Longest wait for a rate limit, in milliseconds, whatever the service says.
pub const LONGEST_RATE_WAIT_MS: u64 = 10 * 60_000;

/// Workers at once where neither flag nor plan says so.
pub const DEFAULT_WORKERS: u32 = 2;

/// Most workers of a run at once. Measured with 200 on two cores (`cargo xtask bench dispatch`).
pub const MAX_WORKERS: u32 = 256;

/// The state of one task in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum TaskState {
    /// Waits for tasks that it depends on.
    Pending,
    /// May start when a worker is free and nobody else writes its files.
    Ready,
    /// A worker is about to run.
    Starting {
        /// Who.
        worker: WorkerId,
    },
    /// A worker runs.
    Working {
        /// Who.
        worker: WorkerId,
    },
    /// A person is asked: its worker ended without what it was denied, or its change wants a yes.
    Waiting {
        /// The question.
        need: NeedId,
        /// What it is about.
        reason: String,
    },
    /// The worker says it is done; its change is being captured.
    Capturing {
        /// Who.
        worker: WorkerId,
    },
    /// The change is a commit; no gate has judged it yet.
    Captured {
        /// The change.
        change: Change,
    },
    /// Some gates have judged it.
    Gating {
        /// The change.
        change: Change,
    },
    /// No gate refuses it; it waits for its turn to be merged.
    Passed {
        /// The change.
        change: Change,
    },
    /// No gate refuses it; another agent has reserved files that it changes, so that its merge waits.
    Held {
        /// The change.
        change: Change,
        /// Who has reserved what.
        lease: HeldBy,
    },
    /// It is being merged.
    Merging {
        /// The change.
        change: Change,
        /// Head of the run's branch when that began.
        onto: String,
    },
    /// It is in the run's branch.
    Merged {
        /// The commit in the run's branch.
        commit: String,
    },
    /// It is done and is not merged by itself: a report, or a part of a task on which several work.
    Done {
        /// The commit of its change; empty where there is none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        commit: String,
    },
    /// It can't go on without a person.
    Blocked {
        /// Why.
        reason: String,
    },
    /// It can't start: a task that it needs was blocked or stopped.
    DepFailed {
        /// Which one.
        root: TaskId,
    },
    /// It was stopped.
    Stopped,
}

impl TaskState {
    /// Whether what the task was to do is done, with or without a merge.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        matches!(self, Self::Merged { .. } | Self::Done { .. })
    }

    /// Whether nothing more happens to the task unless a person asks for it.
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

/// What a gate said about the present attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateReport {
    /// Which gate.
    pub gate: String,
    /// Whether the task requires it.
    pub required: bool,
    /// Its verdict.
    pub verdict: Verdict,
    /// Why.
    pub reasons: Vec<String>,
}

/// What the worker of a step said about the present attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepReport {
    /// Which step.
    pub step: StepId,
    /// Its verdict.
    pub verdict: Verdict,
    /// What it says.
    pub reasons: Vec<String>,
}

/// One task as status, report and page show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskView {
    /// Which task.
    pub task: TaskId,
    /// Its state.
    #[serde(flatten)]
    pub state: TaskState,
    /// The present attempt, from 1.
    pub attempt: u32,
    /// Workers lost since the last retry by a person.
    pub losses: u32,
    /// Whether somebody asked to stop it.
    pub stopping: bool,
    /// Why it is paused, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<TaskPauseCause>,
    /// Why it has no worker, where it needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_started: Option<Skipped>,
    /// What the gates said about the present attempt, required ones first.
    pub gates: Vec<GateReport>,
    /// Gates of its way that have not spoken about the present attempt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending_gates: Vec<String>,
    /// What workers of later steps said about the present attempt, in the order of the steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepReport>,
    /// The step that is at work or next, where it is another than the one that makes the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// Why earlier attempts were refused, oldest first.
    pub refusals: Vec<Refusal>,
}
