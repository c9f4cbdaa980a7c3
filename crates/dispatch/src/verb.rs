//! Verbs on runs, tasks and workers, one file each.

mod act;
pub(crate) mod check;
pub(crate) mod check_gate_status;
pub(crate) mod clean_runs;
mod control;
mod coordinate;
pub(crate) mod evidence_check;
pub(crate) mod get_run;
mod get_timeline;
mod lead;
pub(crate) mod merge_run;
mod next_unit;
pub(crate) mod pause_run;
mod read_output;
mod rebase_run;
mod renew_env;
mod resume_run;
pub(crate) mod retry_task;
pub(crate) mod set_budget;
mod show_task;
pub(crate) mod start_run;
pub(crate) mod stop_run;
mod subagent;
pub(crate) mod tell_worker;
mod undo_merge;

pub use subagent::Continuation;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use switchboard_pipeline::prepare;
use switchboard_pipeline::run::RunState;
use switchboard_pipeline::scope::Group;
use switchboard_protocol::error::{Failure, near_matches};
use switchboard_protocol::id::RunId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{RunEvent, Skipped, TaskView};
use switchboard_store::{Idempotency, Query, Row};

use crate::error::shape;
use crate::event::cut;
use crate::handle::{Handle, Record};
use crate::parts::parts_of;
use crate::plan::RunPlan;
use crate::work::{RUNS, run_id};
use crate::world::World;
use crate::{Dispatch, Error, history};

/// Finds a run by its id or the beginning of its id; without a name, the newest run.
pub(crate) fn find_run(world: &World, named: Option<&str>) -> Result<Row, Error> {
    let Some(named) = named else {
        // A part belongs to the run that a team leads, which is older.
        let newest = Query::table(RUNS).is_null("part_of").desc("seq").limit(1);
        return world.store.read(&newest)?.pop().ok_or_else(|| unknown("there is no run yet"));
    };
    let mut found = begins_with(world, named)?;
    found.extend(begins_with(world, &format!("run_{named}"))?);
    match found.pop().filter(|_| !named.is_empty()) {
        None => Err(unknown(&format!("there is no run {}", cut(named, 40)))),
        Some(row) if found.is_empty() => Ok(row),
        Some(_) => Err(unknown(&format!("{} fits several runs: give more of its id", cut(named, 40)))),
    }
}

/// Returns the runs whose id begins with this, at most two.
fn begins_with(world: &World, begin: &str) -> Result<Vec<Row>, Error> {
    let mut rows = world.store.read(&Query::table(RUNS).ge("id", begin).asc("id").limit(2))?;
    rows.retain(|row| row.get_text("id").is_some_and(|id| id.starts_with(begin)));
    Ok(rows)
}

fn unknown(what: &str) -> Error {
    Failure::new("dispatch.unknown-run", what).hint("`switchboard status` lists runs").into()
}

/// Splits `RUN/TASK` or `RUN`; a lone `TASK` is one of the newest run.
pub(crate) fn find_target(world: &World, what: &str) -> Result<(Row, Option<TaskId>), Error> {
    if let Some((run, task)) = what.split_once('/') {
        let row = find_run(world, Some(run))?;
        let task = task_id(task)?;
        let row = holder_of(world, row, &task)?;
        let task = known_task(world, &row, task)?;
        return Ok((row, Some(task)));
    }
    match find_run(world, Some(what)) {
        Ok(row) => Ok((row, None)),
        Err(error) => match (task_id(what), find_run(world, None)) {
            (Ok(task), Ok(newest)) if what.starts_with(|c: char| c.is_ascii_digit()) => {
                let newest = holder_of(world, newest, &task)?;
                let task = known_task(world, &newest, task)?;
                Ok((newest, Some(task)))
            }
            _ => Err(error),
        },
    }
}

/// Splits `RUN/TASK` and adds further tasks of the same run; no task means the whole run. In place of a task a phase or
/// a slice may be named ([`Group`]).
pub(crate) fn find_targets(world: &World, what: &str, more: &[String]) -> Result<(Row, Vec<TaskId>), Error> {
    let (mut row, mut tasks) = match what.split_once('/').and_then(|(run, named)| Some((run, Group::parse(named)?))) {
        Some((run, group)) => tasks_of_group(world, find_run(world, Some(run))?, &group)?,
        None => {
            let (row, task) = find_target(world, what)?;
            (row, task.into_iter().collect())
        }
    };
    for (at, named) in more.iter().enumerate() {
        let (of, named) = named.split_once('/').map_or((None, named.as_str()), |(of, named)| (Some(of), named));
        let of = of.map(|of| find_run(world, Some(of))).transpose()?.unwrap_or_else(|| row.clone());
        let (holder, found) = match Group::parse(named) {
            Some(group) => tasks_of_group(world, of, &group)?,
            None => {
                let task = task_id(named)?;
                let holder = holder_of(world, of, &task)?;
                let task = known_task(world, &holder, task)?;
                (holder, vec![task])
            }
        };
        if at == 0 && tasks.is_empty() {
            row = holder;
        } else if run_id(&holder)? != run_id(&row)? {
            let what = format!("{} is no task of {}", cut(named, 60), run_id(&row)?);
            return Err(Failure::new("request.bad-args", what).hint("name tasks of one run in a call").into());
        }
        tasks.extend(found.into_iter().filter(|task| !tasks.contains(task)).collect::<Vec<_>>());
    }
    Ok((row, tasks))
}

/// Returns the tasks of a phase or a slice of a run, without their subtasks, and the run that has them: for a run that a
/// team leads, its newest part with some.
fn tasks_of_group(world: &World, row: Row, group: &Group) -> Result<(Row, Vec<TaskId>), Error> {
    let run = run_id(&row)?;
    let holders = if row.get_text("mode").is_none() { vec![row] } else { parts_of(world, &run)? };
    for row in holders.into_iter().rev() {
        let plan = history::plan(world, &run_id(&row)?)?;
        let is_whole = |id: &TaskId| plan.shape(id).is_none_or(|shape| shape.of.is_none());
        let tasks: Vec<_> = group.tasks(&plan.plan).map(|task| task.id.clone()).filter(is_whole).collect();
        if !tasks.is_empty() {
            return Ok((row, tasks));
        }
    }
    let what = match group {
        Group::Phase(id) => format!("{run} has no tasks of phase {id}"),
        Group::Slice(name) => format!("{run} has no tasks of slice {name}"),
    };
    Err(Failure::new("plan.unknown-scope", what).hint(format!("switchboard show {run}")).into())
}

/// Returns true if a call names a phase or a slice.
fn names_group(what: &str, more: &[String]) -> bool {
    let is_group = |named: &str| Group::parse(named.rsplit('/').next().unwrap_or(named)).is_some();
    is_group(what) || more.iter().any(|named| is_group(named))
}

/// Returns the run that has a task: for a run that a team leads, the newest part with this task.
fn holder_of(world: &World, row: Row, task: &TaskId) -> Result<Row, Error> {
    if row.get_text("mode").is_none() {
        return Ok(row);
    }
    for part in parts_of(world, &run_id(&row)?)?.into_iter().rev() {
        let plan = history::plan(world, &run_id(&part)?)?;
        if plan.positions.find(&plan.plan, task).is_some() {
            return Ok(part);
        }
    }
    Err(Failure::new("dispatch.unknown-task", format!("nothing with a task {task} has begun")).into())
}

/// Returns the tasks of the plan that the run has left out.
fn left_out(plan: &RunPlan) -> Vec<Skipped> {
    let skipped = prepare::skipped(&plan.plan, &BTreeSet::new()).into_iter();
    skipped.filter(|left| plan.shape(&left.id).is_none_or(|shape| shape.of.is_none())).collect()
}

/// Refuses a task that the run does not have, and names similar ones.
fn known_task(world: &World, row: &Row, task: TaskId) -> Result<TaskId, Error> {
    let run = run_id(row)?;
    let plan = history::plan(world, &run)?;
    if plan.positions.find(&plan.plan, &task).is_some() {
        return Ok(task);
    }
    let failure = Failure::new("dispatch.unknown-task", format!("{run} has no task {task}"));
    let near = near_matches(task.as_str(), plan.plan.tasks().map(|task| task.id.as_str()));
    Err(match near.as_slice() {
        [] => failure.hint(format!("switchboard show {run}")).into(),
        near => failure.hint(format!("did you mean {}?", near.join(" or "))).into(),
    })
}

fn task_id(text: &str) -> Result<TaskId, Error> {
    TaskId::new(text)
        .map_err(|error| Failure::new("dispatch.unknown-task", format!("{}: {error}", cut(text, 40))).into())
}

impl Dispatch {
    /// Returns the tasks that a call concerns: of a named phase or slice, those that are not settled.
    async fn open_of_group(
        &self,
        run: &RunId,
        mut tasks: Vec<TaskId>,
        (what, more): (&str, &[String]),
    ) -> Result<Vec<TaskId>, Error> {
        if !names_group(what, more) {
            return Ok(tasks);
        }
        let state = self.state(run).await?;
        tasks.retain(|task| state.task(task).is_some_and(|view| !view.state.is_settled()));
        if tasks.is_empty() {
            let what = format!("all named tasks of {run} are settled");
            return Err(Failure::new("request.conflict", what).hint(format!("switchboard show {run}")).into());
        }
        Ok(tasks)
    }

    /// Returns the present state of a run's tasks: from its engine while it is live, else folded from the log.
    pub(crate) async fn views(&self, run: &RunId) -> Result<Vec<TaskView>, Error> {
        Ok(self.state(run).await?.tasks().collect())
    }

    /// Returns the present state of a run's task.
    ///
    /// # Errors
    /// `dispatch.unknown-task` when the run does not have it, or leaves it out, with the reason; a failure of the store.
    pub(crate) async fn view(&self, run: &RunId, task: &TaskId) -> Result<TaskView, Error> {
        if let Some(view) = self.state(run).await?.task(task) {
            return Ok(view);
        }
        let plan = history::plan(&self.world, run)?;
        let what = match left_out(&plan).into_iter().find(|left| left.id == *task) {
            Some(left) => format!("{run} leaves out task {task}: {}", left.detail),
            None => format!("{run} has no task {task}"),
        };
        let failure = Failure::new("dispatch.unknown-task", what);
        Err(failure.hint(format!("switchboard show {run}")).into())
    }

    /// Returns the present state of a run: from its engine while it is live, else folded from the log.
    pub(crate) async fn state(&self, run: &RunId) -> Result<Arc<RunState>, Error> {
        if let Some(engine) = self.engine(run)
            && let Ok(state) = engine.state().await
        {
            return Ok(state);
        }
        Ok(Arc::new(history::fold(&self.world.store, run)?))
    }

    /// Has the engine of a run that is not over record a request; returns the answer.
    pub(crate) async fn ask_live(
        &self,
        run: &RunId,
        steps: Vec<RunEvent>,
        call: Option<Idempotency>,
        answer: Value,
    ) -> Result<Value, Error> {
        let engine = || {
            let over = || Failure::new("request.conflict", format!("{run} is over"));
            self.engine(run).ok_or_else(|| over().into())
        };
        let record = Record { steps, call, reply: answer, ..Record::default() };
        let ask = |engine: Handle| {
            let record = record.clone();
            async move { engine.ask(record).await }
        };
        self.ask(engine, ask).await
    }

    /// Asks the engine of a run to record something; if the engine ends meanwhile, looks it up again.
    pub(crate) async fn ask<F: Future<Output = Result<Value, Error>>>(
        &self,
        find: impl Fn() -> Result<Handle, Error>,
        ask: impl Fn(Handle) -> F,
    ) -> Result<Value, Error> {
        loop {
            match ask(find()?).await {
                Err(Error::Stopping) if !self.world.stop.is_cancelled() => tokio::task::yield_now().await,
                done => return done,
            }
        }
    }
}

/// Reads a stored reply.
pub(crate) fn reply<T: DeserializeOwned>(value: Value) -> Result<T, Error> {
    serde_json::from_value(value).map_err(shape("a reply"))
}

/// Converts a reply to its stored form.
pub(crate) fn reply_value<T: Serialize>(reply: &T) -> Result<Value, Error> {
    serde_json::to_value(reply).map_err(shape("a reply"))
}
