//! Takes the seat and gives it back.

use serde_json::Value;
use switchboard_pipeline::modes::Form;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::modes::ModeEvent;
use switchboard_protocol::verb::lead::{LEASE_MS, LEASES_MS, LeadRunRequest, LeaveSeatRequest};
use switchboard_protocol::verb::run::SetBudgetRequest;
use switchboard_store::Idempotency;
use tokio::time::Instant;

use super::{Driver, SeatCaller, not_yours, proven};
use crate::Error;
use crate::work::RUNS;

impl Driver {
    /// Gives the seat to the agent that a person names, or to the calling agent once a person has approved its call.
    pub(super) async fn take_seat(
        &mut self,
        request: LeadRunRequest,
        by: &SeatCaller,
        call: Option<Idempotency>,
    ) -> Result<Value, Error> {
        let taken = self.taken(&request, by)?;
        self.set_ceiling(&request).await?;
        let answer = self.record_call((taken, String::new()), by, call).await?;
        self.heard = Instant::now();
        self.apply_form().await?;
        Ok(answer)
    }

    /// Refuses what [`take_seat`](Self::take_seat) would refuse, so that no person is asked about it.
    pub(super) fn may_lead(&self, request: &LeadRunRequest, by: &SeatCaller) -> Result<(), Error> {
        self.taken(request, by)?;
        if request.budget.is_some() { Ok(()) } else { self.expect_ceiling() }
    }

    /// Returns the event by which the seat is taken.
    fn taken(&self, request: &LeadRunRequest, by: &SeatCaller) -> Result<ModeEvent, Failure> {
        let agent = holder(request, by)?;
        let lease_ms = lease(request.lease_ms)?;
        let fence = self.record.state().next_fence();
        let taken = ModeEvent::SeatTaken { agent, fence, lease_ms, by: by.name.clone() };
        self.record.state().step(&taken).map_err(|refused| {
            let code = if matches!(self.record.state().form(), Form::Led(_)) { "seat.taken" } else { "seat.not-open" };
            Failure::new(code, refused.why.clone()).hint(refused.hint.replace("RUN", self.run.as_str()))
        })?;
        Ok(taken)
    }

    /// Sets what the run may cost while an agent leads it.
    async fn set_ceiling(&self, request: &LeadRunRequest) -> Result<(), Error> {
        if request.budget.is_some() {
            let run = self.run.to_string();
            let set = SetBudgetRequest { run: Some(run), budget: request.budget, plan: None, task: None };
            return Box::pin(self.dispatch.set_budget(&set, None)).await.map(drop);
        }
        self.expect_ceiling()
    }

    /// Refuses a run without a ceiling.
    fn expect_ceiling(&self) -> Result<(), Error> {
        let run = &self.run;
        let row = self.dispatch.world.store.get(RUNS, &[self.run.as_str().into()])?;
        let has_ceiling = row.is_some_and(|row| row.get_text("budget").is_some_and(|budget| !budget.is_empty()));
        if has_ceiling {
            return Ok(());
        }
        let what = format!("who leads {run} may have its workers spend no more than a ceiling, and it has none");
        Err(Failure::new("seat.no-ceiling", what).hint("add --budget USD, or `budget` to the call").into())
    }

    /// Lets the engine drive the run again.
    pub(super) async fn leave_seat(
        &mut self,
        request: &LeaveSeatRequest,
        by: &SeatCaller,
        call: Option<Idempotency>,
    ) -> Result<Value, Error> {
        let fence = match request.fence {
            _ if by.is_person => self.record.state().form().seat().map_or(0, |seat| seat.fence),
            Some(fence) => self.holder(fence, by)?.fence,
            None => {
                let what = "an agent gives the seat back with its fence";
                return Err(Failure::new("seat.not-yours", what).at("fence").into());
            }
        };
        let left = ModeEvent::SeatLeft { fence, by: by.name.clone() };
        self.record.state().step(&left).map_err(|refused| not_yours(&refused))?;
        let answer = self.record_call((left, String::new()), by, call).await?;
        self.apply_form().await?;
        Ok(answer)
    }
}

/// Returns the agent that is to hold the seat.
fn holder(request: &LeadRunRequest, by: &SeatCaller) -> Result<AgentName, Failure> {
    let bad = |what: &str| Err(Failure::new("request.bad-args", what.to_owned()).at("agent"));
    match (&request.agent, by.is_person) {
        (Some(agent), true) if agent.folded() != by.name.folded() => Ok(agent.clone()),
        (_, true) => bad("name the agent that is to lead the run: a person has no seat"),
        (Some(agent), false) if agent.folded() != by.name.folded() => {
            bad("an agent asks for the seat for itself; a person gives it to whom it wants")
        }
        (_, false) => proven(by).map(|()| by.name.clone()),
    }
}

fn lease(wanted: Option<u64>) -> Result<u64, Failure> {
    let lease = wanted.unwrap_or(LEASE_MS);
    if LEASES_MS.contains(&lease) {
        return Ok(lease);
    }
    let what = format!("a lease has {} to {} milliseconds", LEASES_MS.start(), LEASES_MS.end());
    Err(Failure::new("request.bad-args", what).at("lease_ms"))
}
