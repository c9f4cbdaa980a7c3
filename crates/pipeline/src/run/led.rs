//! A run that an agent leads: a worker starts when that agent has begun its step. Gates, rebases and merges need nobody's word.
//!
//! What is begun is a step with its input: a worker that is lost is started again without a further word, and a retry, which is a new input, is begun anew.

use switchboard_protocol::id::{AgentName, WorkerId};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::{Do, StepId};

use super::begun::{Begun, OpenStep};
use super::consequences::Consequences;
use super::record::{OpenFor, Record};
use super::{Refused, RunState};

// === impl RunState ===

impl RunState {
    /// Whether an agent leads the run.
    #[must_use]
    pub const fn is_led(&self) -> bool {
        self.is_led
    }

    /// The steps that the agent which leads the run may begin now.
    pub fn open_steps(&self) -> impl Iterator<Item = OpenStep> {
        self.tasks.keys().filter_map(|task| self.open_step(task)).filter(|_| self.is_led && self.finished.is_none())
    }

    /// The step of a task that needs a worker and has not been begun; `None` if there is none.
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

    /// The steps of a task that have not passed on what stands now, in the order of its way.
    #[must_use]
    pub fn missing_steps(&self, task: &TaskId) -> Vec<StepId> {
        let Some(record) = self.tasks.get(task).map(|at| &self.records[*at]) else { return Vec::new() };
        let steps = record.unit.way().steps().iter().enumerate();
        let is_missing = |(at, _): &(usize, _)| !record.unit.has_passed(*at);
        steps.filter(is_missing).map(|(_, step)| step.id.clone()).collect()
    }

    /// The workers that stand for the hands of the agent which leads the run, with their tasks.
    pub fn hands(&self) -> impl Iterator<Item = (&TaskId, &WorkerId)> {
        self.queue.live().filter_map(|at| {
            let record = &self.records[at];
            record.begun.as_ref().filter(|begun| begun.by.is_some() && record.live_step() == Some(begun.step))?;
            Some((record.task()?, record.live_worker()?))
        })
    }

    pub(super) fn led_set(&mut self, is_led: bool) -> Consequences {
        self.is_led = is_led;
        for at in 0..self.records.len() {
            if !is_led && self.records[at].live_worker().is_none() {
                // What is driven is done by workers of ours.
                self.records[at].begun = None;
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
        self.records[at].begun = Some(Begun { step: wanted, input, by: by.cloned() });
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

    /// Whether a worker may start for a step as far as the agent is concerned that leads the run.
    pub(super) fn may_begin(&self, record: &Record, step: usize) -> bool {
        !self.is_led || record.is_begun(step)
    }
}

// === impl Record ===

impl Record {
    /// Whether the agent that leads the run has begun a step with what it reads now.
    pub(super) fn is_begun(&self, step: usize) -> bool {
        self.begun.as_ref().is_some_and(|begun| begun.step == step && begun.input == self.unit.input(step))
    }

    /// The agent that does a step with its own hands.
    pub(super) fn hands_of(&self, step: usize) -> Option<&AgentName> {
        let makes = matches!(self.unit.way().steps()[step].does, Do::Work { .. });
        self.begun.as_ref().filter(|_| makes && self.is_begun(step))?.by.as_ref()
    }
}
