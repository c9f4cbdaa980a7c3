//! Architect's seat of a run: the run's driver checks and records the calls of the agent that leads the run, one after
//! the other.
//!
//! Every call carries the seat's fence and comes from the agent that holds the seat; it renews the lease. A call that
//! the machine refuses, or for which a task is not ready, is refused with what is missing and how to get it. The rules
//! are in `switchboard_pipeline::modes` and, for the steps of tasks, in `switchboard_pipeline::run`.

mod begin;
mod fill;
mod gates;
mod report;
mod status;
mod take;
mod task;

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use switchboard_pipeline::modes::{Action, Form, Refused, Seat};
use switchboard_pipeline::run::RunState;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::RunId;
use switchboard_protocol::modes::ModeEvent;
use switchboard_protocol::run::{RunEvent, StopCause};
use switchboard_store::Idempotency;
use tokio::time::Instant;

use super::Driver;
use super::order::{SeatAsk, SeatCall, SeatCaller};
use super::record::Part;
use crate::Error;
use crate::error::shape;

/// Time between asking the placeholder worker of a by-hand step to end and ending it.
const EXIT_GRACE: Duration = Duration::from_millis(500);

// === impl Driver ===

impl Driver {
    /// Carries out a call from the seat and answers it; returns true if the run's next action may have changed.
    pub(super) async fn on_seat(&mut self, call: SeatCall) -> bool {
        let SeatCall { ask, by, call, answer } = call;
        let is_status = matches!(ask, SeatAsk::Status(_) | SeatAsk::MayLead(_));
        let done = self.seat(ask, &by, call).await;
        let is_changed = done.is_ok() && !is_status;
        // Who asked may be gone.
        drop(answer.send(done));
        is_changed
    }

    async fn seat(&mut self, ask: SeatAsk, by: &SeatCaller, call: Option<Idempotency>) -> Result<Value, Error> {
        match ask {
            SeatAsk::Lead(request) => self.take_seat(request, by, call).await,
            SeatAsk::MayLead(request) => self.may_lead(&request, by).map(|()| Value::Null),
            SeatAsk::Leave(request) => self.leave_seat(&request, by, call).await,
            SeatAsk::Status(_) => self.seat_status(by).await,
            SeatAsk::SavePlan(request) => self.save_plan(request, by, call).await,
            SeatAsk::DeclareScope(request) => self.declare_scope(request, by, call).await,
            SeatAsk::Begin(request) => self.begin(request, by, call).await,
            SeatAsk::Report(request) => self.report(request, by, call).await,
            SeatAsk::AddGates(request) => self.add_gates(request, by, call).await,
            SeatAsk::SetStatus(request) => self.set_status(request, by, call).await,
        }
    }

    /// Returns the seat if the caller holds it, and renews the lease.
    fn holder(&mut self, fence: u64, by: &SeatCaller) -> Result<Seat, Failure> {
        let seat = self.record.state().expect_seat(fence).map_err(|refused| not_yours(&refused))?.clone();
        if seat.agent.folded() != by.name.folded() {
            let what = format!("{} has the architect's seat of {}, and {} calls", seat.agent, self.run, by.name);
            return Err(Failure::new("seat.not-yours", what).hint("register_agent says who a program is"));
        }
        proven(by)?;
        self.heard = Instant::now();
        Ok(seat)
    }

    /// Returns when the lease of the seat ends.
    pub(super) fn lease_end(&self) -> Option<Instant> {
        match self.record.state().form() {
            Form::Led(seat) => Some(self.heard + Duration::from_millis(seat.lease_ms)),
            Form::Driven | Form::Vacant(_) => None,
        }
    }

    /// Handles the end of the lease: the seat is vacant, and its former holder's work ends.
    pub(super) async fn lose_seat(&mut self) -> Result<(), Error> {
        let Form::Led(seat) = self.record.state().form() else { return Ok(()) };
        let lost = ModeEvent::SeatLost { fence: seat.fence };
        self.record.commit(&self.dispatch.world, lost, String::new(), "daemon").await?;
        self.dispatch.world.crash("seat-lost");
        self.apply_form().await
    }

    /// Records in the current phase's run whether an agent leads it. If none does, ends the placeholders of by-hand
    /// steps.
    pub(super) async fn apply_form(&self) -> Result<(), Error> {
        let Some(part) = self.phase_at_work().cloned() else { return Ok(()) };
        let form = self.record.state().form();
        let state = self.dispatch.state(&part.run).await?;
        if state.outcome().is_some() {
            return Ok(());
        }
        if matches!(form, Form::Vacant(_)) && state.has_work_by_hand() {
            // Recorded first, so that the engine starts nothing in the place of what is taken back.
            self.record_led(&part.run, true).await?;
        }
        if !matches!(form, Form::Led(_)) {
            for (_, worker) in state.leader_workers() {
                match (self.dispatch.world.link(worker), form) {
                    // The seat was lost: nobody does the step any more, which is no failure of anybody's attempt.
                    (Some(link), Form::Vacant(seat)) => link.take_back(seat.agent.clone()).await,
                    (Some(link), Form::Driven | Form::Led(_)) => link.stop(StopCause::Requested, EXIT_GRACE).await,
                    (None, _) => {}
                }
            }
        }
        if state.is_led() == form.is_led() {
            return Ok(());
        }
        self.record_led(&part.run, form.is_led()).await
    }

    /// Records in the run of a phase whether an agent leads it.
    async fn record_led(&self, run: &RunId, is_led: bool) -> Result<(), Error> {
        match self.dispatch.ask_live(run, vec![RunEvent::LedSet { is_led }], None, Value::Null).await {
            Ok(_) | Err(Error::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns the run that carries out the tasks of the present phase.
    fn phase_at_work(&self) -> Option<&Part> {
        let Action::RunPhase { step, .. } = self.record.state().driven() else { return None };
        self.record.part_of(step)
    }

    /// Returns the run of the present phase with its state, or a refusal if no phase is carried out.
    async fn phase(&self, what: &str) -> Result<(RunId, Arc<RunState>), Error> {
        let Some(part) = self.phase_at_work() else {
            let state = self.record.state();
            let why = format!("{what}: no phase is carried out, the run waits for {}", state.at());
            return Err(Failure::new("seat.not-open", why).hint(state.remedy()).into());
        };
        Ok((part.run.clone(), self.dispatch.state(&part.run).await?))
    }

    /// Records an event from the seat and the reply to its call in one commit.
    async fn record_call(
        &mut self,
        (event, body): (ModeEvent, String),
        by: &SeatCaller,
        call: Option<Idempotency>,
    ) -> Result<Value, Error> {
        let drafted = self.record.draft(event, body, by.name.as_str())?;
        let answer = self.status_of(&drafted.1, by).await?;
        let answer = value(&answer)?;
        let world = &self.dispatch.world;
        let answer = self.record.commit_call(world, drafted.0, call, answer).await?;
        world.crash("seat-recorded");
        Ok(answer)
    }
}

/// Refuses a caller whose name is not verified.
fn proven(by: &SeatCaller) -> Result<(), Failure> {
    if by.is_proven {
        return Ok(());
    }
    let what = format!("{} is only what the caller is called: anybody may say so", by.name);
    Err(Failure::new("seat.not-yours", what).hint("register_agent makes the name its program's own"))
}

/// Converts a refusal of the machine about who holds the seat.
fn not_yours(refused: &Refused) -> Failure {
    Failure::new("seat.not-yours", refused.why.clone()).hint(refused.hint.clone())
}

/// Converts a refusal of the machine about what can be done now.
fn not_open(refused: &Refused) -> Failure {
    Failure::new("seat.not-open", refused.why.clone()).hint(refused.hint.clone())
}

/// Converts a reply to its recorded form.
fn value<T: Serialize>(reply: &T) -> Result<Value, Error> {
    serde_json::to_value(reply).map_err(shape("a reply"))
}
