//! What a run's driver is told.

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

/// What a driver is told.
pub(crate) enum Order {
    /// Somebody wants the run to stop.
    Stop(Stop),
    /// Something is asked for from the architect's seat, or about it.
    Seat(Box<SeatCall>),
}

/// Somebody wants the run to stop.
pub(crate) struct Stop {
    pub(super) by: AgentName,
    /// How long workers may take to end.
    pub(super) grace_ms: Option<u64>,
    pub(super) done: oneshot::Sender<Result<(), Error>>,
}

/// What is asked for from the architect's seat, or about it: the request of the verb.
#[derive(Debug)]
#[expect(missing_docs, reason = "each verb says what it does")]
pub enum SeatAsk {
    Lead(LeadRunRequest),
    Leave(LeaveSeatRequest),
    Status(SeatStatusRequest),
    SavePlan(SavePlanRequest),
    DeclareScope(DeclareScopeRequest),
    Begin(BeginStepRequest),
    Report(ReportStepRequest),
    AddGates(SetQaGatesRequest),
    SetStatus(UpdateTaskStatusRequest),
}

/// Who asks.
#[derive(Debug, Clone)]
pub struct SeatCaller {
    /// Its name.
    pub name: AgentName,
    /// Whether it is a person.
    pub is_person: bool,
    /// Whether the name is its own: by a token, or because its program has registered it.
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
    /// The run that it names; a report may name none.
    pub(crate) fn run(&self) -> Option<&str> {
        match self {
            Self::Lead(request) => Some(&request.run),
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
