//! Preconditions of events.

use switchboard_protocol::id::WorkerId;
use switchboard_protocol::plan::TaskId;

use super::consequences::Consequences;
use super::{Refused, RefusedCode, RunState};
use crate::way::Slot;

impl RunState {
    /// Checks whether the task may have a worker now.
    pub(super) fn expect_room(&self, at: usize) -> Result<(), Refused> {
        let limit = |why: String| Err(Refused::new(RefusedCode::Limit, why));
        let id = &self.records[at].id;
        let Some(header) = self.header.as_ref().filter(|_| self.is_open() && !self.stopping) else {
            return Err(Refused::illegal("the run doesn't start workers"));
        };
        if self.pause.is_some() || self.records[at].paused.is_some() {
            return Err(Refused::illegal("the run or the task is paused"));
        }
        if !self.account.has_room(1) {
            return limit("what is left of the budget is less than a worker's reservation".to_owned());
        }
        if self.queue.live_count() >= header.max_workers as usize || !self.may_start_alone(at, header.max_workers) {
            return limit(format!("all {} workers are taken", header.max_workers));
        }
        if self.queue.is_held(self.records[at].parent.unwrap_or(at)) {
            return limit(format!(
                "another task that has begun writes what {id} writes or reads, or reads what it writes"
            ));
        }
        Ok(())
    }

    pub(super) fn find(&self, id: &TaskId) -> Result<usize, Refused> {
        let unknown = || Refused::new(RefusedCode::UnknownTask, format!("the run has no task {id}"));
        self.tasks.get(id).copied().ok_or_else(unknown)
    }

    pub(super) fn expect_attempt(&self, at: usize, attempt: u32) -> Result<(), Refused> {
        let record = &self.records[at];
        if record.attempt() == attempt {
            return Ok(());
        }
        Err(Refused::stale(format!("task {} is at attempt {}, not {attempt}", record.id, record.attempt())))
    }

    /// Returns the step whose change is being captured.
    pub(super) fn expect_capturing(&self, at: usize, attempt: u32) -> Result<usize, Refused> {
        self.expect_attempt(at, attempt)?;
        let record = &self.records[at];
        let step = record.capturing_step().filter(|_| !record.is_settled());
        step.ok_or_else(|| Refused::illegal(format!("task {} has no change that is being captured", record.id)))
    }

    /// Returns the step of the merge in progress.
    pub(super) fn expect_merging(&self, at: usize) -> Result<usize, Refused> {
        let step = self.merge_step(at).filter(|_| self.records[at].is_merging());
        step.ok_or_else(|| Refused::illegal(format!("task {} is not being merged", self.records[at].id)))
    }

    /// Checks that no other task moves the run's branch.
    pub(super) fn expect_turn(&self, at: usize) -> Result<(), Refused> {
        match self.queue.turn().filter(|other| *other != at) {
            None => Ok(()),
            Some(other) => {
                let why = format!("task {} is being merged", self.records[other].id);
                Err(Refused::new(RefusedCode::Limit, why))
            }
        }
    }

    /// Ignores a late event of a worker that has ended, and refuses an event of an unknown worker.
    pub(super) fn expect_past_worker(&self, at: usize, worker: &WorkerId) -> Result<Consequences, Refused> {
        let record = &self.records[at];
        let is_intended = |step: usize| matches!(record.unit.slots()[step], Slot::Intended { .. });
        let is_starting = record.unit.step_of(worker).is_some_and(is_intended);
        if record.workers.contains(worker) && !is_starting {
            return Ok(Vec::new());
        }
        Err(Refused::stale(format!("task {} has no worker {worker} at work", record.id)))
    }
}
