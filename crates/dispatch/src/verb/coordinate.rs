//! Mail of managed runs: addresses of workers, and what the coordinator does when it is told something.

use std::collections::BTreeSet;

use switchboard_pipeline::scope;
use switchboard_protocol::caller::{Caller, CallerKind};
use switchboard_protocol::coordination::{Control, WORKER_PREFIX};
use switchboard_protocol::error::{Failure, near_matches};
use switchboard_protocol::frame::ShimCommand;
use switchboard_protocol::id::{MessageId, RunId, WorkerId};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{RunEvent, TaskPauseCause, TaskState};
use switchboard_store::{Idempotency, Query};

use super::{find_run, find_target, task_id};
use crate::handle::Record;
use crate::plan::RunPlan;
use crate::work::{RUNS, run_id};
use crate::{Dispatch, Error, history};

/// Whose unit a control is about.
struct Target {
    run: RunId,
    tasks: Vec<TaskId>,
    /// The worker that asks, which must still be the one at work.
    worker: Option<WorkerId>,
}

// === addresses ===

impl Dispatch {
    /// The name on the roster that an address means: `worker:1.2` and `worker:RUN/1.2` that of the worker of a unit, a plain name itself.
    ///
    /// # Errors
    /// `bus.recipient-closed` where the unit is settled, `bus.unknown-recipient` where it has no worker yet or its run is standalone; an unknown run or
    /// task.
    pub async fn address(&self, address: &str) -> Result<String, Failure> {
        let Some(unit) = address.strip_prefix(WORKER_PREFIX) else { return Ok(address.to_owned()) };
        let (row, task) = find_target(&self.world, unit)?;
        let run = run_id(&row)?;
        let Some(task) = task else {
            let failure = Failure::new("bus.unknown-recipient", format!("{address} names a run and no unit of it"));
            return Err(failure.hint(format!("{WORKER_PREFIX}{run}/TASK; to all workers: send_team_message")));
        };
        expect_managed(&self.plan_of(&run)?)?;
        if let Some(name) = self.world.worker_names.of(&run, &task) {
            return Ok(name.to_string());
        }
        let view = self.views(&run).await?.into_iter().find(|view| view.task == task);
        if view.is_none_or(|view| view.state.is_settled()) {
            let failure =
                Failure::new("bus.recipient-closed", format!("task {task} of {run} is over: it takes no mail"));
            return Err(failure.hint(format!("switchboard show {run}/{task}")));
        }
        let failure = Failure::new("bus.unknown-recipient", format!("task {task} of {run} has no worker yet"));
        Err(failure.hint(format!("switchboard show {run} says what it waits for")))
    }

    /// The names on the roster of all workers of a run that are at work: of the run that is named, or of all live ones.
    ///
    /// # Errors
    /// An unknown run, or `bus.no-responder` where nobody is at work.
    pub fn workers(&self, run: Option<&str>) -> Result<Vec<String>, Failure> {
        let rows = match run {
            Some(named) => vec![find_run(&self.world, Some(named))?],
            None => self
                .world
                .store
                .read(&Query::table(RUNS).eq("state", "running").asc("seq").limit(1000))
                .map_err(Error::from)?,
        };
        let mut names = Vec::new();
        for row in &rows {
            let run = run_id(row)?;
            if row.get_text("coordination") != Some("standalone") {
                names.extend(self.world.worker_names.all(&run).iter().map(ToString::to_string));
            }
        }
        if names.is_empty() {
            return Err(Failure::new("bus.no-responder", "no worker of a managed run is at work"));
        }
        Ok(names)
    }

    fn plan_of(&self, run: &RunId) -> Result<RunPlan, Error> {
        history::plan(&self.world, run)
    }
}

fn expect_managed(plan: &RunPlan) -> Result<(), Failure> {
    if plan.coordination.is_managed() {
        return Ok(());
    }
    let failure =
        Failure::new("bus.unknown-recipient", format!("{} is standalone: its workers have no inbox", plan.run));
    Err(failure.hint("start the run with --coordination managed"))
}

// === controls ===

impl Dispatch {
    /// Does what a message to the coordinator asks for, and records the message with it. The policy has allowed it to a person; a worker may only speak of
    /// its own unit, which is looked at here.
    ///
    /// # Errors
    /// Another's unit, one that is not at work or over, an unknown one; or the store's failure.
    pub async fn control(
        &self,
        control: &Control,
        id: &MessageId,
        caller: &Caller,
        call: Option<Idempotency>,
    ) -> Result<(), Error> {
        if self.world.answered(call.as_ref()).await?.is_some() {
            return Ok(());
        }
        let target = self.target(control, caller)?;
        expect_managed(&self.plan_of(&target.run)?)?;
        let views = self.views(&target.run).await?;
        let view_of = |task: &TaskId| views.iter().find(|view| view.task == *task).map(|view| &view.state);
        let mut steps = Vec::new();
        let mut finishing = None;
        match control {
            Control::CompleteTask { .. } => {
                let worker = target.tasks.first().and_then(view_of).and_then(worker_at_work);
                let is_meant = |worker: &&WorkerId| target.worker.as_ref().is_none_or(|own| own == *worker);
                let Some(worker) = worker.filter(is_meant) else {
                    return Err(Failure::new("request.conflict", "the task is not at work with this worker").into());
                };
                finishing = Some(worker.clone());
            }
            Control::BlockSlice { .. } => {
                let is_open = |task: &TaskId| view_of(task).is_some_and(|state| !state.is_settled());
                let open = target.tasks.into_iter().filter(is_open);
                steps.extend(open.map(|task| RunEvent::TaskPaused { task, cause: TaskPauseCause::Requested }));
                if steps.is_empty() {
                    return Err(Failure::new("request.conflict", "nothing of the slice is open").into());
                }
            }
        }
        let (message, guard) = self.world.ports.mail.understood(control, id, caller)?;
        let record = Record { steps, beside: vec![message], guards: vec![guard], call, ..Record::default() };
        let over = || Error::from(Failure::new("request.conflict", format!("{} is over", target.run)));
        let engine = || self.engine(&target.run).ok_or_else(over);
        self.ask(engine, |engine| {
            let record = record.clone();
            async move { engine.ask(record).await }
        })
        .await?;
        if let Some(link) = finishing.and_then(|worker| self.world.link(&worker))
            && link.tell(ShimCommand::Finish).await.is_err()
        {
            tracing::debug!("the worker has ended already");
        }
        Ok(())
    }

    fn target(&self, control: &Control, caller: &Caller) -> Result<Target, Error> {
        match (&caller.kind, control) {
            (CallerKind::Worker { run, worker, task, .. }, _) => {
                let own = task_id(task)?;
                self.expect_own(control, run, &own)?;
                Ok(Target { run: run.clone(), tasks: vec![own], worker: Some(worker.clone()) })
            }
            (CallerKind::Person | CallerKind::Agent, Control::CompleteTask { task, .. }) => {
                let named = task.as_deref().ok_or_else(|| missing("task"))?;
                let (row, task) = find_target(&self.world, named)?;
                let task = task.ok_or_else(|| missing("task"))?;
                Ok(Target { run: run_id(&row)?, tasks: vec![task], worker: None })
            }
            (CallerKind::Person | CallerKind::Agent, Control::BlockSlice { slice, .. }) => {
                let named = slice.as_deref().ok_or_else(|| missing("slice"))?;
                let (of, slice) = named.split_once('/').map_or((None, named), |(run, slice)| (Some(run), slice));
                let row = find_run(&self.world, of)?;
                let run = run_id(&row)?;
                let tasks = tasks_of(&self.plan_of(&run)?, slice)?;
                Ok(Target { run, tasks, worker: None })
            }
        }
    }

    /// Whether a worker speaks of the unit that it works on.
    fn expect_own(&self, control: &Control, run: &RunId, own: &TaskId) -> Result<(), Error> {
        let denied = |what: String| Failure::new("policy.denied", what).hint("a worker speaks of its own unit only");
        match control {
            Control::CompleteTask { task: Some(named), .. } => {
                let task = named.rsplit('/').next().unwrap_or(named);
                let of_run = named.split_once('/').is_none_or(|(of, _)| !of.is_empty() && run.as_str().starts_with(of));
                if task == own.as_str() && of_run {
                    return Ok(());
                }
                Err(denied(format!("{named} is not the task of this worker, which is {own}")).into())
            }
            Control::BlockSlice { slice: Some(named), .. } => {
                let plan = self.plan_of(run)?;
                let whole = plan.shape(own).and_then(|shape| shape.of.clone()).unwrap_or_else(|| own.clone());
                if tasks_of(&plan, named)?.contains(&whole) {
                    return Ok(());
                }
                Err(denied(format!("task {own} is not in the slice {named}")).into())
            }
            Control::CompleteTask { task: None, .. } | Control::BlockSlice { slice: None, .. } => Ok(()),
        }
    }
}

fn missing(field: &str) -> Error {
    Failure::new("request.bad-args", format!("`{field}` is missing")).hint("only a worker may leave its own out").into()
}

/// The worker that is at work in a state.
fn worker_at_work(state: &TaskState) -> Option<&WorkerId> {
    if let TaskState::Working { worker } = state { Some(worker) } else { None }
}

/// The tasks of a slice of any phase, without their subtasks.
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
