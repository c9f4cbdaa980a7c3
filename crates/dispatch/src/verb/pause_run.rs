//! `pause_run`: starts nothing new in a run or a task, and has its workers wait at their next boundary.

use switchboard_protocol::run::{PauseCause, RunEvent, TaskPauseCause};
use switchboard_protocol::verb::run::{PauseRunRequest, RunReply};
use switchboard_store::Idempotency;

use super::{find_targets, reply, reply_value};
use crate::parts::at_work;
use crate::work::run_id;
use crate::{Dispatch, Error};

impl Dispatch {
    /// Pauses a run, or tasks of it. A call repeated under its idempotency key gets the first answer.
    ///
    /// # Errors
    /// An unknown run or task, one that is over, or a failure of the store.
    pub async fn pause_run(&self, request: &PauseRunRequest, call: Option<Idempotency>) -> Result<RunReply, Error> {
        if let Some(answered) = self.world.answered(call.as_ref()).await? {
            return reply(answered);
        }
        let (row, tasks) = find_targets(&self.world, &request.what, &request.tasks)?;
        let row = at_work(&self.world, row)?;
        let run = run_id(&row)?;
        let tasks = self.open_of_group(&run, tasks, (&request.what, &request.tasks)).await?;
        // If tasks are named, the run itself goes on.
        let state = if tasks.is_empty() { "paused" } else { row.try_text("state")? }.to_owned();
        let (named, more) = self.described(&run, tasks.iter().map(|task| (task, false)).collect()).await?;
        let of_task = |task| RunEvent::TaskPaused { task, cause: TaskPauseCause::Requested };
        let steps = match tasks.as_slice() {
            [] => vec![RunEvent::RunPaused { cause: PauseCause::Requested }],
            _ => tasks.into_iter().map(of_task).collect(),
        };
        let answer = reply_value(&RunReply { run: run.clone(), state, tasks: named, more })?;
        reply(self.ask_live(&run, steps, call, answer).await?)
    }
}
