//! The state machine of a run: [`RunState::step`] folds events, [`RunState::decide`] returns what to do next.
//!
//! Units walk ways ([`crate::way`]): a task walks its steps, a phase or a slice the units below it. The task state that
//! users see is a projection of its slots: Pending → Ready → Starting → Working → Capturing → Captured → Gating →
//! Passed → Merging → Merged. A refused attempt (agent failed, nothing changed, gate, conflict) returns the task to
//! Ready until its attempts are used up. Then it becomes Blocked, and all tasks that wait for it DepFailed. Tasks that
//! write the same files are never between Starting and Merging at the same time. A task keeps its files between
//! attempts, and holds them for its subtasks. One task at a time has its turn at the run's branch, from its rebase
//! through the gates on the new tree to the merge.
//!
//! The engine, which carries out effects, first commits the answering event through `step`, to the state and the log
//! alike. An event that was folded before changes nothing, or is [`Refused`]; it never causes a second effect. `step`
//! and `decide` never scan all units: each unit has a position in the lists of [`queue`](self::queue).

mod account;
mod adding;
mod answering;
mod attempt;
mod attempt_end;
mod begun;
mod branches;
mod choosing;
mod confirming;
mod consequences;
mod control;
pub mod decide;
mod denied;
mod ended;
mod expect;
mod judging;
mod led;
mod not_started;
mod older;
mod omitting;
mod queue;
mod rebasing;
mod record;
mod repeated_ends;
mod settling;
mod step;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use switchboard_protocol::id::Digest;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::UnitId;
use switchboard_protocol::run::{Budget, PauseCause, RunOutcome, TaskPauseCause, TaskView};
use switchboard_protocol::time::Millis;

pub use attempt::{describe, words_of};
pub use begun::OpenStep;
pub use consequences::Consequences;
pub use older::Reader;
pub use rebasing::Waits;

use crate::way::Graph;
use account::Account;
use ended::Ended;
use queue::Queue;
use record::Record;

/// The folded state of one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunState {
    header: Option<Header>,
    /// Number of opening events so far.
    parts: u32,
    /// Number of plan parts so far.
    plan_parts: u32,
    ways: BTreeMap<Digest, Arc<Graph>>,
    /// The way whose parts are being received.
    way_text: Option<WayText>,
    records: Vec<Record>,
    by_id: BTreeMap<UnitId, usize>,
    tasks: BTreeMap<TaskId, usize>,
    /// Head of the run's branch according to the events.
    head: String,
    queue: Queue,
    /// Tasks that are neither merged nor given up.
    unsettled: usize,
    /// Tasks that were settled or reopened, in order.
    turns: Vec<usize>,
    ended: Ended,
    stopping: bool,
    /// True if the run is being stopped because a gate's report halts it.
    is_violated: bool,
    account: Account,
    /// True if an agent leads the run.
    is_led: bool,
    /// Cause of the pause; `None` if the run is not paused.
    pause: Option<PauseCause>,
    finished: Option<RunOutcome>,
}

/// A way of which some parts are still missing.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WayText {
    way: Digest,
    parts: u32,
    text: String,
}

/// Content of `RunStarted`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Title of the plan.
    pub title: String,
    /// Hash of the whole plan ([`crate::plan_hash::whole`]).
    pub plan_hash: String,
    /// Commit that the run's branch starts from.
    pub base: String,
    /// Number of events that carry plan, ways and units.
    pub parts: u32,
    /// Maximum number of concurrent workers; with 1, one task runs from start to end before the next.
    pub max_workers: u32,
}

/// An event that is impossible in this state. The state stays unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Refused {
    /// The kind of reason.
    pub code: RefusedCode,
    /// What doesn't fit, as text.
    pub why: String,
    /// What to do instead; may be empty.
    pub hint: String,
}

/// Why an event is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedCode {
    /// The run has no such task.
    UnknownTask,
    /// The event belongs to a past attempt or worker.
    Stale,
    /// The state doesn't allow the event.
    Illegal,
    /// The event would exceed a limit: workers, files, one merge at a time.
    Limit,
    /// A budget ceiling of the run or the task is reached; it must be raised first.
    Budget,
}

impl RefusedCode {
    /// Returns the error code for a person's request that is refused.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::UnknownTask => "dispatch.unknown-task",
            Self::Stale | Self::Limit => "store.conflict",
            Self::Illegal => "request.conflict",
            Self::Budget => "dispatch.budget",
        }
    }
}

impl Refused {
    fn new(code: RefusedCode, why: impl Into<String>) -> Self {
        Self { code, why: why.into(), hint: String::new() }
    }

    fn illegal(why: impl Into<String>) -> Self {
        Self::new(RefusedCode::Illegal, why)
    }

    fn stale(why: impl Into<String>) -> Self {
        Self::new(RefusedCode::Stale, why)
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}

impl RunState {
    /// Returns a run of which no event is known yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the content of `RunStarted`, once it was folded.
    #[must_use]
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Returns true if all tasks are known, so that work may begin.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.header.as_ref().is_some_and(|header| header.parts == self.parts)
    }

    /// Returns true if a stop of the run was requested.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.stopping
    }

    /// Returns the cause of the run's pause, if it is paused.
    #[must_use]
    pub const fn pause(&self) -> Option<PauseCause> {
        self.pause
    }

    /// Returns true if the task itself is paused.
    #[must_use]
    pub fn is_paused(&self, id: &TaskId) -> bool {
        self.tasks.get(id).is_some_and(|at| self.records[*at].paused.is_some())
    }

    /// Returns the paused tasks in their natural order, each with the cause of its pause.
    pub fn paused_tasks(&self) -> impl Iterator<Item = (&TaskId, TaskPauseCause)> {
        self.tasks.iter().filter_map(|(id, at)| Some((id, self.records[*at].paused?)))
    }

    /// Returns the budget of the run, if it has a ceiling.
    #[must_use]
    pub const fn budget(&self) -> Option<&Budget> {
        self.account.budget()
    }

    /// Returns the cost of the run so far in millionths of a US dollar, as its workers reported it or as estimated.
    #[must_use]
    pub const fn spent(&self) -> u64 {
        self.account.spent()
    }

    /// Returns the ceiling for all runs of its plan, in millionths of a US dollar.
    #[must_use]
    pub const fn plan_ceiling(&self) -> Option<u64> {
        self.account.plan()
    }

    /// Returns true if a ceiling for all runs of a day is recorded.
    #[must_use]
    pub const fn has_day_ceiling(&self) -> bool {
        self.account.has_day()
    }

    /// Returns the amount that is reserved for its next worker, in millionths of a US dollar.
    #[must_use]
    pub fn reservation(&self) -> u64 {
        self.account.reservation()
    }

    /// Returns the tasks with a worker, each with the rest of its reservation.
    pub fn reserved(&self) -> impl Iterator<Item = (&TaskId, u64)> {
        self.queue.live().filter_map(|at| {
            let record = &self.records[at];
            let left = record.live_worker().map_or(0, |worker| self.account.left_of(worker));
            Some((record.task()?, left))
        })
    }

    /// Returns the outcome of the run, once it has ended.
    #[must_use]
    pub fn outcome(&self) -> Option<RunOutcome> {
        self.finished
    }

    /// Returns true if a task is merged or given up, or if there is no such task.
    #[must_use]
    pub fn is_settled(&self, id: &TaskId) -> bool {
        self.tasks.get(id).is_none_or(|at| self.records[*at].is_settled())
    }

    /// Returns the tasks that are settled in only one of this and an earlier state of the run. The cost grows with
    /// their number, not with that of all tasks.
    #[must_use]
    pub fn settled_difference(&self, earlier: &Self) -> BTreeSet<&TaskId> {
        let since = self.turns.get(earlier.turns.len()..).unwrap_or_default();
        let was_settled = |at: usize| earlier.records.get(at).is_some_and(Record::is_settled);
        let differs = |at: &&usize| self.records[**at].is_settled() != was_settled(**at);
        since.iter().filter(differs).filter_map(|at| self.records[*at].task()).collect()
    }

    /// Returns the ways of the run's units, each once.
    pub fn ways(&self) -> impl Iterator<Item = &Graph> {
        self.ways.values().map(Arc::as_ref)
    }

    /// Returns the parent task of a subtask.
    #[must_use]
    pub fn parent_of(&self, id: &TaskId) -> Option<&TaskId> {
        let parent = self.records[*self.tasks.get(id)?].parent?;
        self.records[parent].task()
    }

    /// Returns how many retries a person requested for a task; 0 if the run has no such task.
    #[must_use]
    pub fn retries_of(&self, id: &TaskId) -> u32 {
        self.tasks.get(id).map_or(0, |at| self.records[*at].retries)
    }

    /// Returns the number of tasks that are neither merged nor given up.
    #[must_use]
    pub fn unsettled_count(&self) -> usize {
        self.unsettled
    }

    /// Returns the tasks that are neither merged nor given up.
    pub fn unsettled(&self) -> impl Iterator<Item = &TaskId> {
        self.tasks.iter().filter(|(_, at)| !self.records[**at].is_settled()).map(|(id, _)| id)
    }

    /// Returns the unsettled tasks that wait for a task, directly, through others, or through a phase, in their natural
    /// order.
    #[must_use]
    pub fn waiting_for(&self, id: &TaskId) -> BTreeSet<TaskId> {
        let (mut seen, mut waiting) = (BTreeSet::new(), BTreeSet::new());
        let mut next: Vec<usize> = self.tasks.get(id).into_iter().copied().collect();
        while let Some(at) = next.pop() {
            for dependent in &self.records[at].dependents {
                let record = &self.records[*dependent];
                if seen.insert(*dependent) && !record.is_settled() {
                    waiting.extend(record.task().cloned());
                    next.push(*dependent);
                }
            }
        }
        waiting
    }

    /// Returns the tasks between an intent and its outcome (Starting, Merging). At boot, the engine first finds out
    /// what became of each and records it as `WorkerStarted` or `WorkerLost`, `TaskMerged` or `MergeConflicted`, or
    /// repeats the merge.
    pub fn in_doubt(&self) -> impl Iterator<Item = TaskView> {
        self.at_work(Record::is_in_doubt)
    }

    /// Returns the tasks with a worker, and the one that has its turn at the run's branch, in their natural order.
    pub fn under_way(&self) -> impl Iterator<Item = TaskView> {
        self.at_work(|_| true)
    }

    fn at_work(&self, is_wanted: fn(&Record) -> bool) -> impl Iterator<Item = TaskView> {
        let begun: BTreeSet<_> = self.queue.live().chain(self.queue.turn()).collect();
        let records = begun.into_iter().map(|at| &self.records[at]).filter(|record| is_wanted(record));
        let mut views: Vec<_> = records.filter_map(Record::view).collect();
        views.sort_by(|a, b| a.task.cmp(&b.task));
        views.into_iter()
    }

    /// Returns the ids of all tasks in their natural order.
    pub fn task_ids(&self) -> impl Iterator<Item = &TaskId> {
        self.tasks.keys()
    }

    /// Returns the next time at which [`decide`](Self::decide) can return something new without an event: the next time
    /// limit of a worker.
    #[must_use]
    pub fn next_deadline(&self, now: Millis) -> Option<Millis> {
        self.queue.next_deadline(now)
    }
}

#[cfg(test)]
mod tests;
