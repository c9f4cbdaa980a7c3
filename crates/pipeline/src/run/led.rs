//! A run that an agent leads: a worker starts only after that agent has begun its step. Gates, rebases and merges don't
//! depend on the agent.
//!
//! A begun step includes its input: a lost worker is replaced without a new beginning. A retry is a new input, which
//! must be begun again, and so must a step that the agent did itself when it lost its seat.

use switchboard_protocol::id::{AgentName, WorkerId};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::{StepAction, StepId};

use super::begun::{Begun, OpenStep};
use super::consequences::Consequences;
use super::record::{OpenFor, Record};
use super::{Refused, RunState};

// === impl RunState ===

impl RunState {
    /// Returns true if an agent leads the run.
    #[must_use]
    pub const fn is_led(&self) -> bool {
        self.is_led
    }

    /// Returns the steps that the leading agent may begin now.
    pub fn open_steps(&self) -> impl Iterator<Item = OpenStep> {
        self.tasks.keys().filter_map(|task| self.open_step(task)).filter(|_| self.is_led && self.finished.is_none())
    }

    /// Returns the step of a task that needs a worker and has not been begun; `None` if there is none.
    #[must_use]
    pub fn open_step(&self, task: &TaskId) -> Option<OpenStep> {
        let record = &self.records[*self.tasks.get(task)?];
        let OpenFor::Worker { step } = record.open_for() else { return None };
        if record.is_begun(step) || record.paused.is_some() {
            return None;
        }
        let (id, answers) = (record.unit.way().steps()[step].id.clone(), record.answers_in(step));
        Some(OpenStep { task: task.clone(), step: id, attempt: record.attempt(), answers })
    }

    /// Returns the steps of a task that have not passed for the current input, in the order of its way.
    #[must_use]
    pub fn missing_steps(&self, task: &TaskId) -> Vec<StepId> {
        let Some(record) = self.tasks.get(task).map(|at| &self.records[*at]) else { return Vec::new() };
        let steps = record.unit.way().steps().iter().enumerate();
        let is_missing = |(at, _): &(usize, _)| !record.unit.has_passed(*at);
        steps.filter(is_missing).map(|(_, step)| step.id.clone()).collect()
    }

    /// Returns the workers that represent work by the leading agent itself, with their tasks.
    pub fn leader_workers(&self) -> impl Iterator<Item = (&TaskId, &WorkerId)> {
        self.queue.live().filter_map(|at| {
            let record = &self.records[at];
            record.begun.as_ref().filter(|begun| begun.by.is_some() && record.live_step() == Some(begun.step))?;
            Some((record.task()?, record.live_worker()?))
        })
    }

    /// Returns true if the leading agent does a step itself, or is about to.
    #[must_use]
    pub fn has_work_by_hand(&self) -> bool {
        let is_by_hand = |begun: &Begun| begun.by.is_some() && !begun.is_taken_back;
        self.records.iter().any(|record| record.begun.as_ref().is_some_and(is_by_hand))
    }

    /// Sets whether an agent leads the run. Said again of a run that is led: the agent has lost its seat.
    pub(super) fn led_set(&mut self, is_led: bool) -> Consequences {
        let is_vacant = self.is_led && is_led;
        self.is_led = is_led;
        for at in 0..self.records.len() {
            let record = &mut self.records[at];
            let is_live = record.live_worker().is_some();
            match &mut record.begun {
                Some(begun) if is_vacant && is_live => begun.is_taken_back = begun.by.is_some(),
                Some(begun) if is_vacant && begun.by.is_none() => {}
                // In a run that the engine drives, workers do all steps.
                begun if is_vacant || !is_led && !is_live => *begun = None,
                Some(_) | None => {}
            }
            self.reindex(at);
        }
        Vec::new()
    }

    pub(super) fn step_begun(
        &mut self,
        id: &TaskId,
        step: &StepId,
        attempt: u32,
        by: Option<&AgentName>,
    ) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        if !self.is_led {
            return Err(Refused::illegal("no agent leads the run: its steps begin by themselves"));
        }
        self.expect_attempt(at, attempt)?;
        let record = &self.records[at];
        let wanted = record.unit.way().find(step);
        let Some(wanted) = wanted.filter(|step| record.open_for() == OpenFor::Worker { step: *step }) else {
            return Err(Refused::illegal(format!("step {step} of task {id} is not ready for a worker")));
        };
        if by.is_some() && record.answers_in(wanted) {
            let why = format!("step {step} of task {id} judges the change, which is another's to do");
            return Err(Refused::illegal(why).hint("begin it without `by`: a worker does it"));
        }
        let input = record.unit.input(wanted);
        self.records[at].begun = Some(Begun { step: wanted, input, by: by.cloned(), is_taken_back: false });
        self.reindex(at);
        Ok(Vec::new())
    }

    pub(super) fn scope_declared(&mut self, id: &TaskId, files: &[String]) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        if self.records[at].is_settled() || self.records[at].live_worker().is_some() {
            let why = format!("task {id} is settled, or at work");
            return Err(Refused::illegal(why).hint("declare its files before its work is begun"));
        }
        self.records[at].declared = files.to_vec();
        Ok(Vec::new())
    }

    pub(super) fn expect_begun(&self, at: usize, step: &StepId) -> Result<(), Refused> {
        let record = &self.records[at];
        let is_begun = record.unit.way().find(step).is_some_and(|step| self.may_begin(record, step));
        match is_begun {
            true => Ok(()),
            false => Err(Refused::illegal(format!("step {step} of task {} has not been begun", record.id))),
        }
    }

    /// Returns true if a worker may start for a step: the run has no leading agent, or the agent has begun the step.
    pub(super) fn may_begin(&self, record: &Record, step: usize) -> bool {
        !self.is_led || record.is_begun(step)
    }
}

// === impl Record ===

impl Record {
    /// Returns true if the leading agent has begun a step with its current input.
    pub(super) fn is_begun(&self, step: usize) -> bool {
        self.begun.as_ref().is_some_and(|begun| begun.step == step && begun.input == self.unit.input(step))
    }

    /// Returns the agent that does a step itself.
    pub(super) fn hands_of(&self, step: usize) -> Option<&AgentName> {
        let makes = matches!(self.unit.way().steps()[step].does, StepAction::Work { .. });
        self.begun.as_ref().filter(|_| makes && self.is_begun(step))?.by.as_ref()
    }
}
