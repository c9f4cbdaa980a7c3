//! Ends a worker: asks its shim, and if that is deaf, ends the shim's process group itself.

use std::sync::Arc;
use std::time::Duration;

use switchboard_protocol::id::WorkerId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::StopCause;

use super::Ctx;
use crate::handle::Outcome;

/// Between asking an agent to end and ending it: some ignore the first signal.
const GRACE: Duration = Duration::from_secs(5);

pub(crate) async fn stop_worker(ctx: &Ctx, task: &TaskId, worker: &WorkerId, cause: StopCause) -> Outcome {
    if let Some(link) = ctx.world.link(worker) {
        link.stop(cause, GRACE).await;
        tokio::time::sleep(GRACE + Duration::from_secs(2)).await;
    }
    let folder = crate::plan::worker_folder(&ctx.world.config, &ctx.plan.run, worker);
    let shims = Arc::clone(&ctx.world.ports.shims);
    let killed = ctx.world.blocking(move || Ok(shims.kill(&folder))).await;
    if matches!(killed, Ok(true)) {
        tracing::warn!(%task, %worker, "the shim does not end; its group was killed");
    }
    Outcome::default()
}
