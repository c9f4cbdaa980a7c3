//! `merge_run`: the run's branch goes into the user's.

use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::run::{MergeRunReply, MergeRunRequest};

use switchboard_store::Idempotency;

use super::{find_run, reply};
use crate::work::run_id;
use crate::{Dispatch, Error, user_branch};

impl Dispatch {
    /// Merges a run's branch into the branch that it was started from. A call that is repeated under its key gets the first
    /// answer.
    ///
    /// # Errors
    /// A refusal (unknown, not finished, dirty files in the way, a conflict), or a failure; nothing has changed then.
    pub async fn merge_run(
        &self,
        request: &MergeRunRequest,
        call: Option<Idempotency>,
    ) -> Result<MergeRunReply, Error> {
        if let Some(answered) = self.world.answered(call.as_ref()).await? {
            return reply(answered);
        }
        let row = find_run(&self.world, request.run.as_deref())?;
        let run = run_id(&row)?;
        if row.try_text("state")? == "running" {
            let what = format!("{run} is still at work");
            return Err(Failure::new("dispatch.not-finished", what)
                .hint(format!("switchboard run --resume {run}"))
                .into());
        }
        user_branch::merge(&self.world, &run, call).await
    }
}
