//! Parts of a run: runs started for a question to a role or for the tasks of a phase.

use switchboard_pipeline::subtasks::Expanded;
use switchboard_protocol::caller::Caller;
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::RunId;
use switchboard_protocol::modes::{ModeFact, PartWork};
use switchboard_protocol::run::Budget;
use switchboard_protocol::verb::run::{AgentChoice, StartRunRequest};
use switchboard_store::Interest;

use super::record::{Part, subject};
use super::{Driver, Setup, Waited};
use crate::error::shape;
use crate::work::RUNS;
use crate::{Dispatch, Error, report};

/// Run and step for which a part is started.
#[derive(Debug, Clone)]
pub(crate) struct PartOf {
    pub(crate) run: RunId,
    pub(crate) step: u32,
    pub(crate) what: String,
    pub(crate) work: PartWork,
    /// True if an agent leads the run.
    pub(crate) is_led: bool,
}

// === impl PartOf ===

impl PartOf {
    /// Returns true if the part carries out the tasks of a phase.
    pub(crate) fn is_phase(&self) -> bool {
        self.work == PartWork::Phase
    }

    /// Marks the tasks whose workers may leave everything as it is: documentation may be in line already.
    pub(crate) fn mark_optional_changes(&self, expanded: &mut Expanded) {
        let tasks = expanded.plan.tasks().filter(|_| self.work == PartWork::Docs);
        for task in tasks {
            expanded.shapes.entry(task.id.clone()).or_default().may_keep = true;
        }
    }

    /// Returns the event that links a part to its step, for the commit that starts the part.
    pub(crate) fn event(&self, part: &RunId) -> Result<NewEvent, Error> {
        let Self { run, step, what, work, is_led: _ } = self.clone();
        let fact = ModeFact::PartStarted { run, step, part: part.clone(), what, work };
        NewEvent::of(&fact, subject(&self.run), "daemon").map_err(shape("a part"))
    }
}

// === impl Dispatch ===

impl Dispatch {
    /// Returns the state of a run, as its row has it.
    pub(crate) fn state_of(&self, run: &RunId) -> Result<String, Error> {
        let row = self.world.store.get(RUNS, &[run.as_str().into()])?;
        let row = row.ok_or_else(|| Error::Missing(run.to_string()))?;
        Ok(row.try_text("state")?.to_owned())
    }

    /// Waits until a run is over; returns its state.
    pub(super) async fn end_of(&self, run: RunId) -> Result<String, Error> {
        let mut changes = self.world.store.subscribe([Interest::rows(RUNS, "id", run.as_str())]);
        loop {
            let state = self.state_of(&run)?;
            if state != "running" {
                return Ok(state);
            }
            changes.changed().await.map_err(Error::from)?;
        }
    }
}

// === impl Driver ===

impl Driver {
    /// Starts a part for a step; returns the existing part if the step has one already.
    ///
    /// # Errors
    /// When the store fails. A refusal of the start is the inner failure.
    pub(super) async fn start_part(
        &mut self,
        step: u32,
        (work, what): (PartWork, String),
        request: StartRunRequest,
    ) -> Result<Result<Part, Failure>, Error> {
        if let Some(part) = self.record.part_of(step) {
            return Ok(Ok(part.clone()));
        }
        self.make_branch().await?;
        let request = match self.budget()? {
            Ok(budget) => StartRunRequest { budget, agents: self.renewed_agents()?, ..request },
            Err(failure) => return Ok(Err(failure)),
        };
        let caller = Caller::unverified(self.setup.by.clone(), "the run that it has started");
        let is_led = self.record.state().form().is_led();
        let of = PartOf { run: self.run.clone(), step, what, work, is_led };
        let started = Box::pin(self.dispatch.start_plan(request, Some(&of), &caller, None)).await;
        self.dispatch.world.crash("part-started");
        self.record.catch_up(&self.dispatch.world.store)?;
        match started {
            Ok(_) => {
                self.end_pause_for_room().await?;
                let missing = || Error::Missing(format!("the part of step {step} of {}", self.run));
                Ok(Ok(self.record.part_of(step).cloned().ok_or_else(missing)?))
            }
            Err(Error::Stopping) => Err(Error::Stopping),
            // Nobody has to decide about what passes by itself.
            Err(error) if error.may_pass() => Err(error),
            Err(error) => Ok(Err(error.to_failure())),
        }
    }

    /// Returns the agents with the variables that a person's `retry` or `resume` has passed since the last part.
    fn renewed_agents(&mut self) -> Result<Vec<AgentChoice>, Error> {
        self.setup = Setup::read(&self.dispatch.world, &self.run)?;
        Ok(self.setup.template.agents.clone())
    }

    /// Returns what is left of the run's budget for its next part.
    fn budget(&self) -> Result<Result<Option<Budget>, Failure>, Error> {
        let world = &self.dispatch.world;
        let row = world.store.get(RUNS, &[self.run.as_str().into()])?;
        let row = row.ok_or_else(|| Error::Missing(self.run.to_string()))?;
        Ok(report::budget_left(world, &row)?.map_or(Ok(None), |left| match left.ceiling {
            0 => {
                let what = "what the run may cost is spent";
                let hint = format!("raise it: switchboard budget {} --budget USD", self.run);
                Err(Failure::new("dispatch.budget", what).hint(hint))
            }
            _ => Ok(Some(left)),
        }))
    }

    /// Waits until a part is over, and moves the run's branch to what it has merged; returns its state.
    pub(super) async fn end_of_part(&mut self, part: &Part) -> Result<Waited<String>, Error> {
        let dispatch = self.dispatch.clone();
        let run = part.run.clone();
        let waited = self.wait(async move { dispatch.end_of(run).await }).await?;
        if matches!(waited, Waited::For(_)) {
            self.take_over(&part.run).await?;
        }
        Ok(waited)
    }
}
