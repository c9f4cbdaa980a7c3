//! `stop_run`: stops a run or tasks of it; captured work is kept.

use std::collections::BTreeSet;

use serde_json::Value;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, RunId};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{RunEvent, TaskState};
use switchboard_protocol::text::cut;
use switchboard_protocol::verb::run::{ConcernedTask, MAX_GRACE_MS, RunReply, StopRunRequest};
use switchboard_store::{Batch, Idempotency};

use super::{find_targets, reply, reply_value};
use crate::backoff::Backoff;
use crate::parts::parts_of;
use crate::work::{RUNS, run_id};
use crate::{Dispatch, Error, history, report};

/// Maximum number of tasks named in a reply.
const MAX_NAMED: usize = 50;

/// Maximum length of the description of a named task, in bytes.
const DESCRIBED: usize = 200;

impl Dispatch {
    /// Stops a run, or tasks of it. A call repeated under its idempotency key gets the first answer.
    ///
    /// # Errors
    /// An unknown run or task, a run that is over, tasks that are all merged or done, or a failure of the store.
    pub async fn stop_run(
        &self,
        request: &StopRunRequest,
        by: &AgentName,
        call: Option<Idempotency>,
    ) -> Result<RunReply, Error> {
        if let Some(answered) = self.world.answered(call.as_ref()).await? {
            return reply(answered);
        }
        check_grace(request.grace_ms)?;
        let (row, stopped) = find_targets(&self.world, &request.what, &request.tasks)?;
        let run = run_id(&row)?;
        if row.get_text("mode").is_some() {
            return self.stop_led(&run, (by, request.grace_ms), call).await;
        }
        let stopped = self.open_of_group(&run, stopped, (&request.what, &request.tasks)).await?;
        let stopped = self.unmerged(&run, stopped).await?;
        let (tasks, more) = self.concerned(&run, &stopped).await?;
        // If tasks are named, the others go on, and the run with them.
        let state = if stopped.is_empty() { "stopping" } else { row.try_text("state")? }.to_owned();
        let steps = self.stops(&run, stopped, request.grace_ms).await?;
        let answer = reply_value(&RunReply { run: run.clone(), state, tasks, more })?;
        reply(self.ask_live(&run, steps, call, answer).await?)
    }

    /// Returns the steps that stop tasks, or the whole run if none is named. The grace only matters for tasks with a
    /// worker.
    pub(super) async fn stops(
        &self,
        run: &RunId,
        tasks: Vec<TaskId>,
        grace_ms: Option<u64>,
    ) -> Result<Vec<RunEvent>, Error> {
        let stop = |task| RunEvent::TaskStopRequested { task, grace_ms };
        if !tasks.is_empty() {
            return Ok(tasks.into_iter().map(stop).collect());
        }
        let views = if grace_ms.is_some() { self.views(run).await? } else { Vec::new() };
        let at_work = |state: &TaskState| matches!(state, TaskState::Starting { .. } | TaskState::Working { .. });
        let at_work = views.into_iter().filter(|view| at_work(&view.state)).map(|view| stop(view.task));
        Ok(at_work.chain([RunEvent::RunStopRequested]).collect())
    }

    /// Stops the parts of a run that a team leads, however long the store is busy; does nothing if the daemon shuts
    /// down.
    pub(crate) async fn stop_parts(&self, run: &RunId, grace_ms: Option<u64>) {
        let mut backoff = Backoff::default();
        while let Err(error) = self.try_stop_parts(run, grace_ms).await {
            tracing::warn!(%run, %error, "a part of a run that was stopped goes on for now");
            if self.world.stop.run_until_cancelled(tokio::time::sleep(backoff.next())).await.is_none() {
                return;
            }
        }
    }

    async fn try_stop_parts(&self, run: &RunId, grace_ms: Option<u64>) -> Result<(), Error> {
        let whole = self.world.store.get(RUNS, &[run.as_str().into()])?;
        if whole.is_some_and(|row| row.get_text("state") == Some("running")) {
            // The run was resumed meanwhile.
            return Ok(());
        }
        for row in parts_of(&self.world, run)? {
            if row.try_text("state")? != "running" {
                continue;
            }
            let part = run_id(&row)?;
            let steps = self.stops(&part, Vec::new(), grace_ms).await?;
            match self.ask_live(&part, steps, None, Value::Null).await {
                // The part has ended meanwhile.
                Ok(_) | Err(Error::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Stops a run that a team leads, with its parts.
    async fn stop_led(
        &self,
        run: &RunId,
        (by, grace_ms): (&AgentName, Option<u64>),
        call: Option<Idempotency>,
    ) -> Result<RunReply, Error> {
        let over = || Failure::new("request.conflict", format!("{run} is over"));
        self.driver(run).ok_or_else(over)?.stop(by.clone(), grace_ms).await?;
        let answer = RunReply { run: run.clone(), state: "stopping".to_owned(), tasks: Vec::new(), more: 0 };
        if let Some(call) = call {
            // No event: only the answer is stored under the call's key.
            self.world.commit(Batch::synced().idempotent(call).reply(reply_value(&answer)?)).await?;
        }
        Ok(answer)
    }

    /// Returns the tasks that a stop can still end: merged ones stay.
    async fn unmerged(&self, run: &RunId, mut tasks: Vec<TaskId>) -> Result<Vec<TaskId>, Error> {
        let Some(first) = tasks.first().cloned() else { return Ok(tasks) };
        let state = self.state(run).await?;
        tasks.retain(|task| state.task(task).is_none_or(|view| !view.state.is_done()));
        if tasks.is_empty() {
            let word = state.task(&first).map_or("", |view| report::state_word(&view.state)).to_owned();
            let what = format!("task {first} of {run} is {word}: there is nothing to stop");
            return Err(Failure::new("request.conflict", what).into());
        }
        Ok(tasks)
    }

    /// Returns the tasks that a stop ends, followed by those that wait for them, as [`described`](Self::described).
    async fn concerned(&self, run: &RunId, stopped: &[TaskId]) -> Result<(Vec<ConcernedTask>, u64), Error> {
        let state = self.state(run).await?;
        if stopped.is_empty() {
            return self.described(run, state.unsettled().map(|id| (id, false)).collect()).await;
        }
        let waiting: BTreeSet<_> = stopped.iter().flat_map(|task| state.waiting_for(task)).collect();
        let in_vain = waiting.iter().filter(|id| !stopped.contains(id)).map(|id| (id, true));
        self.described(run, stopped.iter().map(|id| (id, false)).chain(in_vain).collect()).await
    }

    /// Describes the first of some tasks, each with whether it only waits for another, and returns the number of the
    /// others.
    pub(super) async fn described(
        &self,
        run: &RunId,
        tasks: Vec<(&TaskId, bool)>,
    ) -> Result<(Vec<ConcernedTask>, u64), Error> {
        let (plan, state) = (history::plan(&self.world, run)?, self.state(run).await?);
        let describe = |(id, waits): &(&TaskId, bool)| {
            let (task, _) = plan.settings(id)?;
            let state = state.task(id).map_or("", |view| report::state_word(&view.state)).to_owned();
            Ok(ConcernedTask {
                id: id.to_string(),
                description: cut(&task.description, DESCRIBED),
                state,
                waits: *waits,
            })
        };
        let named = tasks.iter().take(MAX_NAMED).map(describe).collect::<Result<_, Error>>()?;
        Ok((named, tasks.len().saturating_sub(MAX_NAMED) as u64))
    }
}

/// Refuses a grace above the maximum.
pub(super) fn check_grace(grace_ms: Option<u64>) -> Result<(), Failure> {
    match grace_ms.filter(|grace| *grace > MAX_GRACE_MS) {
        Some(grace) => {
            let what = format!("`grace_ms` is {grace}: at most {MAX_GRACE_MS}");
            Err(Failure::new("request.bad-args", what).at("grace_ms"))
        }
        None => Ok(()),
    }
}
