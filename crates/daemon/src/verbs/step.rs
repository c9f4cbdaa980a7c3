//! Handlers of a worker's reports on its own task.

use switchboard_protocol::action::WorkerAction;
use switchboard_protocol::caller::CallerKind;
use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::step::{
    Fence, ProposeTask, ProposeTaskRequest, ReportStep, ReportStepRequest, StepReply,
};

use super::Verbs;
use super::context::Context;
use super::route::Handle;

impl Handle<ReportStep> for Verbs {
    async fn handle(&self, call: &Context, request: ReportStepRequest) -> Result<StepReply, Failure> {
        if request.fence.is_some() || request.run.is_some() {
            let caller = self.seat_caller(&call.caller)?;
            return Ok(self.dispatch.report_from_seat(request, caller, call.idempotency.clone()).await?);
        }
        self.act(call, request.into_parts()).await
    }
}

impl Handle<ProposeTask> for Verbs {
    async fn handle(&self, call: &Context, request: ProposeTaskRequest) -> Result<StepReply, Failure> {
        self.act(call, request.into_parts()).await
    }
}

// === impl Verbs ===

impl Verbs {
    async fn act(&self, call: &Context, asked: (WorkerAction, Fence)) -> Result<StepReply, Failure> {
        let CallerKind::Worker { worker, .. } = &call.caller.kind else {
            return Err(Failure::new("dispatch.stale-worker", "only a worker of a run has a task of its own"));
        };
        Ok(self.dispatch.act(worker, asked, call.idempotency.clone()).await?)
    }
}
