//! Handles a worker that ended because something was denied to it: its task waits for a person, who lets it continue or
//! blocks it.

use switchboard_protocol::id::{NeedId, WorkerId};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::PersonAnswer;

use super::consequences::Consequences;
use super::record::Waiting;
use super::{Refused, RunState};
use crate::way::{Hold, Slot};

impl RunState {
    /// Records that the worker ended and a person is asked. Counts neither as an attempt nor as a loss; the next worker
    /// continues in its tree.
    pub(super) fn person_asked(
        &mut self,
        id: &TaskId,
        worker: &WorkerId,
        need: &NeedId,
        reason: &str,
    ) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        if self.records[at].asked.contains(need) {
            return Ok(Vec::new());
        }
        let step = self.records[at].unit.step_of(worker).filter(|_| !self.records[at].is_settled());
        let Some(step) = step else {
            return Err(Refused::stale(format!("task {id} has no worker {worker} at work")));
        };
        let has_run = !matches!(self.records[at].unit.slots()[step], Slot::Intended { .. });
        let record = &mut self.records[at];
        let put_off = record.unit.put_off(step);
        put_off.map_err(|why| Refused::stale(format!("task {id}: {why}")))?;
        record.resume = true;
        record.asked.insert(need.clone());
        record.waiting = Some(Waiting { need: need.clone(), reason: reason.to_owned(), step: None });
        self.queue.remove_live(at);
        let consequences = self.worker_ended(id, worker, has_run);
        self.reindex(at);
        Ok(consequences)
    }

    pub(super) fn person_answered(
        &mut self,
        id: &TaskId,
        need: &NeedId,
        answer: PersonAnswer,
        note: &str,
    ) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        let record = &mut self.records[at];
        let Some(waiting) = record.waiting.take_if(|waiting| waiting.need == *need) else {
            let is_past = record.asked.contains(need);
            let unknown = || Refused::stale(format!("task {id} does not wait for {need}"));
            return if is_past { Ok(Vec::new()) } else { Err(unknown()) };
        };
        if record.stopping {
            return Ok(self.stop_now(at));
        }
        if let Some(step) = waiting.step {
            return Ok(self.confirmation_answered(at, step, answer, note, waiting.reason));
        }
        let reason = match answer {
            PersonAnswer::Allow | PersonAnswer::Retry => {
                self.reindex(at);
                return Ok(Vec::new());
            }
            PersonAnswer::GiveUp | PersonAnswer::Withdrawn => waiting.reason,
            PersonAnswer::Expired => format!("nobody answered; {}", waiting.reason),
        };
        record.unit.hold(Hold::Asked);
        Ok(self.block(at, reason))
    }
}
