//! `retry_task`: gives a blocked or stopped task new attempts.

use serde_json::Value;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::RunId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{AutoTurn, RunEvent, TaskState};
use switchboard_protocol::verb::run::{RetryTaskRequest, RunReply};
use switchboard_store::{Idempotency, Row};

use super::{find_run, find_targets, reply, reply_value};
use crate::handle::{Handle, Record};
use crate::parts::phases_of;
use crate::work::run_id;
use crate::{Dispatch, Error, history};

impl Dispatch {
    /// Reopens tasks, or all blocked and stopped tasks of a run. A call repeated under its idempotency key gets the
    /// first answer.
    ///
    /// # Errors
    /// An unknown run or task, nothing to retry, or a failure of the store.
    pub async fn retry_task(&self, request: &RetryTaskRequest, call: Option<Idempotency>) -> Result<RunReply, Error> {
        if let Some(answered) = self.world.answered(call.as_ref()).await? {
            return reply(answered);
        }
        let (row, tasks) = find_targets(&self.world, &request.what, &request.tasks)?;
        let row = self.of_team(row)?;
        let run = run_id(&row)?;
        self.renew_env(&row, &request.env).await?;
        let answer =
            reply_value(&RunReply { run: run.clone(), state: "running".to_owned(), tasks: Vec::new(), more: 0 })?;
        let turn = request.turn.as_ref().map(|turn| self.turned(&run, turn)).transpose()?;
        reply(self.retry(&run, (turn, tasks, String::new()), call, answer).await?)
    }

    /// Reopens tasks, in one commit with the call's reply; the note is passed to their next workers.
    pub(crate) async fn retry(
        &self,
        run: &RunId,
        (turn, tasks, note): (Option<RunEvent>, Vec<TaskId>, String),
        call: Option<Idempotency>,
        answer: Value,
    ) -> Result<Value, Error> {
        let tasks = if tasks.is_empty() { self.failed(run).await? } else { tasks };
        if tasks.is_empty() {
            return Err(Failure::new("request.conflict", format!("{run} has no blocked or stopped task")).into());
        }
        // No other run may start between this check and the retry.
        let _one_at_a_time = self.world.starting.lock().await;
        let row = find_run(&self.world, Some(run.as_str()))?;
        self.expect_unclaimed(run, &row, &tasks).await?;
        let retried = tasks.into_iter().map(|task| RunEvent::TaskRetryRequested { task, note: note.clone() });
        let steps = turn.into_iter().chain(retried).collect();
        let record = Record { steps, call, reply: answer, ..Record::default() };
        let ask = |engine: Handle| {
            let record = record.clone();
            async move { engine.ask(record).await }
        };
        self.ask(|| self.start_engine(run), ask).await
    }

    /// Returns the run that has the tasks: for a run that a team leads, its last phase. Refuses one that is stopped:
    /// nobody would continue after its tasks.
    fn of_team(&self, row: Row) -> Result<Row, Error> {
        let whole = match row.get_text("part_of").filter(|whole| !whole.is_empty()) {
            Some(whole) => find_run(&self.world, Some(whole))?,
            None => row.clone(),
        };
        let run = run_id(&whole)?;
        if whole.get_text("mode").is_none() {
            return Ok(row);
        }
        if whole.get_text("state") == Some("stopped") {
            let failure = Failure::new("request.conflict", format!("{run} is stopped"));
            return Err(failure.hint(format!("let it go on first: switchboard run --resume {run}")).into());
        }
        let phase = if row.get_text("mode").is_some() { phases_of(&self.world, &run)?.pop() } else { None };
        Ok(phase.unwrap_or(row))
    }

    /// Returns the event of a turn that continues the unit of a run that the loop started.
    fn turned(&self, run: &RunId, turn: &AutoTurn) -> Result<RunEvent, Error> {
        let mut unit = None;
        history::events(&self.world.store, run, |event| {
            if let Some(RunEvent::LoopTurned { unit: of, .. }) = event.fact() {
                unit = Some(of);
            }
            // All turns of a run are of one unit.
            unit.is_none()
        })?;
        let no_loop = || Failure::new("request.bad-args", format!("no loop has started {run}")).at("turn");
        let AutoTurn { number, kind, why } = turn.clone();
        let unit = unit.ok_or_else(no_loop)?;
        Ok(RunEvent::LoopTurned { run: run.clone(), turn: number, turn_kind: kind, unit, follows: None, why })
    }

    /// Returns the tasks of a run that can be retried.
    async fn failed(&self, run: &RunId) -> Result<Vec<TaskId>, Error> {
        let is_failed = |state: &TaskState| matches!(state, TaskState::Blocked { .. } | TaskState::Stopped);
        let views = self.views(run).await?.into_iter();
        Ok(views.filter(|view| is_failed(&view.state)).map(|view| view.task).collect())
    }
}
