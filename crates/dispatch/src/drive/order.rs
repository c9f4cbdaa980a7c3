//! Messages to a run's driver.

use serde_json::Value;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::verb::lead::{
    BeginStepRequest, DeclareScopeRequest, LeadRunRequest, LeaveSeatRequest, SavePlanRequest, SeatStatusRequest,
    SetQaGatesRequest, UpdateTaskStatusRequest,
};
use switchboard_protocol::verb::step::ReportStepRequest;
use switchboard_store::Idempotency;
use tokio::sync::oneshot;

use crate::Error;

/// Message to a driver.
pub(crate) enum Order {
    /// Stops the run.
    Stop(Stop),
    /// A call from the architect's seat, or about it.
    Seat(Box<SeatCall>),
}

/// Request to stop the run.
pub(crate) struct Stop {
    pub(super) by: AgentName,
    /// How long workers may take to end, in milliseconds.
    pub(super) grace_ms: Option<u64>,
    pub(super) done: oneshot::Sender<Result<(), Error>>,
}

/// Request of a verb that concerns the architect's seat.
#[derive(Debug)]
#[expect(missing_docs, reason = "each verb says what it does")]
pub enum SeatAsk {
    Lead(LeadRunRequest),
    /// Whether `Lead` would be refused.
    MayLead(LeadRunRequest),
    Leave(LeaveSeatRequest),
    Status(SeatStatusRequest),
    SavePlan(SavePlanRequest),
    DeclareScope(DeclareScopeRequest),
    Begin(BeginStepRequest),
    Report(ReportStepRequest),
    AddGates(SetQaGatesRequest),
    SetStatus(UpdateTaskStatusRequest),
}

/// Agent or person that makes the call.
#[derive(Debug, Clone)]
pub struct SeatCaller {
    /// Name of the caller.
    pub name: AgentName,
    /// True if the caller is a person.
    pub is_person: bool,
    /// True if the caller's name is verified: by a token, or because its program has registered it.
    pub is_proven: bool,
}

/// A call to a run's driver.
pub(crate) struct SeatCall {
    pub(crate) ask: SeatAsk,
    pub(crate) by: SeatCaller,
    pub(crate) call: Option<Idempotency>,
    pub(crate) answer: oneshot::Sender<Result<Value, Error>>,
}

// === impl SeatAsk ===

impl SeatAsk {
    /// Returns the run that the request names; a report may name none.
    pub(crate) fn run(&self) -> Option<&str> {
        match self {
            Self::Lead(request) | Self::MayLead(request) => Some(&request.run),
            Self::Leave(request) => Some(&request.run),
            Self::Status(request) => Some(&request.run),
            Self::SavePlan(request) => Some(&request.run),
            Self::DeclareScope(request) => Some(&request.run),
            Self::Begin(request) => Some(&request.run),
            Self::Report(request) => request.run.as_deref(),
            Self::AddGates(request) => Some(&request.run),
            Self::SetStatus(request) => Some(&request.run),
        }
    }
}
