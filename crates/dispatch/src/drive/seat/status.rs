//! Actions open to the holder of the seat.

use serde_json::Value;
use switchboard_pipeline::modes::{Action, Ask, Form, State};
use switchboard_protocol::answer::{AnswerKind, example, outline};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::role::RoleName;
use switchboard_protocol::run::way::StepId;
use switchboard_protocol::text::cut;
use switchboard_protocol::verb::Verb as _;
use switchboard_protocol::verb::lead::{BeginStep, OpenStep, SavePlan, SeatReply};
use switchboard_protocol::verb::step::ReportStep;
use tokio::time::Instant;

use super::{Driver, SeatCaller};
use crate::work::{RUNS, WORKERS, says_ended};
use crate::{Error, report};

/// Maximum length of the reason for repeating a step, in bytes.
const MAX_REASON_BYTES: usize = 2_000;

impl Driver {
    /// Returns who leads the run and what its leader may do now. A call of the leader renews the lease.
    pub(super) async fn seat_status(&mut self, by: &SeatCaller) -> Result<Value, Error> {
        if self.is_holder(self.record.state(), by) {
            self.heard = Instant::now();
        }
        let mut status = self.status_of(self.record.state(), by).await?;
        self.add_question(&mut status).await?;
        super::value(&status)
    }

    fn is_holder(&self, state: &State, by: &SeatCaller) -> bool {
        let Form::Led(seat) = state.form() else { return false };
        by.is_proven && seat.agent.folded() == by.name.folded()
    }

    pub(super) async fn status_of(&self, state: &State, by: &SeatCaller) -> Result<SeatReply, Error> {
        let form = state.form();
        let seat = form.seat();
        let world = &self.dispatch.world;
        let row = world.store.get(RUNS, &[self.run.as_str().into()])?;
        let row = row.ok_or_else(|| Error::Missing(self.run.to_string()))?;
        let ceiling = report::summary(world, &row)?.budget.map(|budget| budget.ceiling);
        let is_holder = self.is_holder(state, by);
        Ok(SeatReply {
            run: self.run.clone(),
            form: match form {
                Form::Driven => "driven",
                Form::Led(_) => "led",
                Form::Vacant(_) => "vacant",
            }
            .to_owned(),
            agent: seat.map(|seat| seat.agent.clone()),
            fence: seat.filter(|_| is_holder).map(|seat| seat.fence),
            lease_ms: seat.map(|seat| seat.lease_ms),
            mode: state.mode(),
            waits_for: state.now(),
            ceiling,
            left: report::budget_left(world, &row)?.map(|left| left.ceiling),
            open: if is_holder { self.open(state).await? } else { Vec::new() },
        })
    }

    /// Adds the question to the architect, and the form of the answer.
    async fn add_question(&self, status: &mut SeatReply) -> Result<(), Error> {
        let Action::AskRole { ask, inputs, .. } = self.record.state().driven() else { return Ok(()) };
        if let Some(open) = status.open.iter_mut().find(|open| open.answer.is_some()) {
            let text = self.question(&ask, &inputs, None).await?;
            let (form, like) = (outline(ask.answer()), example(ask.answer()));
            let form = format!(
                "`answer` has this form, `?` marking what may be left out:\n\n    {form}\n\nFor example:\n\n    {like}"
            );
            open.question = Some(format!("{text}\n\n{form}"));
        }
        Ok(())
    }

    /// Returns the actions that the holder of the seat may take now.
    async fn open(&self, state: &State) -> Result<Vec<OpenStep>, Error> {
        match (state.next(), state.driven()) {
            (Action::AwaitSeat { step }, Action::AskRole { ask, refused, .. }) => {
                // A worker for the architect that was asked before the seat was taken answers this one.
                if self.record.part_of(step).is_some() {
                    return Ok(Vec::new());
                }
                Ok(vec![OpenStep { again: refused, ..open_of(&ask) }])
            }
            (Action::RunPhase { .. }, _) => self.open_tasks().await,
            (_, _) => Ok(Vec::new()),
        }
    }

    /// Returns the steps of tasks that may be begun, and those that the holder does by hand.
    async fn open_tasks(&self) -> Result<Vec<OpenStep>, Error> {
        let Some(part) = self.phase_at_work() else { return Ok(Vec::new()) };
        let state = self.dispatch.state(&part.run).await?;
        // What refused an attempt is the reason to do the work again, and of no later step of the next attempt.
        let again = |task: &TaskId, step: &StepId| {
            let view = state.task(task)?;
            let last = view.refusals.last()?;
            let is_reason = last.attempt == view.attempt || *step == StepId::work();
            is_reason.then(|| cut(&last.reasons.join("; "), MAX_REASON_BYTES))
        };
        let mut steps: Vec<_> = state
            .open_steps()
            .map(|open| OpenStep {
                again: again(&open.task, &open.step),
                task: Some(open.task),
                ..step(BeginStep::NAME, open.step.to_string())
            })
            .collect();
        for (task, worker) in state.leader_workers() {
            let row = self.dispatch.world.store.get(WORKERS, &[worker.as_str().into()])?;
            if !row.as_ref().is_some_and(says_ended) {
                let work = step(ReportStep::NAME, StepId::work().to_string());
                steps.push(OpenStep { task: Some(task.clone()), ..work });
            }
        }
        Ok(steps)
    }
}

/// Returns how the holder of the seat gets an answer: by giving it, or by beginning the step of the role that gives it.
pub(super) fn open_of(ask: &Ask) -> OpenStep {
    let verb = match (ask.role(), ask.answer()) {
        (RoleName::Architect, AnswerKind::PlanDraft) => SavePlan::NAME,
        (RoleName::Architect, _) => ReportStep::NAME,
        (_, _) => BeginStep::NAME,
    };
    OpenStep {
        role: Some(ask.role().id()),
        answer: (ask.role() == RoleName::Architect).then(|| ask.answer()),
        ..step(verb, ask.answer().to_string())
    }
}

fn step(verb: &str, step: String) -> OpenStep {
    let verb = verb.to_owned();
    OpenStep { verb, step, task: None, role: None, answer: None, question: None, again: None }
}
