//! `stop_run`: stop a run or one task of it; what was captured stays.

use switchboard_protocol::error::Failure;
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::verb::run::{RunReply, StopRunRequest};
use switchboard_store::Idempotency;

use super::{find_target, reply, reply_value};
use crate::handle::{Handle, Record};
use crate::work::run_id;
use crate::{Dispatch, Error};

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
        let engine = || {
            let over = || Failure::new("request.conflict", format!("{run} is over"));
            self.engine(&run).ok_or_else(|| over().into())
        };
        let step = task.map_or(RunEvent::RunStopRequested, |task| RunEvent::TaskStopRequested { task });
        let answer = reply_value(&RunReply { run: run.clone(), state: "stopping".to_owned() })?;
        let record = Record { steps: vec![step], call, reply: answer, ..Record::default() };
        let ask = |engine: Handle| {
            let record = record.clone();
            async move { engine.ask(record).await }
        };
        reply(self.ask(engine, ask).await?)
    }
}
