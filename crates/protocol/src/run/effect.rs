//! Effects: what has to be done next in a run.

use serde::{Deserialize, Serialize};

use super::held::HeldBy;
use super::way::{CommandStep, RoleId, StepId, When, Zone};
use super::{Refusal, RunOutcome};
use crate::answer::AnswerKind;
use crate::id::{AgentName, Digest, NeedId, WorkerId};
use crate::plan::TaskId;
use crate::schema::JsonSchema;

/// State that a worker starts from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum StartFrom {
    /// A new tree at the head of the run's branch.
    RunHead,
    /// The tree of the refused change, on the task's base; the worker amends it.
    Change {
        /// Commit of the refused change.
        commit: String,
        /// Parent of the commit; empty if it is not recorded, then the commit that the last worker began on.
        base: String,
    },
    /// A new tree at the head of the run's branch with the refused change applied as far as possible.
    Rebased {
        /// Commit of the refused change.
        commit: String,
    },
}

/// A gate that has to judge a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckAsked {
    /// Name of the gate.
    pub gate: String,
    /// Digest of the gate's input, to be repeated in `GateReported`.
    pub input: Digest,
    /// Whether the gate judges; otherwise what to report instead.
    pub when: When,
}

/// What a step requires of its worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepWork {
    /// Role of the worker.
    pub role: RoleId,
    /// Zones that the worker may change; empty for one that only answers.
    pub writes: Vec<Zone>,
    /// Kind of answer, where the answer is the step's verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerKind>,
    /// Digest of what the answer is about.
    pub input: Digest,
}

impl StepWork {
    /// Returns true if the worker works in the tree of its task, and not in a temporary one.
    #[must_use]
    pub fn is_in_task_tree(&self) -> bool {
        self.answer.is_none() || !self.writes.is_empty()
    }
}

/// A finished task, and the worker that gave its answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    /// Id of the task.
    pub task: TaskId,
    /// Id of its last worker, if the task is done; `None` means that there is no answer.
    pub worker: Option<WorkerId>,
}

/// Reason why a worker is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    /// The stop was requested.
    Requested,
    /// A ceiling is reached at which the run or the task is stopped, see [`super::AtCeiling::Halt`].
    Ceiling,
    /// A task changed files beyond its scope, and the plan stops the run for that.
    Violation,
    /// The task's time limit has passed; the turn ends as [`super::TurnOutcome::TimedOut`].
    TimedOut,
    /// The run's budget is spent; the turn ends as [`super::TurnOutcome::Paused`].
    Budget,
}

/// An effect to be carried out. The same effect is returned again until an event answers it, so its executor runs
/// one per [`Effect::key`] at a time; an intent is committed before anything outside of the log changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Commit `WorkerIntended`, then start a worker. Answered by `WorkerStarted` or `WorkerLost`.
    StartWorker {
        /// Id of the task.
        task: TaskId,
        /// Id of the step in the task's way.
        step: StepId,
        /// What the step requires of its worker.
        work: StepWork,
        /// Attempt number, from 1.
        attempt: u32,
        /// Number of workers that the task had before, lost ones included.
        starts: u32,
        /// Number of most recent transient model errors in a row.
        transients: u32,
        /// Number of refusals since a person last asked for a retry, and the maximum; 0 means no limit.
        tried: (u32, u32),
        /// State that its tree starts from.
        from: StartFrom,
        /// True if a worker of the same attempt was lost: if its tree still exists, its contents are kept.
        resume: bool,
        /// Refusals of earlier attempts, oldest first.
        refusals: Vec<Refusal>,
        /// What was wrong with the last answer, if the answer is asked for again.
        again: Option<String>,
        /// Finished tasks whose answers the worker may be shown.
        answers: Vec<Answered>,
        /// Name of the agent that leads the run, if it does the work itself.
        by: Option<AgentName>,
        /// Files that the coder may change, if the agent that leads the run has named them.
        declared: Vec<String>,
        /// Note for the retry; empty if there is none.
        note: String,
    },
    /// Commit the worker's change. Answered by `ChangeCaptured`, or by `NothingChanged` when its tree
    /// is the one that the attempt began with.
    Capture {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// Id of the worker.
        worker: WorkerId,
        /// Commit at which the tree may be left unchanged: the change of the step before in a chain.
        carried: Option<String>,
        /// True if the worker may leave the tree unchanged.
        may_keep: bool,
    },
    /// Take the answer of a worker whose turn is over, and the files it wrote if it may write. Answered by `StepAnswered`, with
    /// `ChangeCaptured` or `NothingChanged` if it may write, or by `AnswerRefused`.
    TakeAnswer {
        /// Id of the task.
        task: TaskId,
        /// Id of the step in the task's way.
        step: StepId,
        /// What the step requires of its worker.
        work: StepWork,
        /// Attempt number, from 1.
        attempt: u32,
        /// Id of the worker.
        worker: WorkerId,
        /// Digest of what the answer is about, to be repeated in the event.
        input: Digest,
    },
    /// Have the change judged by all gates for its tree. Answered by one `GateReported` per gate.
    RunChecks {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// The captured commit.
        commit: String,
        /// Parent of the commit, with which findings are compared; empty if it is not recorded.
        base: String,
        /// Task in whose work tree the change is: another one if its change was chosen.
        tree_of: TaskId,
        /// Gates that have not reported on the change yet.
        checks: Vec<CheckAsked>,
        /// Files that the coder may change, if the agent that leads the run has named them.
        declared: Vec<String>,
    },
    /// Run the plan's `lint_fix` command on the change. Answered by `ChangeFixed`.
    FixLint {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// The captured commit.
        commit: String,
        /// Parent of the commit.
        base: String,
    },
    /// Carry out a step that is one of Switchboard's own commands. A rebase is answered by `ChangeRebased` or `MergeConflicted`.
    RunCommand {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// The command.
        kind: CommandStep,
        /// The captured commit.
        commit: String,
        /// Task in whose work tree the change is.
        tree_of: TaskId,
    },
    /// Commit `MergeIntended`, then move the run's branch to the change, whose base is the branch's head. Answered by `TaskMerged`,
    /// by `BranchMoved` when the head is another, by `MergeHeld` when another agent has reserved files of it, or by `MergeConflicted`.
    Merge {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// The captured commit.
        commit: String,
        /// Parent of the commit; empty if it is not recorded, then the branch's head.
        base: String,
    },
    /// Wait until no other agent has reserved files of a change. Answered by `MergeReleased`, or by `MergeHeld` if another lease holds it by
    /// then.
    AwaitLease {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// The captured commit.
        commit: String,
        /// Parent of the commit.
        base: String,
        /// The lease, as far as it is known.
        lease: HeldBy,
    },
    /// Ask a person about a change. Answered by `ConfirmationAsked`.
    AskPerson {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// The captured commit.
        commit: String,
        /// Parent of the commit.
        base: String,
        /// Digest of what the question is about, to be repeated in the event.
        input: Digest,
        /// Question in the plan; `None` if only gates ask.
        question: Option<String>,
        /// Findings of gates that a person should look at.
        findings: Vec<String>,
    },
    /// Wait for a person's answer. Answered by `PersonAnswered`.
    AwaitAnswer {
        /// Id of the task.
        task: TaskId,
        /// Id of the question.
        need: NeedId,
    },
    /// Withdraw a question because its task is being stopped. Answered by `PersonAnswered`.
    WithdrawQuestion {
        /// Id of the task.
        task: TaskId,
        /// Id of the question.
        need: NeedId,
    },
    /// Stop a worker. Answered by `TurnEnded` or `WorkerLost`.
    StopWorker {
        /// Id of the task.
        task: TaskId,
        /// Id of the worker.
        worker: WorkerId,
        /// Reason.
        cause: StopCause,
        /// Milliseconds between asking the agent to end and killing its process group, if the request set it.
        grace_ms: Option<u64>,
    },
    /// Rebase the tree of a worker onto the head of its branch once the worker waits between two tools. Answered by `TreeRebased` or
    /// `TreeNotRebased`; by nothing if the worker ends first.
    RebaseTree {
        /// Id of the task.
        task: TaskId,
        /// Id of the worker.
        worker: WorkerId,
    },
    /// Commit `RunFinished`.
    Finish {
        /// Outcome of the run.
        outcome: RunOutcome,
    },
}

/// Key of an effect; two effects with the same key are the same piece of work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectKey {
    kind: Kind,
    task: Option<TaskId>,
    attempt: u32,
    /// Id of the worker or the question.
    of: Option<String>,
}

/// Variant of the [`Effect`] that a key is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    StartWorker,
    Capture,
    RunChecks,
    Merge,
    StopWorker,
    Finish,
    RunCommand,
    AwaitLease,
    AwaitAnswer,
    WithdrawQuestion,
    AskPerson,
    TakeAnswer,
    RebaseTree,
    FixLint,
}

// === impl EffectKey ===

impl EffectKey {
    /// Returns the key of the gates on an attempt ([`Effect::RunChecks`]).
    #[must_use]
    pub fn of_checks(task: &TaskId, attempt: u32) -> Self {
        Self { kind: Kind::RunChecks, task: Some(task.clone()), attempt, of: None }
    }

    /// Returns the key of the start of a task's worker after this many starts ([`Effect::StartWorker`]).
    #[must_use]
    pub fn of_start(task: &TaskId, starts: u32) -> Self {
        Self { kind: Kind::StartWorker, task: Some(task.clone()), attempt: starts, of: None }
    }

    /// Returns the task if the effect starts its worker ([`Effect::StartWorker`]).
    #[must_use]
    pub fn started(&self) -> Option<&TaskId> {
        self.task.as_ref().filter(|_| self.kind == Kind::StartWorker)
    }

    /// Returns the task if the effect rebases the tree of its worker ([`Effect::RebaseTree`]).
    #[must_use]
    pub fn rebased(&self) -> Option<&TaskId> {
        self.task.as_ref().filter(|_| self.kind == Kind::RebaseTree)
    }

    /// Returns the task if the effect needs the task's tree for itself ([`Effect::StartWorker`], [`Effect::Capture`]).
    #[must_use]
    pub fn tree_of(&self) -> Option<&TaskId> {
        self.task.as_ref().filter(|_| matches!(self.kind, Kind::StartWorker | Kind::Capture))
    }

    /// Returns true if no other merge may be under way beside the effect: a merge, or a command that runs on the branch.
    #[must_use]
    pub fn is_merge(&self) -> bool {
        matches!(self.kind, Kind::Merge | Kind::RunCommand)
    }
}

// === impl Effect ===

impl Effect {
    /// Returns the task of the effect, with the attempt if there is one.
    #[must_use]
    pub fn attempt(&self) -> Option<(TaskId, u32)> {
        match self {
            Self::StartWorker { task, attempt, .. }
            | Self::Capture { task, attempt, .. }
            | Self::TakeAnswer { task, attempt, .. }
            | Self::RunChecks { task, attempt, .. }
            | Self::FixLint { task, attempt, .. }
            | Self::RunCommand { task, attempt, .. }
            | Self::Merge { task, attempt, .. }
            | Self::AwaitLease { task, attempt, .. }
            | Self::AskPerson { task, attempt, .. } => Some((task.clone(), *attempt)),
            Self::AwaitAnswer { .. }
            | Self::WithdrawQuestion { .. }
            | Self::StopWorker { .. }
            | Self::RebaseTree { .. }
            | Self::Finish { .. } => None,
        }
    }

    /// Returns the key of the effect: at most one effect per key runs at a time.
    #[must_use]
    pub fn key(&self) -> EffectKey {
        let key = |kind, task: Option<&TaskId>, attempt, of: Option<&str>| EffectKey {
            kind,
            task: task.cloned(),
            attempt,
            of: of.map(str::to_owned),
        };
        match self {
            Self::StartWorker { task, starts, .. } => EffectKey::of_start(task, *starts),
            Self::Capture { task, attempt, worker, carried: _, may_keep: _ } => {
                key(Kind::Capture, Some(task), *attempt, Some(worker.as_str()))
            }
            Self::TakeAnswer { task, attempt, worker, .. } => {
                key(Kind::TakeAnswer, Some(task), *attempt, Some(worker.as_str()))
            }
            Self::RunChecks { task, attempt, .. } => EffectKey::of_checks(task, *attempt),
            Self::RunCommand { task, attempt, .. } => key(Kind::RunCommand, Some(task), *attempt, None),
            Self::Merge { task, attempt, .. } => key(Kind::Merge, Some(task), *attempt, None),
            Self::AwaitLease { task, attempt, .. } => key(Kind::AwaitLease, Some(task), *attempt, None),
            Self::AskPerson { task, attempt, input, .. } => {
                key(Kind::AskPerson, Some(task), *attempt, Some(&input.to_string()))
            }
            Self::AwaitAnswer { task, need } => key(Kind::AwaitAnswer, Some(task), 0, Some(need.as_str())),
            Self::WithdrawQuestion { task, need } => key(Kind::WithdrawQuestion, Some(task), 0, Some(need.as_str())),
            Self::StopWorker { task, worker, .. } => key(Kind::StopWorker, Some(task), 0, Some(worker.as_str())),
            Self::RebaseTree { task, worker } => key(Kind::RebaseTree, Some(task), 0, Some(worker.as_str())),
            Self::FixLint { task, attempt, .. } => key(Kind::FixLint, Some(task), *attempt, None),
            Self::Finish { .. } => key(Kind::Finish, None, 0, None),
        }
    }
}
