//! `undo_merge`: the branch that a run was merged into is where it was before.

use switchboard_protocol::id::AgentName;
use switchboard_protocol::verb::run::{UndoMergeReply, UndoMergeRequest};
use switchboard_store::Idempotency;

use super::{find_run, reply};
use crate::work::run_id;
use crate::{Dispatch, Error, user_branch};

impl Dispatch {
    /// Takes the last merge of a run back. A call that is repeated under its key gets the first answer.
    ///
    /// # Errors
    /// `dispatch.cannot-undo` where the branch has moved on, files of the user or of others in the way, or a failure; nothing has changed then.
    pub async fn undo_merge(
        &self,
        request: &UndoMergeRequest,
        by: &AgentName,
        call: Option<Idempotency>,
    ) -> Result<UndoMergeReply, Error> {
        if let Some(answered) = self.world.answered(call.as_ref()).await? {
            return reply(answered);
        }
        let run = run_id(&find_run(&self.world, request.run.as_deref())?)?;
        user_branch::undo(&self.world, &run, by, call).await
    }
}
