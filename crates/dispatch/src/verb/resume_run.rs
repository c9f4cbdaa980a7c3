//! `resume_run`: go on with what a stop or a crash interrupted.

use switchboard_protocol::run::RunEvent;
use switchboard_protocol::verb::run::{ResumeRunReply, ResumeRunRequest};
use switchboard_store::{Batch, Idempotency};

use super::{find_run, find_target, reply, reply_value};
use crate::work::run_id;
use crate::{Dispatch, Error};

impl Dispatch {
    /// Makes sure that a run is at work, and says where to follow it. What was stopped goes on; a run that has succeeded or
    /// failed is only shown: `retry` gives blocked tasks fresh attempts. A call that is repeated under its key gets the
    /// first answer.
    ///
    /// # Errors
    /// An unknown run, or the store's failure.
    pub async fn resume_run(
        &self,
        request: &ResumeRunRequest,
        call: Option<Idempotency>,
    ) -> Result<ResumeRunReply, Error> {
        if let Some(answered) = self.world.answered(call.as_ref()).await? {
            return reply(answered);
        }
        let (row, task) = match request.run.as_deref().filter(|what| what.contains('/')) {
            Some(what) => find_target(&self.world, what)?,
            None => (find_run(&self.world, request.run.as_deref())?, None),
        };
        let run = run_id(&row)?;
        let cursor = self.world.store.head().lsn;
        let was = row.try_text("state")?;
        let is_stopped = was == "stopped";
        let state = if is_stopped { "running" } else { was }.to_owned();
        let is_running = state == "running";
        let answer = reply_value(&ResumeRunReply { run: run.clone(), state, cursor })?;
        if is_stopped {
            return reply(self.retry(&run, task, call, answer).await?);
        }
        if is_running {
            self.start_engine(&run)?;
        }
        if is_running && (task.is_some() || row.get_text("paused").is_some()) {
            let step = task.map_or(RunEvent::RunResumed, |task| RunEvent::TaskResumed { task });
            return reply(self.ask_live(&run, step, call, answer).await?);
        }
        let Some(call) = call else { return reply(answer) };
        // No event: only the answer is stored under the call's key.
        let committed = self.world.commit(Batch::synced().idempotent(call).reply(answer)).await?;
        reply(committed.reply)
    }
}
