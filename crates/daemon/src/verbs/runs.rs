//! Handlers of runs and their tasks.

use switchboard_protocol::caller::{Caller, CallerKind};
use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::{auto, run, timeline};

use super::context::Context;
use super::route::Handle;
use super::{Ask, Verbs};

impl Handle<run::CleanRuns> for Verbs {
    async fn handle(&self, call: &Context, request: run::CleanRunsRequest) -> Result<run::CleanRunsReply, Failure> {
        Ok(self.dispatch.clean_runs(&request, &call.caller.name, call.idempotency.clone()).await?)
    }
}

impl Handle<run::GetRun> for Verbs {
    async fn handle(&self, _: &Context, request: run::GetRunRequest) -> Result<run::GetRunReply, Failure> {
        Ok(self.dispatch.get_run(&request).await?)
    }
}

impl Handle<timeline::GetTimeline> for Verbs {
    async fn handle(
        &self,
        _: &Context,
        request: timeline::GetTimelineRequest,
    ) -> Result<timeline::GetTimelineReply, Failure> {
        Ok(self.dispatch.get_timeline(&request).await?)
    }
}

impl Handle<run::MergeRun> for Verbs {
    async fn handle(&self, call: &Context, request: run::MergeRunRequest) -> Result<run::MergeRunReply, Failure> {
        Ok(self.dispatch.merge_run(&request, &call.caller, call.idempotency.clone()).await?)
    }
}

impl Handle<run::UndoMerge> for Verbs {
    async fn handle(&self, call: &Context, request: run::UndoMergeRequest) -> Result<run::UndoMergeReply, Failure> {
        Ok(self.dispatch.undo_merge(&request, &call.caller.name, call.idempotency.clone()).await?)
    }
}

impl Handle<run::ResumeRun> for Verbs {
    async fn handle(&self, call: &Context, request: run::ResumeRunRequest) -> Result<run::ResumeRunReply, Failure> {
        let env = persons(&request.env, &call.caller);
        let request = run::ResumeRunRequest { env, ..request };
        let reply = self.dispatch.resume_run(&request, &call.caller.name, call.idempotency.clone()).await?;
        self.end_with_run(request.ends_daemon).await;
        Ok(reply)
    }
}

impl Handle<auto::NextUnit> for Verbs {
    async fn handle(&self, call: &Context, request: auto::NextUnitRequest) -> Result<auto::NextUnitReply, Failure> {
        Ok(self.dispatch.next_unit(&request, &call.caller).await?)
    }
}

impl Handle<run::PauseRun> for Verbs {
    async fn handle(&self, call: &Context, request: run::PauseRunRequest) -> Result<run::RunReply, Failure> {
        Ok(self.dispatch.pause_run(&request, call.idempotency.clone()).await?)
    }
}

impl Handle<run::RebaseRun> for Verbs {
    async fn handle(&self, call: &Context, request: run::RebaseRunRequest) -> Result<run::RunReply, Failure> {
        Ok(self.dispatch.rebase_run(&request, call.idempotency.clone()).await?)
    }
}

impl Handle<run::SetBudget> for Verbs {
    async fn handle(&self, call: &Context, request: run::SetBudgetRequest) -> Result<run::RunReply, Failure> {
        Ok(self.dispatch.set_budget(&request, call.idempotency.clone()).await?)
    }
}

impl Handle<run::RetryTask> for Verbs {
    async fn handle(&self, call: &Context, request: run::RetryTaskRequest) -> Result<run::RunReply, Failure> {
        let env = persons(&request.env, &call.caller);
        let request = run::RetryTaskRequest { env, ..request };
        Ok(self.dispatch.retry_task(&request, call.idempotency.clone()).await?)
    }
}

impl Handle<run::ReadOutput> for Verbs {
    async fn handle(&self, _: &Context, request: run::ReadOutputRequest) -> Result<run::ReadOutputReply, Failure> {
        Ok(self.dispatch.read_output(&request).await?)
    }
}

impl Handle<run::ShowTask> for Verbs {
    async fn handle(&self, _: &Context, request: run::ShowTaskRequest) -> Result<run::ShowTaskReply, Failure> {
        Ok(self.dispatch.show_task(&request).await?)
    }
}

impl Handle<run::StartRun> for Verbs {
    async fn handle(&self, call: &Context, request: run::StartRunRequest) -> Result<run::StartRunReply, Failure> {
        let ends = request.ends_daemon && !request.dry_run;
        let reply = self.dispatch.start_run(request, &call.caller, call.idempotency.clone()).await?;
        self.end_with_run(ends).await;
        Ok(reply)
    }
}

impl Handle<run::StopRun> for Verbs {
    async fn handle(&self, call: &Context, request: run::StopRunRequest) -> Result<run::RunReply, Failure> {
        Ok(self.dispatch.stop_run(&request, &call.caller.name, call.idempotency.clone()).await?)
    }
}

/// Returns the variables that a person's command passes to agents; an agent passes none.
fn persons(env: &[run::InheritedEnv], caller: &Caller) -> Vec<run::InheritedEnv> {
    if caller.kind == CallerKind::Person { env.to_vec() } else { Vec::new() }
}

// === impl Verbs ===

impl Verbs {
    /// Makes the daemon end with its last run, if `wanted`.
    async fn end_with_run(&self, wanted: bool) {
        if wanted && self.asks.send(Ask::EndWithRun).await.is_err() {
            tracing::debug!("the daemon is ending already");
        }
    }
}
