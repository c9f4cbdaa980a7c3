//! Steps whose worker answers: the answer of a reviewer or test engineer is the verdict of its step.
//!
//! An unusable answer or a failed worker is no verdict on the change: another worker is asked, and after too many of
//! them the task waits for a person. Only a verdict sends the change back to the step that makes it.

use switchboard_protocol::id::{Digest, WorkerId};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::{StepAction, StepId};
use switchboard_protocol::run::{Change, Refusal, RefusalCause, StartFrom, StepWork, Verdict};

use super::consequences::Consequences;
use super::record::{Answer, OpenFor, Record};
use super::{Refused, RunState};
use crate::way::{Judgement, Moved, Slot};

/// Answer of a worker.
pub(super) struct Answered<'a> {
    pub(super) step: &'a StepId,
    pub(super) attempt: u32,
    pub(super) worker: &'a WorkerId,
    pub(super) input: Digest,
    pub(super) verdict: Verdict,
    pub(super) reasons: &'a [String],
    /// Tests that the worker wrote, if it refuses the change.
    pub(super) change: Option<&'a Change>,
}

impl Record {
    /// Returns the role, rights and kind of answer for the worker of a step.
    pub(super) fn step_work(&self, at: usize) -> Option<StepWork> {
        let StepAction::Work { role, writes, answer, .. } = &self.unit.way().steps()[at].does else { return None };
        Some(StepWork { role: role.clone(), writes: writes.clone(), answer: *answer, input: self.unit.input(at) })
    }

    /// Returns the change that the worker of an answering step examines.
    pub(super) fn change_under_review(&self, at: usize) -> Option<StartFrom> {
        let Change { commit, base, .. } = self.unit.change().filter(|_| self.answers_in(at))?.clone();
        Some(StartFrom::Change { commit, base })
    }

    /// Returns the input of the step at the start of its current worker; `None` if the step has none.
    pub(super) fn begun_with(&self, at: usize) -> Option<Digest> {
        match &self.unit.slots()[at] {
            Slot::Intended { input, .. } | Slot::Running { input, .. } | Slot::Ended { input, .. } => Some(*input),
            Slot::Idle | Slot::Judged { .. } => None,
        }
    }

    /// Replaces the previous answer of the same step.
    fn keep_answer(&mut self, answer: Answer) {
        self.answers.retain(|known| known.step != answer.step);
        self.answers.push(answer);
        self.again = None;
    }

    /// Records an answer as the verdict of its step.
    fn take_verdict(&mut self, step: usize, input: Digest, verdict: Verdict) -> Result<Moved, Refused> {
        let judged = self.unit.judge(step, Judgement { input: Some(input), verdict, output: None });
        judged.map_err(|why| Refused::illegal(format!("task {}: {why}", self.id)))
    }
}

impl RunState {
    pub(super) fn step_answered(&mut self, id: &TaskId, answered: &Answered<'_>) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        let step = self.find_step(at, answered.step)?;
        let Answered { attempt, input, verdict, .. } = *answered;
        if let Some(known) = self.records[at].answers.iter().find(|known| (known.step, known.input) == (step, input)) {
            let twice = || Refused::stale(format!("step {} has given another verdict on {id} before", answered.step));
            return if known.verdict == verdict { Ok(Vec::new()) } else { Err(twice()) };
        }
        self.expect_answering(at, step, answered)?;
        let record = &mut self.records[at];
        if record.begun_with(step) != Some(input) {
            return Err(Refused::stale(format!("the answer is about an earlier change of task {id}")));
        }
        let reasons = answered.reasons.to_vec();
        record.keep_answer(Answer { step, attempt, input, verdict, reasons: reasons.clone() });
        let accepts = record.unit.way().steps()[step].need.accepts(verdict);
        if accepts && !record.unit.way().steps()[step].does.writes().is_empty() {
            // The worker's tests are captured next; the step passes only after that.
            return Ok(Vec::new());
        }
        if let Some(change) = answered.change.filter(|_| !accepts) {
            record.unit.hand_on(change.clone());
        }
        let moved = record.take_verdict(step, input, verdict)?;
        if accepts {
            return Ok(self.after(at, moved, String::new()));
        }
        let cause = RefusalCause::Step { step: answered.step.clone() };
        let last = super::attempt::describe(&cause, &reasons);
        record.refusals.push(Refusal { attempt, cause, reasons });
        // This refusal came neither from a gate nor from a worker's failure, so the count of similar ends starts anew.
        record.alike = None;
        record.begin_after_refusal();
        if let (Some(_), Some(Change { commit, base, .. })) = (answered.change, record.unit.change().cloned()) {
            // The next attempt needs the tests that refuse the change, whatever start point the plan sets.
            record.from = StartFrom::Change { commit, base };
        }
        Ok(self.after(at, moved, last))
    }

    pub(super) fn answer_refused(
        &mut self,
        id: &TaskId,
        (step, attempt): (&StepId, u32),
        worker: &WorkerId,
        reason: &str,
    ) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        let step = self.find_step(at, step)?;
        self.expect_attempt(at, attempt)?;
        if self.records[at].unit.step_of(worker) != Some(step) {
            return self.expect_past_worker(at, worker);
        }
        self.expect_ended(at, step, worker)?;
        let record = &mut self.records[at];
        record.again = Some(reason.to_owned());
        let asked = record.unit.ask_again(step);
        let moved = asked.map_err(|why| Refused::stale(format!("task {id}: {why}")))?;
        self.queue.remove_live(at);
        Ok(self.after(at, moved, reason.to_owned()))
    }

    /// Records that no part of the change requires the step.
    pub(super) fn step_skipped(
        &mut self,
        id: &TaskId,
        (step, attempt): (&StepId, u32),
        input: Digest,
        reason: &str,
    ) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        let step = self.find_step(at, step)?;
        self.expect_attempt(at, attempt)?;
        let record = &mut self.records[at];
        if record.unit.verdict(step) == Some(Verdict::Skipped) {
            return Ok(Vec::new());
        }
        if record.open_for() != (OpenFor::Worker { step }) || record.unit.input(step) != input {
            return Err(Refused::stale(format!("task {id} is not at this step, or has another change by now")));
        }
        let verdict = Verdict::Skipped;
        record.keep_answer(Answer { step, attempt, input, verdict, reasons: vec![reason.to_owned()] });
        let moved = record.take_verdict(step, input, verdict)?;
        Ok(self.after(at, moved, String::new()))
    }

    /// Skips a step that was left out when the way was compiled.
    pub(super) fn pass_left_out(&mut self, at: usize, step: usize) -> Consequences {
        let judgement = Judgement { input: None, verdict: Verdict::Skipped, output: None };
        // The step is open, so this can't be refused.
        let Ok(moved) = self.records[at].unit.judge(step, judgement) else { return Vec::new() };
        self.after(at, moved, String::new())
    }

    /// Handles the failure of an answering step's worker, which is no verdict on the change.
    pub(super) fn answerer_failed(&mut self, at: usize, step: usize, last: String) -> Consequences {
        self.queue.remove_live(at);
        let moved = self.records[at].unit.fail(step).unwrap_or(Moved::On);
        self.after(at, moved, last)
    }

    fn find_step(&self, at: usize, step: &StepId) -> Result<usize, Refused> {
        let record = &self.records[at];
        let found = record.unit.way().find(step).filter(|found| record.answers_in(*found));
        found.ok_or_else(|| Refused::illegal(format!("task {} has no step {step} that answers", record.id)))
    }

    /// Rejects a capture of what an answering step's worker wrote before its answer is recorded.
    pub(super) fn expect_answered(&self, at: usize, step: usize) -> Result<(), Refused> {
        let record = &self.records[at];
        let has_answered = |answer: &Answer| answer.step == step && record.begun_with(step) == Some(answer.input);
        if !record.answers_in(step) || record.answers.iter().any(has_answered) {
            return Ok(());
        }
        let name = &record.unit.way().steps()[step].id;
        Err(Refused::illegal(format!("the worker of step {name} of task {} has not answered", record.id)))
    }

    fn expect_answering(&self, at: usize, step: usize, answered: &Answered<'_>) -> Result<(), Refused> {
        self.expect_attempt(at, answered.attempt)?;
        self.expect_ended(at, step, answered.worker)
    }

    /// Rejects an answer unless its worker belongs to the step and its turn is over.
    fn expect_ended(&self, at: usize, step: usize, worker: &WorkerId) -> Result<(), Refused> {
        let record = &self.records[at];
        let is_theirs = record.unit.step_of(worker) == Some(step);
        if is_theirs && matches!(record.unit.slots()[step], Slot::Ended { .. }) {
            return Ok(());
        }
        Err(Refused::stale(format!("worker {worker} of task {} has no answer to give now", record.id)))
    }
}
