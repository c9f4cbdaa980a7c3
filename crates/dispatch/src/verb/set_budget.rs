//! `set_budget`: sets what a run may cost from now on.

use serde_json::Value;
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::run::{Budget, RunEvent};
use switchboard_protocol::verb::run::{RunReply, SetBudgetRequest, TaskCeiling};
use switchboard_store::{Batch, Idempotency, Row};

use super::{find_run, find_targets, reply, reply_value};
use crate::error::shape;
use crate::handle::Record;
use crate::parts::at_work;
use crate::work::run_id;
use crate::{Dispatch, Error, report};

impl Dispatch {
    /// Sets or lifts a run's ceiling. A call repeated under its idempotency key gets the first answer.
    ///
    /// # Errors
    /// An invalid budget, an unknown or finished run, or a failure of the store.
    pub async fn set_budget(&self, request: &SetBudgetRequest, call: Option<Idempotency>) -> Result<RunReply, Error> {
        if let Some(answered) = self.world.answered(call.as_ref()).await? {
            return reply(answered);
        }
        if let Some(task) = &request.task {
            return self.set_task_ceiling(request, task, call).await;
        }
        request.budget.as_ref().map_or(Ok(()), check)?;
        check_plan(request.plan)?;
        self.world.read_limits().await?;
        let row = find_run(&self.world, request.run.as_deref())?;
        let run = run_id(&row)?;
        let state = row.try_text("state")?.to_owned();
        let answer = reply_value(&RunReply { run: run.clone(), state, tasks: Vec::new(), more: 0 })?;
        if row.get_text("mode").is_some() {
            return self.set_budget_of_led(&row, request, call, answer).await;
        }
        let known = row.get_int("plan_budget").and_then(|ceiling| u64::try_from(ceiling).ok());
        let day = self.world.shared.state().has_day();
        let step = RunEvent::BudgetSet { budget: request.budget, plan: request.plan.or(known), day };
        reply(self.ask_live(&run, vec![step], call, answer).await?)
    }

    /// Sets or lifts the ceiling of one task.
    async fn set_task_ceiling(
        &self,
        request: &SetBudgetRequest,
        of: &TaskCeiling,
        call: Option<Idempotency>,
    ) -> Result<RunReply, Error> {
        if request.budget.is_some() || request.plan.is_some() {
            let what = "a call sets the ceiling of a task, or the budget of a run or a plan";
            return Err(Failure::new("request.bad-args", what).at("task").into());
        }
        check_ceiling(of.ceiling)?;
        let row = find_run(&self.world, request.run.as_deref())?;
        let run = run_id(&row)?;
        let (_, tasks) = find_targets(&self.world, run.as_str(), std::slice::from_ref(&of.task))?;
        let ceiling = of.ceiling;
        let steps = tasks.into_iter().map(|task| RunEvent::TaskBudgetSet { task, ceiling }).collect();
        let state = row.try_text("state")?.to_owned();
        let answer = reply_value(&RunReply { run: run.clone(), state, tasks: Vec::new(), more: 0 })?;
        reply(self.ask_live(&run, steps, call, answer).await?)
    }

    /// Sets the ceiling of a run that a team leads, and in the same commit what is left of it for its live part.
    async fn set_budget_of_led(
        &self,
        row: &Row,
        request: &SetBudgetRequest,
        call: Option<Idempotency>,
        answer: Value,
    ) -> Result<RunReply, Error> {
        let run = run_id(row)?;
        if request.plan.is_some() {
            let what = "the parts of a run that a team leads have plans of their own";
            return Err(Failure::new("request.bad-args", what).at("plan").into());
        }
        let set = RunEvent::BudgetSet { budget: request.budget, plan: None, day: false };
        let event = NewEvent::of(&set, format!("run/{run}"), "daemon").map_err(shape("a budget"))?;
        loop {
            let part = at_work(&self.world, find_run(&self.world, Some(run.as_str()))?)?;
            let Some(engine) = self.engine(&run_id(&part)?) else {
                let mut batch = Batch::synced().event(event).reply(answer);
                batch.idempotency = call;
                return reply(self.world.commit(batch).await?.reply);
            };
            let (budget, day) = (self.budget_of_part(row, &part, request)?, self.world.shared.state().has_day());
            let steps = vec![RunEvent::BudgetSet { budget, plan: None, day }];
            let (beside, call, answer) = (vec![event.clone()], call.clone(), answer.clone());
            match engine.ask(Record { steps, beside, call, reply: answer, ..Record::default() }).await {
                // The part has ended meanwhile.
                Err(Error::Stopping) if !self.world.stop.is_cancelled() => tokio::task::yield_now().await,
                answered => {
                    self.world.crash("budget-set");
                    return reply(answered?);
                }
            }
        }
    }

    /// Returns what the live part of a run that a team leads may cost: what its other parts have left.
    fn budget_of_part(&self, whole: &Row, part: &Row, request: &SetBudgetRequest) -> Result<Option<Budget>, Error> {
        let spent = |row: &Row| Ok::<_, Error>(report::spent(&report::summary(&self.world, row)?));
        let others = spent(whole)?.saturating_sub(spent(part)?);
        // A ceiling of 0 is no budget; this one is reached at once.
        Ok(request.budget.map(|budget| report::rest(budget, others.min(budget.ceiling - 1))))
    }
}

/// Refuses a ceiling of a task that is too low for any worker.
pub(super) fn check_ceiling(ceiling: Option<u64>) -> Result<(), Failure> {
    match ceiling {
        Some(0) => Err(Failure::new("dispatch.budget", "`ceiling` is 0: the task could have no worker")),
        Some(_) | None => Ok(()),
    }
}

/// Refuses a ceiling of a plan that is too low for any worker to start.
pub(super) fn check_plan(ceiling: Option<u64>) -> Result<(), Error> {
    match ceiling {
        Some(0) => Err(Failure::new("dispatch.budget", "the plan's ceiling is 0: no worker could start").into()),
        Some(_) | None => Ok(()),
    }
}

/// Refuses a budget that is too low for any worker to start.
pub(super) fn check(budget: &Budget) -> Result<(), Error> {
    let refused = |what: String| Err(Failure::new("dispatch.budget", what).into());
    match budget.reserve {
        _ if budget.ceiling == 0 => refused("`ceiling` is 0: no worker could start".to_owned()),
        Some(reserve) if reserve > budget.ceiling => refused(format!(
            "`reserve` ({reserve}) is more than `ceiling` ({}), in millionths of a dollar: no worker could start",
            budget.ceiling
        )),
        _ if budget.task == Some(0) => refused("`task` is 0: no task could have a worker".to_owned()),
        _ if budget.task.is_some_and(|task| task > budget.ceiling) => {
            refused("`task` is more than `ceiling`: it would never be reached".to_owned())
        }
        Some(_) | None => Ok(()),
    }
}
