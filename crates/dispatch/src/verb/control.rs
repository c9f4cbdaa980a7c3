//! Controls of managed runs: effects of a message to the coordinator, or of a control message to a worker's address.
//! The verbs of the same names have these effects in every run; here the message is recorded in the same commit.

use std::collections::BTreeSet;

use switchboard_pipeline::scope;
use switchboard_protocol::caller::{Caller, CallerKind};
use switchboard_protocol::coordination::{Control, ControlReply, UnitStatus};
use switchboard_protocol::error::{Failure, near_matches};
use switchboard_protocol::frame::ShimCommand;
use switchboard_protocol::id::{MessageId, RunId, WorkerId};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{AtCeiling, Budget, PauseCause, RunEvent, TaskPauseCause, TaskState, TaskView};
use switchboard_store::{Batch, Idempotency, Query, Row};

use super::coordinate::expect_managed;
use super::resume_run::refuse_at_ceiling;
use super::set_budget::{check, check_ceiling};
use super::stop_run::check_grace;
use super::{find_run, find_target, reply, reply_value, task_id};
use crate::handle::Record;
use crate::plan::RunPlan;
use crate::work::{WORKERS, run_id};
use crate::{Dispatch, Error, report};

/// Maximum number of units named in an answer.
const MAX_NAMED: usize = 50;

/// Unit that a control concerns.
struct Target {
    row: Row,
    run: RunId,
    /// Tasks; empty for the whole run.
    tasks: Vec<TaskId>,
    /// Worker that makes the request, which must still be the current one.
    worker: Option<WorkerId>,
}

impl Dispatch {
    /// Carries out a control and records its message with it; returns the state of the units at that time. The policy
    /// has allowed it for a person; a worker may only control its own unit, which is checked here.
    ///
    /// # Errors
    /// A unit of another worker, one that is not at work or over, an unknown one; or a failure of the store.
    pub async fn control(
        &self,
        control: &Control,
        id: &MessageId,
        caller: &Caller,
        call: Option<Idempotency>,
    ) -> Result<ControlReply, Error> {
        if let Some(answered) = self.world.answered(call.as_ref()).await? {
            return reply(answered);
        }
        let target = self.target(control, caller)?;
        expect_one_plan(&target)?;
        let plan = self.plan_of(&target.run)?;
        expect_managed(&plan)?;
        let views = self.views(&target.run).await?;
        let finishing = finishing(control, &target, &views)?;
        let steps = self.steps(control, &target, &views).await?;
        let answer = reply_value(&self.control_reply(&target, &views)?)?;
        let (message, guard) = self.world.ports.mail.understood(control, id, caller)?;
        if steps.is_empty() && finishing.is_none() {
            let mut batch = Batch::synced().event(message).guard(guard).reply(answer);
            batch.idempotency = call;
            return reply(self.world.commit(batch).await?.reply);
        }
        let record =
            Record { steps, beside: vec![message], guards: vec![guard], call, reply: answer, ..Record::default() };
        let over = || Error::from(Failure::new("request.conflict", format!("{} is over", target.run)));
        let engine = || self.engine(&target.run).ok_or_else(over);
        let answer = self.ask(engine, |engine| {
            let record = record.clone();
            async move { engine.ask(record).await }
        });
        let answer = answer.await?;
        if let Some(link) = finishing.and_then(|worker| self.world.link(&worker))
            && link.tell(ShimCommand::Finish).await.is_err()
        {
            tracing::debug!("the worker has ended already");
        }
        reply(answer)
    }

    /// Returns the steps of the run that a control requests.
    async fn steps(&self, control: &Control, target: &Target, views: &[TaskView]) -> Result<Vec<RunEvent>, Error> {
        let Target { run, tasks, row, .. } = target;
        let each = |step: fn(TaskId) -> RunEvent| tasks.iter().cloned().map(step).collect::<Vec<_>>();
        let paused = |task| RunEvent::TaskPaused { task, cause: TaskPauseCause::Requested };
        Ok(match control {
            Control::Pause { .. } if tasks.is_empty() => {
                vec![RunEvent::RunPaused { cause: PauseCause::Requested }]
            }
            Control::Pause { .. } => each(paused),
            Control::Resume { .. } => {
                self.world.read_limits().await?;
                refuse_at_ceiling(&self.world, row, run)?;
                if tasks.is_empty() { vec![RunEvent::RunResumed] } else { each(|task| RunEvent::TaskResumed { task }) }
            }
            Control::Stop { grace_ms, .. } => {
                check_grace(*grace_ms)?;
                self.stops(run, tasks.clone(), *grace_ms).await?
            }
            Control::Cancel { .. } => self.stops(run, tasks.clone(), Some(0)).await?,
            Control::Budget { ceiling, .. } => self.budget(target, *ceiling)?,
            Control::Rebase { .. } => self.rebases(run, tasks).await?,
            Control::BlockSlice { .. } => {
                let is_open = |task: &&TaskId| view_of(views, task).is_some_and(|view| !view.state.is_settled());
                let steps: Vec<_> = tasks.iter().filter(is_open).cloned().map(paused).collect();
                if steps.is_empty() {
                    return Err(Failure::new("request.conflict", "nothing of the slice is open").into());
                }
                steps
            }
            // Without steps: completing ends a worker, a status only reads, and a prompt is mail.
            Control::CompleteTask { .. } | Control::Status { .. } | Control::Prompt { .. } => Vec::new(),
        })
    }

    /// Returns the step that sets the ceiling of a task, or of a run, whose budget otherwise stays the same.
    fn budget(&self, target: &Target, ceiling: Option<u64>) -> Result<Vec<RunEvent>, Error> {
        check_ceiling(ceiling)?;
        if !target.tasks.is_empty() {
            let set = |task| RunEvent::TaskBudgetSet { task, ceiling };
            return Ok(target.tasks.iter().cloned().map(set).collect());
        }
        let known = report::summary(&self.world, &target.row)?.budget;
        let new = |ceiling| Budget { ceiling, task: None, reserve: None, at_ceiling: AtCeiling::default() };
        let budget = ceiling.map(|ceiling| known.map_or_else(|| new(ceiling), |known| Budget { ceiling, ..known }));
        budget.as_ref().map_or(Ok(()), check)?;
        let plan = target.row.get_int("plan_budget").and_then(|ceiling| u64::try_from(ceiling).ok());
        let day = self.world.shared.state().has_day();
        Ok(vec![RunEvent::BudgetSet { budget, plan, day }])
    }

    /// Returns the state of the units that a control concerns.
    fn control_reply(&self, target: &Target, views: &[TaskView]) -> Result<ControlReply, Error> {
        let is_meant = |view: &&TaskView| match target.tasks.as_slice() {
            [] => worker_of(&view.state).is_some(),
            tasks => tasks.contains(&view.task),
        };
        let units = views.iter().filter(is_meant).take(MAX_NAMED).map(|view| self.unit_status(&target.run, view));
        Ok(ControlReply {
            run: target.run.clone(),
            state: target.row.try_text("state")?.to_owned(),
            units: units.collect::<Result<_, _>>()?,
        })
    }

    fn unit_status(&self, run: &RunId, view: &TaskView) -> Result<UnitStatus, Error> {
        let of_task = Query::table(WORKERS).eq("run", run.as_str()).eq("task", view.task.as_str());
        let workers = self.world.store.read(&of_task.desc("seq"))?;
        let worker = worker_of(&view.state).cloned();
        let waits = workers.first().filter(|_| worker.is_some()).and_then(|row| row.get_text("pause"));
        let pause = waits.or_else(|| view.paused.map(|cause| if cause.is_requested() { "paused" } else { "budget" }));
        let cost = |row: &Row| {
            let of = |column| row.get_int(column).and_then(|cost| u64::try_from(cost).ok()).unwrap_or(0);
            of("micro_usd").saturating_add(of("estimated"))
        };
        Ok(UnitStatus {
            unit: view.task.to_string(),
            state: report::state_word(&view.state).to_owned(),
            worker,
            pause: pause.map(str::to_owned),
            attempts: if workers.is_empty() { 0 } else { view.attempt },
            micro_usd: workers.iter().map(cost).fold(0, u64::saturating_add),
        })
    }

    fn target(&self, control: &Control, caller: &Caller) -> Result<Target, Error> {
        if let CallerKind::Worker { run, worker, task, .. } = &caller.kind {
            let own = task_id(task)?;
            self.expect_own(control, run, &own)?;
            let row = find_run(&self.world, Some(run.as_str()))?;
            return Ok(Target { row, run: run.clone(), tasks: vec![own], worker: Some(worker.clone()) });
        }
        let (row, tasks) = match control {
            Control::BlockSlice { slice, .. } => {
                let named = slice.as_deref().ok_or_else(|| missing("slice"))?;
                let (of, slice) = named.split_once('/').map_or((None, named), |(run, slice)| (Some(run), slice));
                let row = find_run(&self.world, of)?;
                let plan = self.plan_of(&run_id(&row)?)?;
                let tasks = tasks_of(&plan, slice)?;
                (row, tasks)
            }
            Control::CompleteTask { task: named, .. } => self.unit(named.as_deref(), "task", true)?,
            Control::Prompt { unit, .. } => self.unit(unit.as_deref(), "unit", true)?,
            Control::Pause { unit }
            | Control::Resume { unit }
            | Control::Stop { unit, .. }
            | Control::Cancel { unit }
            | Control::Budget { unit, .. }
            | Control::Rebase { unit }
            | Control::Status { unit } => self.unit(unit.as_deref(), "unit", false)?,
        };
        Ok(Target { run: run_id(&row)?, row, tasks, worker: None })
    }

    /// Returns the run and the task that a unit names; no task if it is a run, unless a task is required.
    fn unit(&self, named: Option<&str>, field: &str, wants_task: bool) -> Result<(Row, Vec<TaskId>), Error> {
        let named = named.ok_or_else(|| missing(field))?;
        let (row, task) = find_target(&self.world, named)?;
        if task.is_none() && wants_task {
            return Err(Failure::new("request.bad-args", format!("{named} is a run: name a task of it")).into());
        }
        Ok((row, task.into_iter().collect()))
    }

    /// Checks that a worker's control concerns its own unit, and that workers may use it.
    fn expect_own(&self, control: &Control, run: &RunId, own: &TaskId) -> Result<(), Error> {
        let denied = |what: String| Failure::new("policy.denied", what).hint("a worker speaks of its own unit only");
        let named = match control {
            Control::CompleteTask { task: named, .. } | Control::Status { unit: named } => named,
            Control::BlockSlice { slice: None, .. } => return Ok(()),
            Control::BlockSlice { slice: Some(named), .. } => {
                let plan = self.plan_of(run)?;
                let whole = plan.shape(own).and_then(|shape| shape.of.clone()).unwrap_or_else(|| own.clone());
                if tasks_of(&plan, named)?.contains(&whole) {
                    return Ok(());
                }
                return Err(denied(format!("task {own} is not in the slice {named}")).into());
            }
            Control::Pause { .. }
            | Control::Resume { .. }
            | Control::Stop { .. }
            | Control::Cancel { .. }
            | Control::Budget { .. }
            | Control::Rebase { .. }
            | Control::Prompt { .. } => {
                let what = format!("only a person decides this: {}", control.word());
                let hint = "a worker sends status, complete-task and block-slice, about its own unit";
                return Err(Failure::new("policy.denied", what).hint(hint).into());
            }
        };
        let Some(named) = named else { return Ok(()) };
        let task = named.rsplit('/').next().unwrap_or(named);
        let of_run = named.split_once('/').is_none_or(|(of, _)| !of.is_empty() && run.as_str().starts_with(of));
        if task == own.as_str() && of_run {
            return Ok(());
        }
        Err(denied(format!("{named} is not the task of this worker, which is {own}")).into())
    }
}

/// Refuses a run that a team leads: its tasks are in runs of their own.
fn expect_one_plan(target: &Target) -> Result<(), Failure> {
    if target.row.get_text("mode").is_none() {
        return Ok(());
    }
    let failure =
        Failure::new("request.conflict", format!("a team leads {}: a message steers one task of it", target.run));
    Err(failure.hint(format!("name {0}/TASK; `switchboard pause`, `resume`, `stop` and `budget` take {0}", target.run)))
}

/// Returns the worker that a control tells to end after its turn.
fn finishing(control: &Control, target: &Target, views: &[TaskView]) -> Result<Option<WorkerId>, Failure> {
    let Control::CompleteTask { .. } = control else { return Ok(None) };
    let view = target.tasks.first().and_then(|task| view_of(views, task));
    let at_work =
        view.and_then(|view| if let TaskState::Working { worker } = &view.state { Some(worker) } else { None });
    let is_meant = |worker: &&WorkerId| target.worker.as_ref().is_none_or(|own| own == *worker);
    let conflict = || Failure::new("request.conflict", "the task is not at work with this worker");
    at_work.filter(is_meant).cloned().map(Some).ok_or_else(conflict)
}

fn view_of<'a>(views: &'a [TaskView], task: &TaskId) -> Option<&'a TaskView> {
    views.iter().find(|view| view.task == *task)
}

/// Returns the worker of a task, if it has one.
fn worker_of(state: &TaskState) -> Option<&WorkerId> {
    if let TaskState::Starting { worker } | TaskState::Working { worker } = state { Some(worker) } else { None }
}

fn missing(field: &str) -> Error {
    Failure::new("request.bad-args", format!("`{field}` is missing")).hint("only a worker may leave its own out").into()
}

/// Returns the tasks of a slice of any phase, without their subtasks.
fn tasks_of(plan: &RunPlan, slice: &str) -> Result<Vec<TaskId>, Failure> {
    let slices = scope::slices(&plan.plan);
    if let Some(tasks) = slices.get(slice) {
        return Ok(tasks.clone());
    }
    let failure = Failure::new("plan.unknown-scope", format!("the plan has no slice {slice}"));
    let names: BTreeSet<&str> = slices.keys().map(String::as_str).collect();
    Err(match near_matches(slice, names).as_slice() {
        [] if slices.is_empty() => failure.hint("no task says `x-switchboard.slice`"),
        [] => failure.hint(format!("its slices are {}", slices.keys().cloned().collect::<Vec<_>>().join(", "))),
        near => failure.hint(format!("did you mean {}?", near.join(" or "))),
    })
}
