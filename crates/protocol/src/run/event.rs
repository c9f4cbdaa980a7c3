//! Events of a run.

mod about;
mod fitted;

use serde::{Deserialize, Serialize};

use super::budget::{Budget, BudgetScope, PauseCause, TaskPauseCause};
use super::held::HeldBy;
use super::way::{StepId, UnitId};
use super::{AutoTurnKind, Change, PersonAnswer, RunOutcome, SetupCommand, TurnOutcome, Verdict, WorkerTimeout};
use crate::id::{AgentName, Digest, NeedId, RunId, WorkerId};
use crate::isolation::Isolation;
use crate::job::Coordination;
use crate::plan::TaskId;
use crate::schema::JsonSchema;

pub use self::fitted::TEXT_BUDGET;

/// An event of a run. Folding all events in order gives the run's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(tag = "kind", content = "facts")]
pub enum RunEvent {
    /// A run was set up. Recorded before `run_started`, in the same commit.
    RunConfigured {
        /// Id of the run.
        run: RunId,
        /// Title of the plan, shortened.
        title: String,
        /// Ledger hash of the plan.
        plan_hash: String,
        /// Where the plan came from.
        source: String,
        /// Name of the user's branch.
        target: String,
        /// Commit that the run starts from.
        base: String,
        /// Name of the run's branch.
        branch: String,
        /// Folder of the run's work trees.
        worktrees: String,
        /// Agent of the tasks that name none.
        default_agent: Option<AgentName>,
        /// Whether to merge into the user's branch at the end.
        merge: bool,
        /// Number of tasks.
        tasks: u64,
        /// Isolation of all of the run's workers, if the request set it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        isolation: Option<Isolation>,
        /// True if constrained workers start even where not all restrictions can be enforced.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unenforced: bool,
        /// Whether the run's workers take part in the mail.
        #[serde(default, skip_serializing_if = "Coordination::is_managed")]
        coordination: Coordination,
        /// The user's work tree that the run was started from: empty for the main one, else `worktrees/NAME`.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        tree: String,
        /// Time limit of each attempt, if the request set it.
        #[serde(default, skip_serializing_if = "WorkerTimeout::is_empty")]
        timeout: WorkerTimeout,
        /// Whether a person is asked at the end whether to merge into the user's branch.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        confirms_merge: bool,
        /// Key of the plan, which stays the same when the plan is edited; empty for a job.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        plan_key: String,
        /// Digest of the request: a repeated request is answered with this run.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        asked: String,
    },
    /// The set-up commands of the run's new work trees were derived from lock files, because the plan names none. In the same commit as
    /// `run_configured`.
    SetupChosen {
        /// Id of the run.
        run: RunId,
        /// Commands, in order.
        commands: Vec<SetupCommand>,
    },
    /// The loop that runs a plan unit by unit started this run or retried its failed tasks. Recorded before that, in the same commit.
    LoopTurned {
        /// Id of the run.
        run: RunId,
        /// Number of the turn.
        turn: u32,
        /// Kind of the turn.
        turn_kind: AutoTurnKind,
        /// Unit of the plan; `None` for the whole plan.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<UnitId>,
        /// Run whose work this one starts from; `None` for the user's branch, and for a run that is continued.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        follows: Option<RunId>,
        /// Reason in a sentence; may be cut to fit.
        why: String,
    },
    /// The run was created. Its tasks follow; nothing starts before the last of them is recorded.
    RunStarted {
        /// Title of the plan.
        title: String,
        /// SHA-256 of the whole plan, in hex (`switchboard_pipeline::plan_hash::whole`).
        plan_hash: String,
        /// Commit that the run's branch starts at.
        base: String,
        /// Number of events with plan, ways and units that follow.
        parts: u32,
        /// Maximum number of workers at once; 1 means one whole task at a time, its gates and merge included.
        max_workers: u32,
    },
    /// A part of the plan's text; the parts together are the plan as JSON.
    PlanRecorded {
        /// Number of this part, from 1.
        part: u32,
        /// Number of parts.
        of: u32,
        /// Text of this part.
        text: String,
    },
    /// A part of a way's JSON. Each distinct way is recorded once, before the units that walk it.
    WayRecorded {
        /// SHA-256 of the way's whole JSON.
        way: Digest,
        /// Number of this part, from 1.
        part: u32,
        /// Number of parts.
        of: u32,
        /// Text of this part.
        text: String,
    },
    /// A unit was added to the run. Units come after all units that they refer to.
    UnitAdded {
        /// Id of the unit.
        unit: UnitId,
        /// Group that the unit belongs to; the unit also waits for everything that the group waits for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<UnitId>,
        /// Digest of the unit's way.
        way: Digest,
        /// Units that must be done first.
        after: Vec<UnitId>,
        /// Files, folders and globs that the unit declares to write.
        writes: Vec<String>,
        /// Files, folders and globs that the unit declares to read.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reads: Vec<String>,
        /// Time limit of one attempt, in milliseconds, if there is one.
        timeout_ms: Option<i64>,
    },
    /// More of a unit's lists that don't fit into one event; comes directly after its `UnitAdded`.
    UnitExtended {
        /// Id of the unit.
        unit: UnitId,
        /// Number of this part, from 2; `UnitAdded` is the first.
        part: u32,
        /// More units that must be done first.
        after: Vec<UnitId>,
        /// More declared writes.
        writes: Vec<String>,
        /// More declared reads.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reads: Vec<String>,
    },
    /// A worker is about to be started. Recorded before its start.
    WorkerIntended {
        /// Id of the task.
        task: TaskId,
        /// Id of the step in the task's way.
        #[serde(default = "StepId::work")]
        step: StepId,
        /// Attempt number, from 1.
        attempt: u32,
        /// Id of the worker.
        worker: WorkerId,
    },
    /// A worker runs.
    WorkerStarted {
        /// Id of the task.
        task: TaskId,
        /// Id of the worker.
        worker: WorkerId,
    },
    /// A worker is gone without having ended its turn, or never started. Does not count as an attempt of the agent.
    WorkerLost {
        /// Id of the task.
        task: TaskId,
        /// Id of the worker.
        worker: WorkerId,
        /// What is known about the loss.
        reason: String,
    },
    /// The tree of a worker could not be set up, so the worker was not started: counts neither as an attempt nor as a loss. The task is
    /// blocked.
    TreeSetupFailed {
        /// Id of the task.
        task: TaskId,
        /// Id of the worker that was to work in it.
        worker: WorkerId,
        /// The command and how it ended, with the end of its output and the location of the rest.
        reason: String,
    },
    /// The agent ended its turn, or was made to end it.
    TurnEnded {
        /// Id of the task.
        task: TaskId,
        /// Id of the worker.
        worker: WorkerId,
        /// Outcome of the turn.
        outcome: TurnOutcome,
        /// Explanation of the agent or the driver.
        reason: String,
    },
    /// The contents of the worker's tree were committed as one commit on top of the task's base.
    ChangeCaptured {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// The commit.
        commit: String,
        /// Tree of the commit.
        tree: String,
        /// Parent of the commit; empty in runs that were recorded before ways.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        base: String,
        /// Changed files; may be cut to fit ([`RunEvent::fitted`]).
        files: Vec<String>,
        /// Total number of changed files.
        files_total: u32,
        /// Number of added and removed lines; 0 in runs that were recorded before candidates were compared.
        #[serde(default, skip_serializing_if = "super::change::is_zero")]
        lines: u32,
        /// Git repositories in the work tree, and submodules, whose files can't be part of the change; it is refused because of them. May be
        /// cut to fit.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left_out: Vec<String>,
    },
    /// The worker ended without a permission that was denied, and the task waits for a person. Counts as no attempt. In the same commit as
    /// `need_asked`.
    PersonAsked {
        /// Id of the task.
        task: TaskId,
        /// Id of the worker.
        worker: WorkerId,
        /// Id of the question.
        need: NeedId,
        /// What was denied.
        reason: String,
    },
    /// The change waits for a person's approval. In the same commit as `need_asked`.
    ConfirmationAsked {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// Id of the question.
        need: NeedId,
        /// Digest of what the question is about.
        input: Digest,
        /// Text of the question, and findings of the gates.
        reason: String,
    },
    /// A question that a task waited for was answered or expired.
    PersonAnswered {
        /// Id of the task.
        task: TaskId,
        /// Id of the question.
        need: NeedId,
        /// The answer.
        answer: PersonAnswer,
        /// What the person wants done differently, if a change is refused; may be cut to fit.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
    },
    /// A turn of a debate is omitted because all who replied in the round before agree. It counts as done.
    TurnOmitted {
        /// Id of the task.
        task: TaskId,
        /// Id of the step in the task's way.
        step: StepId,
        /// Attempt number, from 1.
        attempt: u32,
    },
    /// A worker's answer became the verdict of its step.
    StepAnswered {
        /// Id of the task.
        task: TaskId,
        /// Id of the step in the task's way.
        step: StepId,
        /// Attempt number, from 1.
        attempt: u32,
        /// Id of the worker.
        worker: WorkerId,
        /// Digest of what the answer is about.
        input: Digest,
        /// The verdict.
        verdict: Verdict,
        /// Reasons, for the next prompt and for people; may be cut to fit.
        reasons: Vec<String>,
        /// The change with the files that the worker has written, if its verdict refuses the change: the next attempt starts from it. It
        /// has the same parent as the change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<Change>,
    },
    /// A worker's answer was unusable: it is asked for again, and finally counts as no answer.
    AnswerRefused {
        /// Id of the task.
        task: TaskId,
        /// Id of the step in the task's way.
        step: StepId,
        /// Attempt number, from 1.
        attempt: u32,
        /// Id of the worker.
        worker: WorkerId,
        /// What is wrong with the answer; may be cut to fit.
        reason: String,
    },
    /// A worker's step was skipped because nothing in the change requires it.
    StepSkipped {
        /// Id of the task.
        task: TaskId,
        /// Id of the step in the task's way.
        step: StepId,
        /// Attempt number, from 1.
        attempt: u32,
        /// Digest of what was examined.
        input: Digest,
        /// Reason; may be cut to fit.
        reason: String,
    },
    /// The worker left its tree unchanged.
    NothingChanged {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// Step whose worker may leave the change as it is; `None` if the worker had to change something.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<StepId>,
        /// Possible cause, as far as it is known; may be cut to fit.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    /// A gate judged the captured change.
    GateReported {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// Name of the gate.
        gate: String,
        /// Digest of the gate's input; absent in runs that were recorded before ways.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Digest>,
        /// The verdict.
        verdict: Verdict,
        /// True if a person should look at the findings before the change is merged.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        asks: bool,
        /// True if the run stops because of the findings.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        halts: bool,
        /// Reasons, for the next prompt and for people; hold no secret; may be cut to fit.
        reasons: Vec<String>,
    },
    /// The plan's `lint_fix` command was run on the change, before its gates.
    ChangeFixed {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// Commit with the fixes; the captured commit if there are none.
        commit: String,
        /// Tree of the commit.
        tree: String,
        /// Files of the change that were fixed, relative to the repository's root; may be cut to fit.
        files: Vec<String>,
        /// Total number of these files.
        files_total: u32,
        /// Remarks: an exit code other than 0; files outside of the change that the command edited and that were restored.
        told: Vec<String>,
    },
    /// The change was rebased onto the head of the run's branch; gates for its tree judge it again.
    ChangeRebased {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// Commit on top of the head.
        commit: String,
        /// Tree of the commit.
        tree: String,
        /// Head of the run's branch.
        onto: String,
    },
    /// The head of the run's branch is not the parent of the change to be merged, so the change has to be rebased first.
    BranchMoved {
        /// Id of the task whose change was to be merged.
        task: TaskId,
        /// Expected head.
        from: String,
        /// Actual head of the run's branch.
        head: String,
    },
    /// The merge of a change waits because another agent has reserved files of it. Counts as no attempt.
    MergeHeld {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// The lease that reserves the files.
        lease: HeldBy,
    },
    /// No other agent has reserved the files any more: the task waits for its turn again.
    MergeReleased {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
    },
    /// The change is about to be merged into the run's branch. Recorded before the merge.
    MergeIntended {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// The captured commit.
        commit: String,
        /// Head of the run's branch.
        onto: String,
    },
    /// The change was merged into the run's branch.
    TaskMerged {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// New head of the run's branch.
        commit: String,
    },
    /// A task that is not merged separately is done: a report, or a part of a task with several workers.
    TaskDone {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// Id of the task that it is a subtask of.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<TaskId>,
    },
    /// The best change of several workers became the change of their task.
    CandidateChosen {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// Id of the subtask whose change it is.
        candidate: TaskId,
        /// Commit of the change.
        commit: String,
        /// Number of subtasks whose changes it was chosen from.
        among: u32,
    },
    /// The change conflicts with the run's branch, which stays unchanged.
    MergeConflicted {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// Conflicting files; may be cut to fit.
        files: Vec<String>,
    },
    /// A task is blocked: after the fifth refused attempt or the third lost worker, or by a decision elsewhere.
    TaskBlocked {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// Number of retries that a person had requested for the task when this was decided: a retry continues the same attempt, so the
        /// number distinguishes an earlier block from a new one. `None` where a worker's loss in the same commit does, and in older
        /// records.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retries: Option<u32>,
        /// Reason.
        reason: String,
    },
    /// A task can't start because one that it needs, directly or indirectly, was blocked or stopped.
    TaskDepFailed {
        /// Id of the task.
        task: TaskId,
        /// Id of the task that was blocked or stopped.
        root: TaskId,
    },
    /// A stop of a task was requested.
    TaskStopRequested {
        /// Id of the task.
        task: TaskId,
        /// Milliseconds between asking the agent to end and killing its process group, if it is not the default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grace_ms: Option<u64>,
    },
    /// A stop of the whole run was requested.
    RunStopRequested,
    /// The budget of the run was set. Recorded at the run's start if there is a ceiling, and whenever a person changes it.
    BudgetSet {
        /// The budget; `None` removes the ceiling.
        budget: Option<Budget>,
        /// Ceiling of all runs of the plan, in millionths of a US dollar.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan: Option<u64>,
        /// True if there is a ceiling for all runs of a day.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        day: bool,
    },
    /// The ceiling of one task, with all its workers and subtasks, was set. It takes precedence over the task limit in the run's budget.
    TaskBudgetSet {
        /// Id of the task.
        task: TaskId,
        /// Ceiling in millionths of a US dollar; `None` removes it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ceiling: Option<u64>,
    },
    /// The cost of a worker was recorded.
    CostCounted {
        /// Id of the task.
        task: TaskId,
        /// Id of the worker.
        worker: WorkerId,
        /// Total cost of the worker, in millionths of a US dollar.
        total_micro_usd: u64,
        /// True if this is the worker's reservation, because the worker ended without reporting a cost.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        estimated: bool,
    },
    /// Another turn of a worker begins, with a new reservation. Its first turn begins with its start.
    TurnBegun {
        /// Id of the task.
        task: TaskId,
        /// Id of the worker.
        worker: WorkerId,
        /// Number of the turn, from 2.
        turn: u32,
    },
    /// A share of the ceiling is spent: once for each of [`super::ALERTS`].
    BudgetAlert {
        /// Share in percent.
        percent: u8,
        /// Amount spent, in millionths of a US dollar.
        spent: u64,
        /// Id of the task that the ceiling applies to; `None` if it applies to more than a task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Scope of the ceiling if `task` is `None`.
        #[serde(default, skip_serializing_if = "BudgetScope::is_run")]
        of: BudgetScope,
    },
    /// The run was paused: current work finishes, and no worker, gate or merge starts until the run is resumed. A pause because of the
    /// budget stops only workers.
    RunPaused {
        /// Reason.
        cause: PauseCause,
    },
    /// A paused run was resumed.
    RunResumed,
    /// A task was paused: no worker, gate or merge of it starts until it is resumed.
    TaskPaused {
        /// Id of the task.
        task: TaskId,
        /// Reason.
        #[serde(default, skip_serializing_if = "TaskPauseCause::is_requested")]
        cause: TaskPauseCause,
    },
    /// A paused task was resumed.
    TaskResumed {
        /// Id of the task.
        task: TaskId,
    },
    /// An agent began or ceased to lead the run. In a led run a worker starts when the agent has begun its step. Recorded
    /// again of a led run: the agent has lost its seat, and what it was doing itself is open again.
    LedSet {
        /// True if an agent leads the run.
        is_led: bool,
    },
    /// The agent that leads the run begins a step of a task.
    StepBegun {
        /// Id of the task.
        task: TaskId,
        /// Id of the step in the task's way.
        step: StepId,
        /// Attempt number, from 1.
        attempt: u32,
        /// Name of the agent if it does the work itself in the task's tree; otherwise a worker of the run does it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<AgentName>,
    },
    /// The agent that leads the run named the files that a task's coder may change, out of those in the plan.
    ScopeDeclared {
        /// Id of the task.
        task: TaskId,
        /// Paths of the files.
        files: Vec<String>,
    },
    /// A rebase of the tree of a task's worker was requested, onto the present head of the branch that its change is merged into.
    TaskRebaseRequested {
        /// Id of the task.
        task: TaskId,
    },
    /// The tree of a current worker was rebased onto that head, with everything that the worker had written.
    TreeRebased {
        /// Id of the task.
        task: TaskId,
        /// Id of the worker.
        worker: WorkerId,
        /// Head that it was rebased onto.
        onto: String,
        /// Commit that the attempt now starts from; a tree equal to it is no change.
        start: String,
    },
    /// The tree conflicts with what was merged meanwhile and stays unchanged.
    TreeNotRebased {
        /// Id of the task.
        task: TaskId,
        /// Id of the worker.
        worker: WorkerId,
        /// Head; empty if the rebase could not be tried.
        onto: String,
        /// Conflicting files, or the reason why the rebase could not be tried.
        files: Vec<String>,
    },
    /// A person requested a retry of a blocked or stopped task, with all attempts available again.
    TaskRetryRequested {
        /// Id of the task.
        task: TaskId,
        /// Note for the next worker; empty if there is none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
    },
    /// Nothing is left to do.
    RunFinished {
        /// Outcome of the run.
        outcome: RunOutcome,
    },
    /// The run's branch is about to be merged into the user's branch. Recorded before the merge.
    RunMergeIntended {
        /// Id of the run.
        run: RunId,
        /// Name of the user's branch.
        target: String,
        /// Present head of the user's branch.
        from: String,
        /// Head of the user's branch after the merge.
        to: String,
        /// True if this undoes a merge.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        undo: bool,
    },
    /// The run's branch was merged into the user's branch.
    RunMerged {
        /// Id of the run.
        run: RunId,
        /// Name of the user's branch.
        target: String,
        /// Head of the user's branch before the merge.
        from: String,
        /// Head of the user's branch now.
        to: String,
    },
    /// The merge into the user's branch was undone; the branch has its earlier head again.
    RunMergeUndone {
        /// Id of the run.
        run: RunId,
        /// Name of the user's branch.
        target: String,
        /// Head of the user's branch with the run's work.
        from: String,
        /// Head of the user's branch now.
        to: String,
    },
    /// The intended merge did not happen; the user's branch is unchanged.
    RunMergeAbandoned {
        /// Id of the run.
        run: RunId,
        /// Reason.
        why: String,
    },
    /// The remains of one task of an ended run, or the run's own branch, are about to be removed.
    RunCleanIntended {
        /// Id of the run.
        run: RunId,
        /// Id of the task; `None` for the run's own branch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Path of the work tree; empty if there is none.
        worktree: String,
        /// Name of the branch; empty if there is none.
        branch: String,
        /// Head of the branch, from which the branch could be restored.
        commit: String,
        /// Size of the files in the work tree, in bytes.
        bytes: u64,
    },
    /// The remains were removed.
    RunCleaned {
        /// Id of the run.
        run: RunId,
        /// Id of the task; `None` for the run's own branch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Path of the work tree; empty if there is none.
        worktree: String,
        /// Name of the branch; empty if there is none.
        branch: String,
        /// Head of the branch, from which the branch could be restored.
        commit: String,
        /// Size of the files in the work tree, in bytes.
        bytes: u64,
    },
    /// The remains could not be removed, or not all of them.
    RunCleanAbandoned {
        /// Id of the run.
        run: RunId,
        /// Id of the task; `None` for the run's own branch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Reason.
        why: String,
    },
}
