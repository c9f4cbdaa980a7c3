//! Turns of a debate that are omitted.

use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::Verdict;
use switchboard_protocol::run::way::StepId;

use super::consequences::Consequences;
use super::record::{Ending, OpenFor};
use super::{Refused, RunState};
use crate::way::Judgement;

impl RunState {
    /// Records that a turn is omitted: its step passes without a worker.
    pub(super) fn turn_omitted(&mut self, id: &TaskId, step: &StepId, attempt: u32) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        let record = &self.records[at];
        if matches!(record.ending, Some(Ending::Done { .. })) && record.workers.is_empty() {
            return Ok(Vec::new());
        }
        let OpenFor::Worker { step: open } = record.open_for() else {
            return Err(Refused::stale(format!("task {id} waits for no worker")));
        };
        let found = &record.unit.way().steps()[open];
        // A turn belongs to another task and says something; neither a review nor work on the change can be omitted.
        let is_turn = record.parent.is_some() && found.does.writes().is_empty() && !record.answers_in(open);
        if found.id != *step || !is_turn {
            return Err(Refused::illegal(format!("step {step} of task {id} is no turn that can be omitted")));
        }
        self.expect_attempt(at, attempt)?;
        let passed = Judgement { input: None, verdict: Verdict::Pass, output: None };
        let moved = self.records[at].unit.judge(open, passed);
        let moved = moved.map_err(|why| Refused::stale(format!("task {id}: {why}")))?;
        Ok(self.after(at, moved, String::new()))
    }
}
