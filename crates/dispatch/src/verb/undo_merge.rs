//! `undo_merge`: moves the branch that a run was merged into back to where it was.

use switchboard_protocol::id::AgentName;
use switchboard_protocol::verb::run::{UndoMergeReply, UndoMergeRequest};
use switchboard_store::Idempotency;

use super::{find_run, reply};
use crate::work::run_id;
use crate::{Dispatch, Error, user_branch};

impl Dispatch {
    /// Undoes the last merge of a run. A call repeated under its idempotency key gets the first answer.
    ///
    /// # Errors
    /// `dispatch.cannot-undo` if the branch has moved on, if files of the user or of others are in the way, or on a
    /// failure; nothing has changed then.
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
