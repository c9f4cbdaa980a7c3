//! Ends a worker: asks its shim, and if the shim doesn't respond, ends its process group.

use std::sync::Arc;
use std::time::Duration;

use switchboard_protocol::id::WorkerId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{RunEvent, StopCause};

use super::context::Ctx;
use crate::handle::Outcome;

/// Time between asking an agent to end and ending it: some agents ignore the first signal.
const EXIT_GRACE: Duration = Duration::from_secs(5);

/// Additional time for the shim itself to end.
const MORE: Duration = Duration::from_secs(2);

pub(super) async fn stop_worker(
    ctx: &Ctx,
    task: &TaskId,
    worker: &WorkerId,
    cause: StopCause,
    grace: Option<Duration>,
) -> Outcome {
    let grace = grace.unwrap_or(EXIT_GRACE);
    let Some(link) = ctx.world.link(worker) else {
        kill(ctx, task, worker).await;
        let reason = "nobody watched it any more".to_owned();
        return Outcome::step(RunEvent::WorkerLost { task: task.clone(), worker: worker.clone(), reason });
    };
    link.stop(cause, grace).await;
    if tokio::time::timeout(grace + MORE, ctx.world.unlinked(worker)).await.is_err() {
        kill(ctx, task, worker).await;
    }
    Outcome::default()
}

async fn kill(ctx: &Ctx, task: &TaskId, worker: &WorkerId) {
    let folder = crate::plan::worker_folder(&ctx.world.config, &ctx.plan.run, worker);
    let shims = Arc::clone(&ctx.world.ports.shims);
    match ctx.world.blocking(move || Ok(shims.kill(&folder))).await {
        Ok(true) => tracing::warn!(%task, %worker, "the shim does not end; its group was killed"),
        Ok(false) => {}
        Err(error) => tracing::error!(%task, %worker, %error, "the shim could not be killed"),
    }
}
