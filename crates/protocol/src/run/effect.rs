//! What is to be done next in a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::held::HeldBy;
use super::way::{CommandStep, RoleId, StepId, When, Zone};
use super::{Refusal, RunOutcome};
use crate::answer::AnswerKind;
use crate::id::{AgentName, Digest, NeedId, WorkerId};
use crate::plan::TaskId;

/// What a worker starts from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum StartFrom {
    /// A fresh tree at the head of the run's branch.
    RunHead,
    /// The tree of the refused change, on the task's base; the worker amends it.
    Change {
        /// The refused commit.
        commit: String,
        /// The commit below it; empty where the record doesn't say, then the one that the last worker began on.
        base: String,
    },
    /// A fresh tree at the head of the run's branch with the refused change put on top as far as it fits.
    Rebased {
        /// The refused commit.
        commit: String,
    },
}

/// A gate that is asked about a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckAsked {
    /// Which gate.
    pub gate: String,
    /// Digest of what it judges, to be given back in `GateReported`.
    pub input: Digest,
    /// Whether it is to judge; otherwise what to report in its place.
    pub when: When,
}

/// What a step wants of its worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepWork {
    /// What the worker is.
    pub role: RoleId,
    /// What it may change; nothing for one that only answers.
    pub writes: Vec<Zone>,
    /// What it has to answer with, where its answer is the step's verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerKind>,
    /// Digest of what its answer will be about.
    pub input: Digest,
}

impl StepWork {
    /// Whether it works in the tree of its task, and not in one that is thrown away.
    #[must_use]
    pub fn is_in_task_tree(&self) -> bool {
        self.answer.is_none() || !self.writes.is_empty()
    }
}

/// A task that is settled, and who answers for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    /// Which task.
    pub task: TaskId,
    /// Its last worker, if the task is done; `None` means that there is no answer.
    pub worker: Option<WorkerId>,
}

/// Why a worker is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    /// Somebody asked for it.
    Requested,
    /// The task's time limit has passed; end its turn as [`super::TurnOutcome::TimedOut`].
    TimedOut,
    /// The run's budget is spent; end its turn as [`super::TurnOutcome::Paused`].
    Budget,
}

/// Something to be done. The same effect is named again until an event answers it, so whoever carries effects out runs
/// one per [`Effect::key`] at a time; an intent is committed before the world is touched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Commit `WorkerIntended`, then start a worker. Answered by `WorkerStarted` or `WorkerLost`.
    StartWorker {
        /// For which task.
        task: TaskId,
        /// For which step of its way.
        step: StepId,
        /// What the step wants of its worker.
        work: StepWork,
        /// For which attempt.
        attempt: u32,
        /// How many workers the task had before, lost ones included.
        starts: u32,
        /// How many transient errors of models they had last, one after the other.
        transients: u32,
        /// How often its change was refused since a person last asked for a retry, and how often that may be; 0 is no limit.
        tried: (u32, u32),
        /// What its tree begins as.
        from: StartFrom,
        /// Whether a worker of the same attempt was lost: if its tree is still there, what it left is kept.
        resume: bool,
        /// Why the attempts before were refused, oldest first.
        refusals: Vec<Refusal>,
        /// What was wrong with the last answer, where it is asked for again.
        again: Option<String>,
        /// What became of the tasks whose answers it may be shown.
        answers: Vec<Answered>,
        /// The agent that does it with its own hands, where the one that leads the run does.
        by: Option<AgentName>,
        /// The files that its coder may change, where the agent that leads the run has named them.
        declared: Vec<String>,
        /// What was said to who tries the task again; empty where nothing was.
        note: String,
    },
    /// Make the worker's change one commit. Answered by `ChangeCaptured`, or by `NothingChanged` when its tree
    /// is the one that the attempt began with.
    Capture {
        /// Of which task.
        task: TaskId,
        /// Of which attempt.
        attempt: u32,
        /// Who worked.
        worker: WorkerId,
        /// The commit with which its tree may be left as it is: the change of the step before in a chain.
        carried: Option<String>,
    },
    /// Take the answer of a worker whose turn is over, and what it wrote where it may write. Answered by `StepAnswered`, with `ChangeCaptured` or
    /// `NothingChanged` where it may write, or by `AnswerRefused`.
    TakeAnswer {
        /// Of which task.
        task: TaskId,
        /// Of which step of its way.
        step: StepId,
        /// What the step wants of its worker.
        work: StepWork,
        /// Of which attempt.
        attempt: u32,
        /// Who worked.
        worker: WorkerId,
        /// Digest of what the answer is about, to be given back.
        input: Digest,
    },
    /// Have the change judged by all gates that judge this tree. Answered by one `GateReported` per gate.
    RunChecks {
        /// Of which task.
        task: TaskId,
        /// Of which attempt.
        attempt: u32,
        /// The captured commit.
        commit: String,
        /// The commit below it, from which new findings are told; empty where the record doesn't say.
        base: String,
        /// The task in whose work tree it stands: another one where its change was chosen.
        tree_of: TaskId,
        /// Gates that have not reported on it yet.
        checks: Vec<CheckAsked>,
        /// The files that its coder may change, where the agent that leads the run has named them.
        declared: Vec<String>,
    },
    /// Run the plan's `lint_fix` command on the change. Answered by `ChangeFixed`.
    FixLint {
        /// Of which task.
        task: TaskId,
        /// Of which attempt.
        attempt: u32,
        /// The captured commit.
        commit: String,
        /// The commit below it.
        base: String,
    },
    /// Do a step that is a command of our own. A rebase is answered by `ChangeRebased` or `MergeConflicted`.
    RunCommand {
        /// Of which task.
        task: TaskId,
        /// Of which attempt.
        attempt: u32,
        /// Which command.
        kind: CommandStep,
        /// The captured commit.
        commit: String,
        /// The task in whose work tree it stands.
        tree_of: TaskId,
    },
    /// Commit `MergeIntended`, then move the run's branch to the change, whose base is the branch's head. Answered by `TaskMerged`,
    /// by `BranchMoved` when the head is another, by `MergeHeld` when another agent has reserved files of it, or by `MergeConflicted`.
    Merge {
        /// Of which task.
        task: TaskId,
        /// Of which attempt.
        attempt: u32,
        /// The captured commit.
        commit: String,
        /// The commit below it; empty where the record doesn't say, then the branch's head.
        base: String,
    },
    /// Wait until nobody else has the files of a change. Answered by `MergeReleased`, or by `MergeHeld` when it is another lease by then.
    AwaitLease {
        /// Of which task.
        task: TaskId,
        /// Of which attempt.
        attempt: u32,
        /// The captured commit.
        commit: String,
        /// The commit below it.
        base: String,
        /// What is known of the lease.
        lease: HeldBy,
    },
    /// Ask a person about a change. Answered by `ConfirmationAsked`.
    AskPerson {
        /// Of which task.
        task: TaskId,
        /// Of which attempt.
        attempt: u32,
        /// The captured commit.
        commit: String,
        /// The commit below it.
        base: String,
        /// Digest of what it is about, to be given back.
        input: Digest,
        /// The plan's question; `None` where only gates ask.
        question: Option<String>,
        /// What gates have found that a person should look at.
        findings: Vec<String>,
    },
    /// Wait until a person has answered. Answered by `PersonAnswered`.
    AwaitAnswer {
        /// Of which task.
        task: TaskId,
        /// The question.
        need: NeedId,
    },
    /// Take a question back: its task is being stopped. Answered by `PersonAnswered`.
    WithdrawQuestion {
        /// Of which task.
        task: TaskId,
        /// The question.
        need: NeedId,
    },
    /// Stop a worker. Answered by `TurnEnded` or `WorkerLost`.
    StopWorker {
        /// Of which task.
        task: TaskId,
        /// Who.
        worker: WorkerId,
        /// Why.
        cause: StopCause,
        /// Milliseconds between asking its agent to end and killing its group, where somebody said so.
        grace_ms: Option<u64>,
    },
    /// Put the tree of a worker on the head of its branch once the worker waits between two tools. Answered by `TreeRebased` or `TreeNotRebased`; by nothing where
    /// the worker ends first.
    RebaseTree {
        /// Of which task.
        task: TaskId,
        /// Whose tree.
        worker: WorkerId,
    },
    /// Commit `RunFinished`.
    Finish {
        /// How it ended.
        outcome: RunOutcome,
    },
}

/// What makes two effects the same piece of work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectKey {
    kind: u8,
    task: Option<TaskId>,
    attempt: u32,
    /// The worker or the question.
    of: Option<String>,
}

impl Effect {
    /// The task that it is about, with its attempt where there is one.
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

    /// The key under which at most one of these is under way.
    #[must_use]
    pub fn key(&self) -> EffectKey {
        let key = |kind, task: Option<&TaskId>, attempt, of: Option<&str>| EffectKey {
            kind,
            task: task.cloned(),
            attempt,
            of: of.map(str::to_owned),
        };
        match self {
            Self::StartWorker { task, starts, .. } => key(0, Some(task), *starts, None),
            Self::Capture { task, attempt, worker, carried: _ } => key(1, Some(task), *attempt, Some(worker.as_str())),
            Self::TakeAnswer { task, attempt, worker, .. } => key(11, Some(task), *attempt, Some(worker.as_str())),
            Self::RunChecks { task, attempt, .. } => key(2, Some(task), *attempt, None),
            Self::RunCommand { task, attempt, .. } => key(6, Some(task), *attempt, None),
            Self::Merge { task, attempt, .. } => key(3, Some(task), *attempt, None),
            Self::AwaitLease { task, attempt, .. } => key(7, Some(task), *attempt, None),
            Self::AskPerson { task, attempt, input, .. } => key(10, Some(task), *attempt, Some(&input.to_string())),
            Self::AwaitAnswer { task, need } => key(8, Some(task), 0, Some(need.as_str())),
            Self::WithdrawQuestion { task, need } => key(9, Some(task), 0, Some(need.as_str())),
            Self::StopWorker { task, worker, .. } => key(4, Some(task), 0, Some(worker.as_str())),
            Self::RebaseTree { task, worker } => key(12, Some(task), 0, Some(worker.as_str())),
            Self::FixLint { task, attempt, .. } => key(13, Some(task), *attempt, None),
            Self::Finish { .. } => key(5, None, 0, None),
        }
    }
}
