//! What an event has to fit to.

use switchboard_protocol::id::WorkerId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::TaskState;

use super::step::Consequences;
use super::{Refused, RefusedCode, RunState};

impl RunState {
    /// Whether the task may have a worker now.
    pub(super) fn expect_room(&self, at: usize) -> Result<(), Refused> {
        let limit = |why: String| Err(Refused::new(RefusedCode::Limit, why));
        let id = &self.records[at].id;
        let Some(header) = self.header.as_ref().filter(|_| self.is_open() && !self.stopping) else {
            return Err(Refused::illegal("the run doesn't start workers"));
        };
        if self.queue.live_count() >= header.max_workers as usize || !self.may_start_alone(at, header.max_workers) {
            return limit(format!("all {} workers are taken", header.max_workers));
        }
        if self.queue.is_held(at) {
            return limit(format!("another task that has begun writes the same files as {id}"));
        }
        Ok(())
    }

    pub(super) fn find(&self, id: &TaskId) -> Result<usize, Refused> {
        let unknown = || Refused::new(RefusedCode::UnknownTask, format!("the run has no task {id}"));
        self.by_id.get(id).copied().ok_or_else(unknown)
    }

    pub(super) fn expect_attempt(&self, at: usize, attempt: u32) -> Result<(), Refused> {
        let record = &self.records[at];
        if record.attempt == attempt {
            return Ok(());
        }
        Err(Refused::stale(format!("task {} is at attempt {}, not {attempt}", record.id, record.attempt)))
    }

    pub(super) fn expect_capturing(&self, at: usize, attempt: u32) -> Result<(), Refused> {
        self.expect_attempt(at, attempt)?;
        if matches!(self.records[at].state, TaskState::Capturing { .. }) {
            return Ok(());
        }
        Err(Refused::illegal(format!("task {} has no change that is being captured", self.records[at].id)))
    }

    pub(super) fn expect_merging(&self, at: usize) -> Result<(), Refused> {
        if matches!(self.records[at].state, TaskState::Merging { .. }) {
            return Ok(());
        }
        Err(Refused::illegal(format!("task {} is not being merged", self.records[at].id)))
    }

    /// Word of a worker that has had its say changes nothing; word of one that never was is refused.
    pub(super) fn expect_past_worker(&self, at: usize, worker: &WorkerId) -> Result<Consequences, Refused> {
        let record = &self.records[at];
        let mut past = record.workers.iter();
        let starting = matches!(record.state, TaskState::Starting { .. });
        if past.any(|known| known == worker) && !(starting && record.workers.last() == Some(worker)) {
            return Ok(Vec::new());
        }
        Err(Refused::stale(format!("task {} has no worker {worker} at work", record.id)))
    }
}
