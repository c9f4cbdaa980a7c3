//! The state machine of a run: [`RunState::step`] folds what happened, [`RunState::decide`] says what is to be done.
//!
//! Units walk ways ([`crate::way`]): a task its steps, a phase or a slice the units below it. What faces see of a task is a projection of
//! its slots: Pending → Ready → Starting → Working → Capturing → Captured → Gating → Passed → Merging → Merged. A refused
//! attempt (agent failed, nothing changed, gate, conflict) goes back to Ready until its attempts are used up, then to
//! Blocked, and all that wait for it to DepFailed. Tasks that write the same files are never between Starting and
//! Merging at the same time; a task keeps its files between attempts, and holds them for its subtasks. One task at a time has its turn at the run's branch: it keeps it from
//! its rebase, through the gates on the new tree, to the merge.
//!
//! Whoever carries effects out commits the answering event first through `step` on the state and the log alike. An event that
//! was folded before changes nothing, or is [`Refused`]; it never leads to a second effect. Nothing in `step` and `decide` looks at
//! all units: each has its place in the lists of [`queue`](self::queue).

mod account;
mod adding;
mod alike;
mod answering;
mod attempt;
mod attempt_end;
mod begun;
mod branches;
mod choosing;
mod confirming;
mod consequences;
mod control;
mod decide;
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
mod settling;
mod step;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use switchboard_protocol::id::Digest;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::UnitId;
use switchboard_protocol::run::{Budget, PauseCause, RunOutcome, TaskView};
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
    /// Events of the opening so far.
    parts: u32,
    /// Parts of the plan so far.
    plan_parts: u32,
    ways: BTreeMap<Digest, Arc<Graph>>,
    /// The way whose parts are coming in.
    way_text: Option<WayText>,
    records: Vec<Record>,
    by_id: BTreeMap<UnitId, usize>,
    tasks: BTreeMap<TaskId, usize>,
    /// The head of the run's branch, as far as events tell.
    head: String,
    queue: Queue,
    /// Tasks that are neither merged nor given up.
    unsettled: usize,
    /// Tasks that were settled or opened again, in this order.
    turns: Vec<usize>,
    ended: Ended,
    stopping: bool,
    account: Account,
    /// Whether an agent leads the run.
    is_led: bool,
    /// Why nothing starts, if nothing does.
    pause: Option<PauseCause>,
    finished: Option<RunOutcome>,
}

/// A way of which not all parts are there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WayText {
    way: Digest,
    parts: u32,
    text: String,
}

/// What `RunStarted` said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The plan's title.
    pub title: String,
    /// The hash of all of the plan ([`crate::plan_hash::whole`]).
    pub plan_hash: String,
    /// The commit that the run's branch begins at.
    pub base: String,
    /// How many events bring plan, ways and units.
    pub parts: u32,
    /// Most workers at once; 1 means one whole task at a time.
    pub max_workers: u32,
}

/// An event that can't have happened in this state. The state is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Refused {
    /// The kind of reason.
    pub code: RefusedCode,
    /// What doesn't fit, in words.
    pub why: String,
    /// What to do instead; may be empty.
    pub hint: String,
}

/// Why an event is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedCode {
    /// The run has no such task.
    UnknownTask,
    /// The event belongs to an attempt or a worker of the past.
    Stale,
    /// The state doesn't allow it.
    Illegal,
    /// It would break a limit: workers, files, one merge at a time.
    Limit,
    /// A budget ceiling of the run or the task is reached; it must be raised first.
    Budget,
}

impl RefusedCode {
    /// The code of the error table that fits when a person asked for it.
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
    /// A run of which nothing is known yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What `RunStarted` said, once it has.
    #[must_use]
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Whether all tasks are known, so that work may begin.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.header.as_ref().is_some_and(|header| header.parts == self.parts)
    }

    /// Whether somebody asked to stop the run.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.stopping
    }

    /// Why nothing starts in the run, if it is paused.
    #[must_use]
    pub const fn pause(&self) -> Option<PauseCause> {
        self.pause
    }

    /// Whether a task is paused by itself.
    #[must_use]
    pub fn is_paused(&self, id: &TaskId) -> bool {
        self.tasks.get(id).is_some_and(|at| self.records[*at].paused.is_some())
    }

    /// What the run may cost, if there is a ceiling.
    #[must_use]
    pub const fn budget(&self) -> Option<&Budget> {
        self.account.budget()
    }

    /// What the run has cost, in millionths of a US dollar, as far as its workers have told or it is estimated.
    #[must_use]
    pub const fn spent(&self) -> u64 {
        self.account.spent()
    }

    /// The ceiling for all runs of its plan, in millionths of a US dollar.
    #[must_use]
    pub const fn plan_ceiling(&self) -> Option<u64> {
        self.account.plan()
    }

    /// Whether it is recorded that there is a ceiling for all runs of a day.
    #[must_use]
    pub const fn has_day_ceiling(&self) -> bool {
        self.account.has_day()
    }

    /// What is set aside for its next worker, in millionths of a US dollar.
    #[must_use]
    pub fn reservation(&self) -> u64 {
        self.account.reservation()
    }

    /// The tasks with a worker, each with what is left of its reservation.
    pub fn reserved(&self) -> impl Iterator<Item = (&TaskId, u64)> {
        self.queue.live().filter_map(|at| {
            let record = &self.records[at];
            let left = record.live_worker().map_or(0, |worker| self.account.left_of(worker));
            Some((record.task()?, left))
        })
    }

    /// How the run ended, once it has.
    #[must_use]
    pub fn outcome(&self) -> Option<RunOutcome> {
        self.finished
    }

    /// Whether a task is merged or given up; also if there is no such task.
    #[must_use]
    pub fn is_settled(&self, id: &TaskId) -> bool {
        self.tasks.get(id).is_none_or(|at| self.records[*at].is_settled())
    }

    /// Tasks that are settled here and not in an earlier state of the run, or the other way round. Costs by how many there are, not by how many tasks the run has.
    #[must_use]
    pub fn settled_unlike(&self, earlier: &Self) -> BTreeSet<&TaskId> {
        let since = self.turns.get(earlier.turns.len()..).unwrap_or_default();
        let was_settled = |at: usize| earlier.records.get(at).is_some_and(Record::is_settled);
        let differs = |at: &&usize| self.records[**at].is_settled() != was_settled(**at);
        since.iter().filter(differs).filter_map(|at| self.records[*at].task()).collect()
    }

    /// The ways of the run's units, each once.
    pub fn ways(&self) -> impl Iterator<Item = &Graph> {
        self.ways.values().map(Arc::as_ref)
    }

    /// The way that a task walks.
    #[must_use]
    pub fn way_of(&self, id: &TaskId) -> Option<&Graph> {
        self.tasks.get(id).map(|at| self.records[*at].unit.way())
    }

    /// The task that another one is a subtask of.
    #[must_use]
    pub fn whole_of(&self, id: &TaskId) -> Option<&TaskId> {
        let whole = self.records[*self.tasks.get(id)?].whole?;
        self.records[whole].task()
    }

    /// How often a person has asked for a retry of a task; 0 for one that the run does not have.
    #[must_use]
    pub fn retries_of(&self, id: &TaskId) -> u32 {
        self.tasks.get(id).map_or(0, |at| self.records[*at].retries)
    }

    /// How many tasks are neither merged nor given up.
    #[must_use]
    pub fn unsettled_count(&self) -> usize {
        self.unsettled
    }

    /// Tasks that are neither merged nor given up.
    pub fn unsettled(&self) -> impl Iterator<Item = &TaskId> {
        self.tasks.iter().filter(|(_, at)| !self.records[**at].is_settled()).map(|(id, _)| id)
    }

    /// Unsettled tasks that wait for a task, directly, through others, or through a phase; in their natural order.
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

    /// Tasks between an intent and its outcome (Starting, Merging): at boot, find out what became of each before anything
    /// else, and say it by `WorkerStarted` or `WorkerLost`, `TaskMerged` or `MergeConflicted`, or repeat the merge.
    pub fn in_doubt(&self) -> impl Iterator<Item = TaskView> {
        let in_doubt = |record: &&Record| record.is_in_doubt();
        let begun: BTreeSet<_> = self.queue.live().chain(self.queue.turn()).collect();
        let mut views: Vec<_> =
            begun.into_iter().map(|at| &self.records[at]).filter(in_doubt).filter_map(Record::view).collect();
        views.sort_by(|a, b| a.task.cmp(&b.task));
        views.into_iter()
    }

    /// When [`decide`](Self::decide) has something new to say though nothing happens: the next time limit of a worker.
    #[must_use]
    pub fn next_deadline(&self, now: Millis) -> Option<Millis> {
        self.queue.next_deadline(now)
    }
}

#[cfg(test)]
mod tests;
