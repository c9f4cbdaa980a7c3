//! `stop_run`: stop a run or one task of it; what was captured stays.

use std::collections::BTreeSet;

use switchboard_protocol::error::Failure;
use switchboard_protocol::id::RunId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::verb::run::{ConcernedTask, RunReply, StopRunRequest};
use switchboard_store::Idempotency;

use super::{find_target, reply, reply_value};
use crate::handle::{Handle, Record};
use crate::work::run_id;
use crate::{Dispatch, Error, report};

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
        let tasks = self.concerned(&run, task.as_ref()).await?;
        let step = task.map_or(RunEvent::RunStopRequested, |task| RunEvent::TaskStopRequested { task });
        let answer = reply_value(&RunReply { run: run.clone(), state: "stopping".to_owned(), tasks })?;
        let record = Record { steps: vec![step], call, reply: answer, ..Record::default() };
        let ask = |engine: Handle| {
            let record = record.clone();
            async move { engine.ask(record).await }
        };
        reply(self.ask(engine, ask).await?)
    }

    /// The tasks that a stop ends, and those that wait for them, straight or through others.
    async fn concerned(&self, run: &RunId, task: Option<&TaskId>) -> Result<Vec<ConcernedTask>, Error> {
        let plan = crate::history::plan(&self.world, run)?;
        let (mut found, mut gone) = (Vec::new(), BTreeSet::new());
        // Tasks come in an order in which what they depend on may follow: looked at until nothing is added.
        let views = self.views(run).await?;
        loop {
            let before = gone.len();
            for view in views.iter().filter(|view| !view.state.is_settled()) {
                let (settings, _) = plan.settings(&view.task)?;
                let waits = settings.depends.iter().any(|other| gone.contains(other));
                let is_meant = task.is_none_or(|task| *task == view.task);
                if (is_meant || waits) && gone.insert(view.task.clone()) {
                    found.push(ConcernedTask {
                        id: view.task.to_string(),
                        description: settings.description.clone(),
                        state: report::state_word(&view.state).to_owned(),
                        waits: !is_meant,
                    });
                }
            }
            if gone.len() == before {
                return Ok(found);
            }
        }
    }
}
