//! `retry_task`: a blocked or stopped task gets fresh attempts.

use serde_json::Value;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::RunId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{RunEvent, TaskState};
use switchboard_protocol::verb::run::{RetryTaskRequest, RunReply};
use switchboard_store::Idempotency;

use super::{find_targets, reply, reply_value};
use crate::handle::{Handle, Record};
use crate::work::run_id;
use crate::{Dispatch, Error};

impl Dispatch {
    /// Opens tasks again, or all blocked and stopped tasks of a run. A call that is repeated under its key gets the first
    /// answer.
    ///
    /// # Errors
    /// An unknown run or task, nothing to retry, or the store's failure.
    pub async fn retry_task(&self, request: &RetryTaskRequest, call: Option<Idempotency>) -> Result<RunReply, Error> {
        if let Some(answered) = self.world.answered(call.as_ref()).await? {
            return reply(answered);
        }
        let (row, tasks) = find_targets(&self.world, &request.what, &request.tasks)?;
        let run = run_id(&row)?;
        let answer =
            reply_value(&RunReply { run: run.clone(), state: "running".to_owned(), tasks: Vec::new(), more: 0 })?;
        reply(self.retry(&run, tasks, call, answer).await?)
    }

    /// Opens tasks again, in one commit with the call's reply.
    pub(super) async fn retry(
        &self,
        run: &RunId,
        tasks: Vec<TaskId>,
        call: Option<Idempotency>,
        answer: Value,
    ) -> Result<Value, Error> {
        let tasks = if tasks.is_empty() { self.failed(run).await? } else { tasks };
        if tasks.is_empty() {
            return Err(Failure::new("request.conflict", format!("{run} has no blocked or stopped task")).into());
        }
        let steps = tasks.into_iter().map(|task| RunEvent::TaskRetryRequested { task }).collect();
        let record = Record { steps, call, reply: answer, ..Record::default() };
        let ask = |engine: Handle| {
            let record = record.clone();
            async move { engine.ask(record).await }
        };
        self.ask(|| self.start_engine(run), ask).await
    }

    /// Tasks of a run that can be tried again.
    async fn failed(&self, run: &RunId) -> Result<Vec<TaskId>, Error> {
        let is_failed = |state: &TaskState| matches!(state, TaskState::Blocked { .. } | TaskState::Stopped);
        let views = self.views(run).await?.into_iter();
        Ok(views.filter(|view| is_failed(&view.state)).map(|view| view.task).collect())
    }
}
