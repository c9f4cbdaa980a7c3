//! Ends a worker: asks its shim, and if that is deaf, ends the shim's process group itself.

use std::time::Duration;

use switchboard_protocol::id::WorkerId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::StopCause;

use super::{Ctx, Outcome};

/// Between asking an agent to end and ending it (agents-and-ux §0.6: some ignore the first signal).
const GRACE: Duration = Duration::from_secs(5);

pub(crate) async fn stop_worker(ctx: &Ctx, task: &TaskId, worker: &WorkerId, cause: StopCause) -> Outcome {
    if let Some(link) = ctx.inner.link(worker) {
        link.stop(cause, GRACE).await;
        tokio::time::sleep(GRACE + Duration::from_secs(2)).await;
    }
    let folder = crate::plan::worker_folder(&ctx.inner.config, &ctx.plan.run, worker);
    if let Some(holder) = crate::shim::alive(&folder) {
        tracing::warn!(%task, %worker, pid = holder.pid(), "the shim does not end; its group is killed");
        holder.kill();
    }
    Outcome::default()
}
