//! Handlers of the architect's seat of a run. The policy lets agents call; the run checks who has its seat.

use serde::de::DeserializeOwned;
use switchboard_dispatch::{SeatAsk, SeatCaller};
use switchboard_protocol::caller::{Caller, CallerKind};
use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::{Verb as _, lead};

use super::Verbs;
use super::context::Context;
use super::route::{Handle, typed};
use crate::face::Call;

impl Handle<lead::LeadRun> for Verbs {
    async fn handle(&self, call: &Context, request: lead::LeadRunRequest) -> Result<lead::SeatReply, Failure> {
        self.ask_seat(call, SeatAsk::Lead(request)).await
    }
}

impl Handle<lead::LeaveSeat> for Verbs {
    async fn handle(&self, call: &Context, request: lead::LeaveSeatRequest) -> Result<lead::SeatReply, Failure> {
        self.ask_seat(call, SeatAsk::Leave(request)).await
    }
}

impl Handle<lead::SeatStatus> for Verbs {
    async fn handle(&self, call: &Context, request: lead::SeatStatusRequest) -> Result<lead::SeatReply, Failure> {
        Ok(self.dispatch.seat_status(&request, self.seat_caller(&call.caller)?).await?)
    }
}

impl Handle<lead::SavePlan> for Verbs {
    async fn handle(&self, call: &Context, request: lead::SavePlanRequest) -> Result<lead::SeatReply, Failure> {
        self.ask_seat(call, SeatAsk::SavePlan(request)).await
    }
}

impl Handle<lead::DeclareScope> for Verbs {
    async fn handle(&self, call: &Context, request: lead::DeclareScopeRequest) -> Result<lead::SeatReply, Failure> {
        self.ask_seat(call, SeatAsk::DeclareScope(request)).await
    }
}

impl Handle<lead::BeginStep> for Verbs {
    async fn handle(&self, call: &Context, request: lead::BeginStepRequest) -> Result<lead::BeginStepReply, Failure> {
        Ok(self.dispatch.begin_step(request, self.seat_caller(&call.caller)?, call.idempotency.clone()).await?)
    }
}

impl Handle<lead::SetQaGates> for Verbs {
    async fn handle(&self, call: &Context, request: lead::SetQaGatesRequest) -> Result<lead::SeatReply, Failure> {
        self.ask_seat(call, SeatAsk::AddGates(request)).await
    }
}

impl Handle<lead::UpdateTaskStatus> for Verbs {
    async fn handle(&self, call: &Context, request: lead::UpdateTaskStatusRequest) -> Result<lead::SeatReply, Failure> {
        self.ask_seat(call, SeatAsk::SetStatus(request)).await
    }
}

// === impl Verbs ===

impl Verbs {
    /// Refuses a call that would be refused also with a person's approval, before a person is asked.
    pub(super) async fn expect_of_use(&self, call: &Call) -> Result<(), Failure> {
        if call.verb != lead::LeadRun::NAME {
            return Ok(());
        }
        let request = typed::<lead::LeadRun>(call.args.clone())?;
        let caller = self.seat_caller(&call.caller)?;
        Ok(self.dispatch.ask_seat(SeatAsk::MayLead(request), caller, None).await?)
    }

    async fn ask_seat<T: DeserializeOwned>(&self, call: &Context, ask: SeatAsk) -> Result<T, Failure> {
        Ok(self.dispatch.ask_seat(ask, self.seat_caller(&call.caller)?, call.idempotency.clone()).await?)
    }

    /// Identifies the caller for a seat: a name is proven by a token, or because the caller's program has registered it.
    pub(super) fn seat_caller(&self, caller: &Caller) -> Result<SeatCaller, Failure> {
        if let CallerKind::Worker { .. } = caller.kind {
            // Under any name: its run has named it, and it reports only on its own task.
            let what = "a worker of a run has no architect's seat";
            return Err(Failure::new("seat.not-yours", what).hint("report_step without `run` and `fence`"));
        }
        let is_registered = match &caller.program {
            Some(program) => switchboard_bus::holder(&self.store, &caller.name)?.as_ref() == Some(program),
            None => false,
        };
        let is_person = caller.is_person();
        let is_proven = (caller.is_verified && !is_person) || is_registered;
        Ok(SeatCaller { name: caller.name.clone(), is_person, is_proven })
    }
}
