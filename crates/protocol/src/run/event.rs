//! What happens in a run.

mod about;
mod fitted;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::budget::{Budget, BudgetOf, PauseCause, TaskPauseCause};
use super::held::HeldBy;
use super::way::{StepId, UnitId};
use super::{AutoTurnKind, Change, PersonAnswer, RunOutcome, SetupCommand, TurnOutcome, Verdict, WorkerTimeout};
use crate::id::{AgentName, Digest, NeedId, RunId, WorkerId};
use crate::isolation::Isolation;
use crate::job::Coordination;
use crate::plan::TaskId;

pub use self::fitted::TEXT_BUDGET;

/// Something that happened in a run. Folding all of them in order gives its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "facts", rename_all = "snake_case")]
pub enum RunEvent {
    /// A run was set up. Comes before `run_started`, in the same commit.
    RunConfigured {
        /// Id of the run.
        run: RunId,
        /// The plan's title, cut.
        title: String,
        /// The ledger hash of the plan.
        plan_hash: String,
        /// Where the plan came from.
        source: String,
        /// Name of the user's branch.
        target: String,
        /// The commit that the run starts from.
        base: String,
        /// The run's branch.
        branch: String,
        /// Folder of its work trees.
        worktrees: String,
        /// Who does the tasks that name nobody.
        default_agent: Option<AgentName>,
        /// Whether to merge into the user's branch at the end.
        merge: bool,
        /// How many tasks it has.
        tasks: u64,
        /// How all of its workers are held, where the request said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        isolation: Option<Isolation>,
        /// Constrained workers start also where not all of it can be enforced.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unenforced: bool,
        /// Whether its workers take part in the mail.
        #[serde(default, skip_serializing_if = "Coordination::is_managed")]
        coordination: Coordination,
        /// The user's work tree that it was started from: empty for the main one, else `worktrees/NAME`.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        tree: String,
        /// How long each attempt may take, where the request said so.
        #[serde(default, skip_serializing_if = "WorkerTimeout::is_empty")]
        timeout: WorkerTimeout,
        /// Whether a person is asked at the end whether to merge into the user's branch.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        confirms_merge: bool,
        /// What its plan is known by, also once it is edited; empty for a job.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        plan_key: String,
        /// Digest of what was asked for: a repetition of it is answered with this run.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        asked: String,
    },
    /// What each new work tree of the run is set up with, where its plan doesn't say so: follows from lock files. In the same commit as
    /// `run_configured`.
    SetupChosen {
        /// Id of the run.
        run: RunId,
        /// The commands, in their order.
        commands: Vec<SetupCommand>,
    },
    /// The loop that runs a plan unit by unit has started this run, or has its failed tasks tried again. In the same commit as what it does, before it.
    LoopTurned {
        /// Id of the run.
        run: RunId,
        /// The number of the turn.
        turn: u32,
        /// What it does.
        turn_kind: AutoTurnKind,
        /// The part of the plan; `None` is all of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<UnitId>,
        /// The run whose work this one begins at; `None` for the user's branch, and for one that goes on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        follows: Option<RunId>,
        /// Why, in a sentence; may be cut to fit.
        why: String,
    },
    /// The run exists. Its tasks follow; nothing starts before the last of them is known.
    RunStarted {
        /// The plan's title.
        title: String,
        /// SHA-256 in hex of all of the plan (`switchboard_pipeline::plan_hash::whole`).
        plan_hash: String,
        /// The commit that the run's branch begins at.
        base: String,
        /// How many events that bring plan, ways and units will follow.
        parts: u32,
        /// Most workers at once; 1 means one whole task at a time, its gates and merge included.
        max_workers: u32,
    },
    /// A part of the plan's text; the parts together are the plan as JSON.
    PlanRecorded {
        /// Number of this part, from 1.
        part: u32,
        /// How many parts there are.
        of: u32,
        /// The text.
        text: String,
    },
    /// A part of a way's JSON. Each distinct way is recorded once, before the units that walk it.
    WayRecorded {
        /// SHA-256 of all of its JSON.
        way: Digest,
        /// Number of this part, from 1.
        part: u32,
        /// How many parts there are.
        of: u32,
        /// The text.
        text: String,
    },
    /// A unit belongs to the run. Units come after all that they name.
    UnitAdded {
        /// Which.
        unit: UnitId,
        /// The group that it belongs to; what that group waits for, it waits for, too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<UnitId>,
        /// The way that it walks.
        way: Digest,
        /// Units that must be done first.
        after: Vec<UnitId>,
        /// Files, folders and globs that it declares to write.
        writes: Vec<String>,
        /// Files, folders and globs that it declares to read.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reads: Vec<String>,
        /// Longest time of one attempt in milliseconds, if there is a limit.
        timeout_ms: Option<i64>,
    },
    /// More of a unit's lists, where they don't fit into one event; comes directly after its `UnitAdded`.
    UnitExtended {
        /// Which.
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
    /// A worker is about to be started: written before it is.
    WorkerIntended {
        /// Id of the task.
        task: TaskId,
        /// Id of the step in the task's way.
        #[serde(default = "StepId::work")]
        step: StepId,
        /// Attempt number, from 1.
        attempt: u32,
        /// The worker that will be.
        worker: WorkerId,
    },
    /// The worker runs.
    WorkerStarted {
        /// Id of the task.
        task: TaskId,
        /// Id of the worker.
        worker: WorkerId,
    },
    /// The worker is gone without having ended its turn, or never came to be. Not an attempt of the agent.
    WorkerLost {
        /// Id of the task.
        task: TaskId,
        /// Id of the worker.
        worker: WorkerId,
        /// What is known about it.
        reason: String,
    },
    /// The tree of a worker could not be set up, so the worker was not started: neither an attempt of the agent nor a loss. The task is blocked.
    TreeSetupFailed {
        /// Id of the task.
        task: TaskId,
        /// Who would have worked in it.
        worker: WorkerId,
        /// Which command and how it ended, with the end of its output and where the rest is.
        reason: String,
    },
    /// The agent says its turn is over, or was made to end it.
    TurnEnded {
        /// Id of the task.
        task: TaskId,
        /// Id of the worker.
        worker: WorkerId,
        /// How.
        outcome: TurnOutcome,
        /// What the agent or the driver said about it.
        reason: String,
    },
    /// What the worker left in its tree is one commit now, on top of the task's base.
    ChangeCaptured {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// The commit.
        commit: String,
        /// Tree of the commit.
        tree: String,
        /// The commit below it; empty in runs that were recorded before ways.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        base: String,
        /// Changed files; may be cut to fit ([`RunEvent::fitted`]).
        files: Vec<String>,
        /// How many files there are in truth.
        files_total: u32,
        /// Lines added and removed; 0 in runs that were recorded before candidates were compared.
        #[serde(default, skip_serializing_if = "super::change::is_zero")]
        lines: u32,
    },
    /// The worker ended without what it was denied, and the task waits for a person. Spends no attempt. In the same commit as `need_asked`.
    PersonAsked {
        /// Id of the task.
        task: TaskId,
        /// Whose worker.
        worker: WorkerId,
        /// The question.
        need: NeedId,
        /// What was denied.
        reason: String,
    },
    /// The change waits for a person's yes. In the same commit as `need_asked`.
    ConfirmationAsked {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// The question.
        need: NeedId,
        /// Digest of what it is about.
        input: Digest,
        /// The question in words, and what gates have found.
        reason: String,
    },
    /// A person, or the clock, has answered what a task waited for.
    PersonAnswered {
        /// Id of the task.
        task: TaskId,
        /// The question.
        need: NeedId,
        /// What follows.
        answer: PersonAnswer,
        /// What the person wants done differently, where a change is refused; may be cut to fit.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
    },
    /// A turn of a debate is not held, because all who replied in the round before have agreed. It counts as done.
    TurnOmitted {
        /// Id of the task.
        task: TaskId,
        /// Id of the step in the task's way.
        step: StepId,
        /// Attempt number, from 1.
        attempt: u32,
    },
    /// A worker's answer is the verdict of its step.
    StepAnswered {
        /// Id of the task.
        task: TaskId,
        /// Id of the step in the task's way.
        step: StepId,
        /// Attempt number, from 1.
        attempt: u32,
        /// Who has answered.
        worker: WorkerId,
        /// Digest of what the answer is about.
        input: Digest,
        /// Its verdict.
        verdict: Verdict,
        /// What it says, for the next prompt and for people; may be cut to fit.
        reasons: Vec<String>,
        /// The change with what the worker has written, where its verdict refuses the change: the next attempt begins with it. It stands on what
        /// the change stands on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<Change>,
    },
    /// A worker's answer can't be used: it is asked for again, and counts as no answer in the end.
    AnswerRefused {
        /// Id of the task.
        task: TaskId,
        /// Id of the step in the task's way.
        step: StepId,
        /// Attempt number, from 1.
        attempt: u32,
        /// Whose answer it is.
        worker: WorkerId,
        /// What is wrong with it; may be cut to fit.
        reason: String,
    },
    /// A step of a worker is not done, since nothing in the change calls for it.
    StepSkipped {
        /// Id of the task.
        task: TaskId,
        /// Id of the step in the task's way.
        step: StepId,
        /// Attempt number, from 1.
        attempt: u32,
        /// Digest of what was looked at.
        input: Digest,
        /// Why; may be cut to fit.
        reason: String,
    },
    /// The worker left its tree as it was.
    NothingChanged {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// The step whose worker may leave the change as it is; `None` where the worker had to change something.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<StepId>,
        /// What may have kept it from that, as far as it is known; may be cut to fit.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    /// A gate has judged the captured change.
    GateReported {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// Name of the gate.
        gate: String,
        /// Digest of what it judged; absent in runs that were recorded before ways.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Digest>,
        /// Its verdict.
        verdict: Verdict,
        /// Whether a person should look at what it found before the change is merged.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        asks: bool,
        /// Whether the run is to stop because of what it found.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        halts: bool,
        /// Why, for the next prompt and for people; holds no secret; may be cut to fit.
        reasons: Vec<String>,
    },
    /// The plan's `lint_fix` command was run on the change, before its gates.
    ChangeFixed {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// The commit with what it has mended; the captured one where that is nothing.
        commit: String,
        /// Tree of the commit.
        tree: String,
        /// Files of the change that it has mended, from the root of the repository; may be cut to fit.
        files: Vec<String>,
        /// How many these are.
        files_total: u32,
        /// What else is to be said of it: an exit code that is not 0, files beside the change that it touched and that stay as they were.
        told: Vec<String>,
    },
    /// The change was put on top of the run branch's head; what judges its tree judges it again.
    ChangeRebased {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// The commit on top of the head.
        commit: String,
        /// Tree of the commit.
        tree: String,
        /// The head.
        onto: String,
    },
    /// The run's branch stands elsewhere than below the change that was to be merged, so that it has to be rebased first.
    BranchMoved {
        /// The task whose turn it was.
        task: TaskId,
        /// The head that was expected.
        from: String,
        /// The branch's head.
        head: String,
    },
    /// The merge of a change waits, because another agent has reserved files of it. Spends no attempt.
    MergeHeld {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// Who has reserved what.
        lease: HeldBy,
    },
    /// Nobody else has the files any more: the task waits for its turn again.
    MergeReleased {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
    },
    /// The change is about to be merged into the run's branch: written before it is.
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
    /// The change is in the run's branch.
    TaskMerged {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// The commit that the run's branch now ends with.
        commit: String,
    },
    /// A task that is not merged by itself is done: a report, or a part of a task on which several work.
    TaskDone {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// The task that it is a subtask of.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<TaskId>,
    },
    /// The best change of several workers has become the change of their task.
    CandidateChosen {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// Whose change it is.
        candidate: TaskId,
        /// Its commit.
        commit: String,
        /// Tasks whose changes it was chosen from.
        among: u32,
    },
    /// The change doesn't fit onto the run's branch, which is as it was before.
    MergeConflicted {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// Files in conflict; may be cut to fit.
        files: Vec<String>,
    },
    /// A task can't go on: follows from the fifth refused attempt or the third lost worker, or was decided elsewhere.
    TaskBlocked {
        /// Id of the task.
        task: TaskId,
        /// Attempt number, from 1.
        attempt: u32,
        /// How often a person had asked for a retry of the task when it was decided: a retry goes on in the same attempt, so that a block from before it is told from a
        /// new one. `None` where a worker's loss beside it tells, and in older records.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retries: Option<u32>,
        /// Reason.
        reason: String,
    },
    /// A task can't start because one that it needs, perhaps through others, was blocked or stopped.
    TaskDepFailed {
        /// Id of the task.
        task: TaskId,
        /// The task at the root of it.
        root: TaskId,
    },
    /// Somebody wants a task stopped.
    TaskStopRequested {
        /// Id of the task.
        task: TaskId,
        /// Milliseconds between asking its agent to end and killing its group, where that is not the usual time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grace_ms: Option<u64>,
    },
    /// Somebody wants all of the run stopped.
    RunStopRequested,
    /// What the run may cost from now on. Comes with the run's start where there is a ceiling, and whenever a person changes it.
    BudgetSet {
        /// The budget; `None` lifts the ceiling.
        budget: Option<Budget>,
        /// The ceiling for all runs of its plan, in millionths of a US dollar.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan: Option<u64>,
        /// Whether there is a ceiling for all runs of a day.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        day: bool,
    },
    /// What a task may cost from now on, with all its workers and subtasks. Goes before what the run's budget says of each task.
    TaskBudgetSet {
        /// Id of the task.
        task: TaskId,
        /// The ceiling in millionths of a US dollar; `None` lifts it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ceiling: Option<u64>,
    },
    /// A worker has cost something.
    CostCounted {
        /// Id of the task.
        task: TaskId,
        /// Id of the worker.
        worker: WorkerId,
        /// What it has cost in all, in millionths of a US dollar.
        total_micro_usd: u64,
        /// Whether that is the worker's reservation, since it ended without having told a cost.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        estimated: bool,
    },
    /// A further turn of a worker begins: from here on it has a reservation anew. Its first turn begins with its start.
    TurnBegun {
        /// Id of the task.
        task: TaskId,
        /// Id of the worker.
        worker: WorkerId,
        /// Which turn, from 2.
        turn: u32,
    },
    /// So much of the ceiling is spent: once for each of [`super::ALERTS`].
    BudgetAlert {
        /// The share in percent.
        percent: u8,
        /// What is spent, in millionths of a US dollar.
        spent: u64,
        /// The task whose ceiling it is; `None` is the run's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Whose ceiling it is where `task` is `None`.
        #[serde(default, skip_serializing_if = "BudgetOf::is_run")]
        of: BudgetOf,
    },
    /// The run is paused: what is under way finishes, and no worker, gate or merge starts until it is resumed. A pause for want of budget holds back
    /// workers only.
    RunPaused {
        /// Why.
        cause: PauseCause,
    },
    /// A paused run goes on.
    RunResumed,
    /// No worker, gate or merge of a task starts until it is resumed.
    TaskPaused {
        /// Id of the task.
        task: TaskId,
        /// Why.
        #[serde(default, skip_serializing_if = "TaskPauseCause::is_requested")]
        cause: TaskPauseCause,
    },
    /// A paused task goes on.
    TaskResumed {
        /// Id of the task.
        task: TaskId,
    },
    /// Whether an agent leads the run from now on: then a worker starts when it has begun its step.
    LedSet {
        /// Whether one does.
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
        /// The agent itself, where it does the work with its own hands in the task's tree; a worker of ours does it otherwise.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<AgentName>,
    },
    /// The agent that leads the run names the files that a task's coder may change: no others than the plan names.
    ScopeDeclared {
        /// Id of the task.
        task: TaskId,
        /// The files.
        files: Vec<String>,
    },
    /// Somebody wants the tree of a task's worker put on the present head of the branch that its change goes into.
    TaskRebaseRequested {
        /// Id of the task.
        task: TaskId,
    },
    /// The tree of a worker at work stands on that head, with all that it had written.
    TreeRebased {
        /// Id of the task.
        task: TaskId,
        /// Whose tree.
        worker: WorkerId,
        /// The head.
        onto: String,
        /// The commit that the attempt now began as; leaving just that is no change.
        start: String,
    },
    /// It conflicts with what was merged meanwhile, and is as it was.
    TreeNotRebased {
        /// Id of the task.
        task: TaskId,
        /// Whose tree.
        worker: WorkerId,
        /// The head; empty where it could not be tried.
        onto: String,
        /// The files that conflict, or why it could not be tried.
        files: Vec<String>,
    },
    /// A person wants a blocked or stopped task tried again, with all attempts anew.
    TaskRetryRequested {
        /// Id of the task.
        task: TaskId,
        /// What its next worker is told about it; empty where nothing is.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
    },
    /// Nothing is left to do.
    RunFinished {
        /// How it ended.
        outcome: RunOutcome,
    },
    /// The run's branch is about to be merged into the user's: written before anything moves.
    RunMergeIntended {
        /// Id of the run.
        run: RunId,
        /// Name of the user's branch.
        target: String,
        /// Its head now.
        from: String,
        /// Its head afterwards.
        to: String,
        /// Whether it takes a merge back.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        undo: bool,
    },
    /// The user's branch has the run's work.
    RunMerged {
        /// Id of the run.
        run: RunId,
        /// Name of the user's branch.
        target: String,
        /// Its head before.
        from: String,
        /// Its head now.
        to: String,
    },
    /// The user's branch is where it was before the run's work was merged.
    RunMergeUndone {
        /// Id of the run.
        run: RunId,
        /// Name of the user's branch.
        target: String,
        /// Its head with the run's work.
        from: String,
        /// Its head now.
        to: String,
    },
    /// The merge that was intended did not happen; the user's branch is where it was.
    RunMergeAbandoned {
        /// Id of the run.
        run: RunId,
        /// Reason.
        why: String,
    },
    /// What an ended run left of one task, or its own branch, is to be removed.
    RunCleanIntended {
        /// Id of the run.
        run: RunId,
        /// The task whose it is; `None` for the run's own branch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// The work tree; empty if there is none.
        worktree: String,
        /// The branch; empty if there is none.
        branch: String,
        /// The branch's tip: what a branch of this name would have to be made at to bring it back.
        commit: String,
        /// Bytes of the files in the work tree.
        bytes: u64,
    },
    /// It is gone.
    RunCleaned {
        /// Id of the run.
        run: RunId,
        /// As above.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// As above.
        worktree: String,
        /// As above.
        branch: String,
        /// As above.
        commit: String,
        /// As above.
        bytes: u64,
    },
    /// It could not be removed, or not all of it.
    RunCleanAbandoned {
        /// Id of the run.
        run: RunId,
        /// As above.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Reason.
        why: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_the_shape_of_facts() {
        let event = RunEvent::TaskStopRequested { task: TaskId::new("1.2").unwrap(), grace_ms: None };

        let json = serde_json::to_string(&event).unwrap();

        assert_eq!(json, r#"{"kind":"task_stop_requested","facts":{"task":"1.2"}}"#);
        assert_eq!(serde_json::from_str::<RunEvent>(&json).unwrap(), event);
        assert_eq!(serde_json::to_string(&RunEvent::RunStopRequested).unwrap(), r#"{"kind":"run_stop_requested"}"#);
    }
}
