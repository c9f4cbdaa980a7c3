//! Requested rebases: the tree of an active worker is moved to the current head of its branch while the worker waits
//! between two tool calls.
//!
//! A captured change needs none: it is rebased before its merge. A task that has not begun starts at the head.

use switchboard_protocol::id::WorkerId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{StartFrom, TaskPauseCause};

use super::consequences::Consequences;
use super::record::{OpenFor, Record};
use super::{Refused, RunState};

/// Reasons for a worker to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waits {
    /// True if the run or the task is paused.
    pub is_paused: bool,
    /// True if the worker's tree is to be rebased, which is done between two tool calls.
    pub for_rebase: bool,
}

// === impl Waits ===

impl Waits {
    /// Returns true if there is a reason to wait.
    #[must_use]
    pub const fn any(self) -> bool {
        self.is_paused || self.for_rebase
    }
}

// === impl Record ===

impl Record {
    /// Returns true if the worker is making its change and its tree is to be rebased.
    pub(super) fn rebases_now(&self) -> bool {
        self.rebase && !self.stopping && self.live_step().is_some_and(|step| !self.answers_in(step))
    }

    /// Returns true if the change is being made, or continues from an earlier worker's tree.
    fn has_tree(&self) -> bool {
        if let Some(step) = self.live_step() {
            return !self.answers_in(step);
        }
        let goes_on = self.resume || matches!(self.from, StartFrom::Change { .. });
        goes_on && matches!(self.open_for(), OpenFor::Worker { step } if !self.answers_in(step))
    }
}

// === impl RunState ===

impl RunState {
    /// Returns the workers that have to wait, in the order of their tasks.
    pub fn waiting_workers(&self) -> impl Iterator<Item = (&WorkerId, Waits)> {
        let all = self.pauses_workers();
        self.queue.live().map(|at| &self.records[at]).filter_map(move |record| {
            let is_paused = all || record.paused == Some(TaskPauseCause::Requested);
            let waits = Waits { is_paused, for_rebase: record.rebases_now() };
            Some((record.live_worker()?, waits)).filter(|(_, waits)| waits.any())
        })
    }

    pub(super) fn rebase_requested(&mut self, id: &TaskId) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        self.expect_live()?;
        if !self.records[at].has_tree() {
            let why = format!("task {id} has no tree that a rebase would change");
            let hint = "what has not begun begins at the head, and a change is rebased before its merge";
            return Err(Refused::illegal(why).hint(hint));
        }
        self.records[at].rebase = true;
        self.reindex(at);
        Ok(Vec::new())
    }

    /// Records that the tree was rebased, or that this failed and the tree is unchanged. If the worker was lost
    /// meanwhile, the next one uses it.
    pub(super) fn tree_rebased(&mut self, id: &TaskId, worker: &WorkerId) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        if self.records[at].workers.last() != Some(worker) || self.records[at].is_settled() {
            return Err(Refused::stale(format!("task {id} has gone on without {worker}")));
        }
        self.records[at].rebase = false;
        self.reindex(at);
        Ok(Vec::new())
    }
}
