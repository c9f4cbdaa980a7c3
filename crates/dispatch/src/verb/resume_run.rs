//! `resume_run`: continues what a stop or a crash interrupted.

use serde_json::Value;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, RunId};
use switchboard_protocol::run::{BudgetScope, RunEvent};
use switchboard_protocol::verb::run::{ResumeRunReply, ResumeRunRequest};
use switchboard_store::{Batch, Idempotency, Row};

use super::{find_run, find_targets, reply, reply_value};
use crate::parts::at_work;
use crate::work::run_id;
use crate::world::World;
use crate::{Dispatch, Error};

impl Dispatch {
    /// Makes sure that a run is at work, and returns where to follow it. A stopped run goes on; a run that has
    /// succeeded or failed is only shown: `retry` gives blocked tasks new attempts. A call repeated under its
    /// idempotency key gets the first answer.
    ///
    /// # Errors
    /// An unknown run, or a failure of the store.
    pub async fn resume_run(
        &self,
        request: &ResumeRunRequest,
        by: &AgentName,
        call: Option<Idempotency>,
    ) -> Result<ResumeRunReply, Error> {
        if let Some(answered) = self.world.answered(call.as_ref()).await? {
            return reply(answered);
        }
        self.world.read_limits().await?;
        let (row, tasks) = match request.run.as_deref() {
            Some(what) => find_targets(&self.world, what, &request.tasks)?,
            None if request.tasks.is_empty() => (find_run(&self.world, None)?, Vec::new()),
            None => {
                let newest = run_id(&find_run(&self.world, None)?)?;
                find_targets(&self.world, newest.as_str(), &request.tasks)?
            }
        };
        let run = run_id(&row)?;
        self.renew_env(&row, &request.env).await?;
        let cursor = self.world.store.head().lsn;
        let was = row.try_text("state")?;
        let is_stopped = was == "stopped";
        let is_running = is_stopped || was == "running";
        let stays_paused = !tasks.is_empty() && row.get_text("paused").is_some();
        let state = match was {
            "running" if stays_paused => "paused",
            "stopped" => "running",
            was => was,
        };
        let state = state.to_owned();
        let answer = reply_value(&ResumeRunReply { run: run.clone(), state, cursor })?;
        if row.get_text("mode").is_some() {
            if is_stopped || is_running {
                self.start_driver(&run, Some(by).filter(|_| is_stopped)).await?;
            }
            let part = at_work(&self.world, row)?;
            let part = (run_id(&part)?, part.get_text("paused").is_some());
            // Between its parts, the run itself is paused only while the disk is full, and goes on once there is room.
            if let (part, true) = part
                && is_running
                && part != run
            {
                return reply(self.ask_live(&part, vec![RunEvent::RunResumed], call, answer).await?);
            }
            return self.remembered(call, answer).await;
        }
        if is_stopped {
            return reply(self.retry(&run, (None, tasks, String::new()), call, answer).await?);
        }
        if is_running {
            self.start_engine(&run)?;
            refuse_at_ceiling(&self.world, &row, &run)?;
        }
        let named = request.run.as_deref().unwrap_or_default();
        let tasks = if is_running { self.open_of_group(&run, tasks, (named, &request.tasks)).await? } else { tasks };
        if is_running && (!tasks.is_empty() || row.get_text("paused").is_some()) {
            let steps = match tasks.as_slice() {
                [] => vec![RunEvent::RunResumed],
                _ => tasks.into_iter().map(|task| RunEvent::TaskResumed { task }).collect(),
            };
            return reply(self.ask_live(&run, steps, call, answer).await?);
        }
        self.remembered(call, answer).await
    }

    /// Stores the answer under the call's idempotency key and returns it.
    async fn remembered(&self, call: Option<Idempotency>, answer: Value) -> Result<ResumeRunReply, Error> {
        let Some(call) = call else { return reply(answer) };
        // No event: only the answer is stored.
        let committed = self.world.commit(Batch::synced().idempotent(call).reply(answer)).await?;
        reply(committed.reply)
    }
}

/// Refuses to resume a run that would be paused again at once, because a ceiling shared with other runs is reached.
pub(super) fn refuse_at_ceiling(world: &World, row: &Row, run: &RunId) -> Result<(), Error> {
    let is_paused = matches!(row.get_text("paused"), Some("plan" | "day"));
    let all = world.shared.state().ceilings_at(run, world.store.now());
    let Some(reached) = all.into_iter().find(|ceiling| is_paused && ceiling.is_reached()) else { return Ok(()) };
    let (what, hint) = match reached.of {
        BudgetScope::Day => (
            "the ceiling for all runs of the day is reached",
            "raise `day` under [limits] in your config.toml, or wait for the next day (UTC)",
        ),
        BudgetScope::Plan | BudgetScope::Run => {
            ("the ceiling for all runs of this plan is reached", "raise it: switchboard budget RUN --plan-budget USD")
        }
    };
    Err(Failure::new("dispatch.budget", what).hint(hint).into())
}
