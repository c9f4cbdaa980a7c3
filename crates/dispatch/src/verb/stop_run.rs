//! `stop_run`: stop a run or one task of it; what was captured stays.

use switchboard_protocol::id::RunId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::text::cut;
use switchboard_protocol::verb::run::{ConcernedTask, RunReply, StopRunRequest};
use switchboard_store::Idempotency;

use super::{find_target, reply, reply_value};
use crate::work::run_id;
use crate::{Dispatch, Error, history, report};

/// Tasks that a reply names.
const NAMED: usize = 50;

/// Longest description of one of them, in bytes.
const DESCRIBED: usize = 200;

impl Dispatch {
    /// Asks a run or a task to stop. A call that is repeated under its key gets the first answer.
    ///
    /// # Errors
    /// An unknown run or task, one that is over, or the store's failure.
    pub async fn stop_run(&self, request: &StopRunRequest, call: Option<Idempotency>) -> Result<RunReply, Error> {
        if let Some(answered) = self.world.answered(call.as_ref()).await? {
            return reply(answered);
        }
        let (row, task) = find_target(&self.world, &request.what)?;
        let run = run_id(&row)?;
        let mut tasks = self.concerned(&run, task.as_ref())?;
        let more = tasks.len().saturating_sub(NAMED) as u64;
        tasks.truncate(NAMED);
        let step = task.map_or(RunEvent::RunStopRequested, |task| RunEvent::TaskStopRequested { task });
        let answer = reply_value(&RunReply { run: run.clone(), state: "stopping".to_owned(), tasks, more })?;
        reply(self.ask_live(&run, step, call, answer).await?)
    }

    /// The tasks that a stop ends, then those that wait for them.
    fn concerned(&self, run: &RunId, task: Option<&TaskId>) -> Result<Vec<ConcernedTask>, Error> {
        let plan = history::plan(&self.world, run)?;
        let state = history::fold(&self.world.store, run)?;
        let show = |id: &TaskId, waits: bool| {
            let (task, _) = plan.settings(id)?;
            let state = state.task(id).map_or("", |view| report::state_word(&view.state)).to_owned();
            Ok(ConcernedTask { id: id.to_string(), description: cut(&task.description, DESCRIBED), state, waits })
        };
        match task {
            None => state.unsettled().map(|id| show(id, false)).collect(),
            Some(task) => {
                let waiting = state.waiting_for(task);
                std::iter::once(show(task, false)).chain(waiting.iter().map(|id| show(id, true))).collect()
            }
        }
    }
}
