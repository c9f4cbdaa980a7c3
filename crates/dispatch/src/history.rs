//! Reads a run back from the record: its events, its plan, its last workers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use switchboard_pipeline::plan_json;
use switchboard_pipeline::run::{Reader, Refused, RunState};
use switchboard_pipeline::subtasks::Expanded;
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::{Event, Lsn, RawEvent};
use switchboard_protocol::id::{AgentName, RunId};
use switchboard_protocol::isolation::Isolation;
use switchboard_protocol::job::Coordination;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::StepId;
use switchboard_protocol::run::{RunEvent, TeamLimits, WorkerTimeout};
use switchboard_protocol::verb::run::{AgentChoice, RoleChoice};
use switchboard_protocol::worker::PortRange;
use switchboard_store::{Query, Row, Store};

use crate::Error;
use crate::assignees::Assignee;
use crate::error::shape;
use crate::handle::LastWorker;
use crate::json;
use crate::plan::{self, RunPlan, TaskPositions};
use crate::work::{JUDGES, RUNS, WORKERS};
use crate::worker_names::Key;
use crate::world::World;

/// Size of the first page of events, and the maximum. A reader that only needs the start of a run stops early, and
/// short runs have no more events.
const FIRST_PAGE: usize = 16;
const PAGE: usize = 1000;

/// Returns the subject of a run's events.
pub(crate) fn subject(run: &RunId) -> String {
    format!("run/{run}")
}

/// Visits a run's events, oldest first, as long as `visit` returns true.
pub(crate) fn events(store: &Store, run: &RunId, mut visit: impl FnMut(&Event) -> bool) -> Result<(), Error> {
    let subject = subject(run);
    by_page(0, |after, limit| {
        let page = store.events_of(&subject, after, limit)?;
        Ok((page.len(), page.last().filter(|_| page.iter().all(&mut visit)).map(|last| last.rev)))
    })
}

/// As [`events`], for readers that look at few of them: their facts are still text.
pub(crate) fn raw_events(store: &Store, run: &RunId, mut visit: impl FnMut(&RawEvent) -> bool) -> Result<(), Error> {
    let subject = subject(run);
    by_page(0, |after, limit| {
        let page = store.raw_events_of(&subject, after, limit)?;
        Ok((page.len(), page.last().filter(|_| page.iter().all(&mut visit)).map(|last| last.rev)))
    })
}

/// Visits a worker's events, oldest first.
pub(crate) fn events_of_worker(store: &Store, worker: &str, mut visit: impl FnMut(&Event)) -> Result<(), Error> {
    let subject = format!("worker/{worker}");
    by_page(0, |after, limit| {
        let page = store.events_of(&subject, after, limit)?;
        page.iter().for_each(&mut visit);
        Ok((page.len(), page.last().map(|event| event.rev)))
    })
}

/// Reads events page by page. `read` takes a revision and a page size, and returns how many events there were, and the
/// revision of the last one if more are wanted.
fn by_page(
    mut after: u64,
    mut read: impl FnMut(u64, usize) -> Result<(usize, Option<u64>), Error>,
) -> Result<(), Error> {
    let mut size = FIRST_PAGE;
    loop {
        match read(after, size)? {
            (count, Some(last)) if count == size => after = last,
            _ => return Ok(()),
        }
        size = (4 * size).min(PAGE);
    }
}

/// Folds a run's events into its state.
pub(crate) fn fold(store: &Store, run: &RunId) -> Result<RunState, Error> {
    let (mut state, mut rev) = (RunState::default(), 0);
    fold_onto(store, run, &mut state, &mut rev)?;
    Ok(state)
}

/// Folds a run's events after `rev` onto a state of that revision.
pub(crate) fn fold_onto(store: &Store, run: &RunId, state: &mut RunState, rev: &mut u64) -> Result<(), Error> {
    let mut reader = if *rev == 0 { Reader::new() } else { Reader::past_the_start() };
    let subject = subject(run);
    by_page(*rev, |after, limit| {
        let page = store.raw_events_of(&subject, after, limit)?;
        for event in &page {
            take(state, &mut reader, run, event)?;
            *rev = event.rev;
        }
        Ok((page.len(), page.last().map(|event| event.rev)))
    })
}

fn take(state: &mut RunState, reader: &mut Reader, run: &RunId, event: &RawEvent) -> Result<(), Error> {
    for step in reader.read(event).map_err(|error| older(run, &error.to_string()))? {
        state.step(&step, event.ts).map_err(|refused| unfoldable(run, event.rev, &refused))?;
    }
    Ok(())
}

/// Returns the error for a recorded event that its own rules refuse.
pub(crate) fn unfoldable(run: &RunId, rev: u64, refused: &Refused) -> Error {
    let what = format!("event {rev} of {run} does not follow from those before: {}", refused.why);
    Failure::new("store.corrupt", what).hint("run `switchboard verify`").into()
}

/// Returns the failure for a run that an older version recorded in a form that can't be read any more.
fn older(run: &RunId, why: &str) -> Error {
    let what = format!("{run} was recorded by an older version and can't be read: {why}");
    Failure::new("dispatch.older-run", what)
        .hint(format!("what it merged is in the branch switchboard/{run}; start its plan again for the rest"))
        .into()
}

/// Returns the text of a run's plan, and the parent trace for its workers. Older versions kept the plan where the trace
/// is now.
fn texts(world: &World, run: &RunId, configured: Lsn) -> Result<(String, String), Error> {
    let (mut text, mut left) = (String::new(), u32::MAX);
    raw_events(&world.store, run, |event| {
        let fact = (event.kind == "plan_recorded").then(|| event.fact::<RunEvent>()).flatten();
        if let Some(RunEvent::PlanRecorded { part, of, text: more }) = fact {
            text.push_str(&more);
            left = of.saturating_sub(part);
        }
        left > 0
    })?;
    let body = world.store.body(configured)?;
    if !text.is_empty() {
        return Ok((text, body.unwrap_or_default()));
    }
    let text = body.ok_or_else(|| older(run, "the text of its plan has been dropped"))?;
    Ok((text, String::new()))
}

/// Returns a run's plan and settings: those of its engine, or read from the log. The log lacks only how the agents are
/// started.
pub(crate) fn plan(world: &World, run: &RunId) -> Result<Arc<RunPlan>, Error> {
    match world.plans.of_live(run) {
        Some(plan) => Ok(plan),
        None => read_plan(world, run).map(Arc::new),
    }
}

fn read_plan(world: &World, run: &RunId) -> Result<RunPlan, Error> {
    let row = world.store.get(RUNS, &[run.as_str().into()])?;
    let row = row.ok_or_else(|| Failure::new("dispatch.unknown-run", format!("there is no run {run}")))?;
    let configured = row.try_u64("configured")?;
    let (text, parent_trace) = texts(world, run, configured)?;
    let plan = plan_json::recorded(&text).map_err(shape(format!("the plan of {run}")))?;
    let setup = match switchboard_pipeline::setup::planned(&plan) {
        Some(commands) => commands,
        None => match row.get_text("setup") {
            Some(text) => serde_json::from_str(text).map_err(shape("a set-up"))?,
            None => Vec::new(),
        },
    };
    let agents = world.ports.files.read(&plan::agents_file(&world.config, run))?;
    let agents: Vec<AgentChoice> = match agents {
        Some(bytes) => json::from_slice(&bytes).map_err(shape("agents.json"))?,
        None => Vec::new(),
    };
    let limits = match world.ports.files.read(&plan::limits_file(&world.config, run))? {
        Some(bytes) => json::from_slice(&bytes).map_err(shape("limits.json"))?,
        None => TeamLimits::default(),
    };
    let roles = world.ports.files.read(&plan::roles_file(&world.config, run))?;
    let roles: Vec<RoleChoice> = match roles {
        Some(bytes) => json::from_slice(&bytes).map_err(shape("roles.json"))?,
        None => Vec::new(),
    };
    let timeout = match row.get_text("timeout") {
        Some(text) => serde_json::from_str(text).map_err(shape("a time limit"))?,
        None => WorkerTimeout::default(),
    };
    let Expanded { plan, shapes, .. } = switchboard_pipeline::subtasks::expand(&plan)?;
    Ok(RunPlan {
        run: run.clone(),
        positions: TaskPositions::of(&plan),
        plan,
        shapes,
        base: row.try_text("base")?.to_owned(),
        branch: row.try_text("branch")?.to_owned(),
        worktrees: row.try_text("worktrees")?.into(),
        default_agent: row.get_text("default_agent").and_then(|name| AgentName::new(name).ok()),
        agents: agents.into_iter().map(|choice| (choice.name.folded(), choice)).collect(),
        renewed_env: Mutex::default(),
        roles: roles.into_iter().map(|choice| (choice.role.clone(), choice)).collect(),
        merge: row.get_bool("merge"),
        confirms_merge: row.get_bool("confirms_merge"),
        setup,
        timeout,
        limits,
        isolation: row.get_text("isolation").and_then(Isolation::of),
        unenforced: row.get_bool("unenforced"),
        coordination: row.get_text("coordination").and_then(Coordination::of).unwrap_or_default(),
        tree: row.get_text("tree").unwrap_or_default().to_owned(),
        parent_trace,
    })
}

/// Resources that the last worker of a task held exclusively.
pub(crate) struct Claimed {
    /// Position of the event that recorded the claim.
    pub(crate) at: Lsn,
    pub(crate) name: Assignee,
    /// TCP ports of the worker.
    pub(crate) ports: Option<PortRange>,
}

/// Returns the exclusive resources of the last worker of each task of a run, and of each step that judges.
pub(crate) fn claimed(store: &Store, run: &RunId) -> Result<BTreeMap<Key, Claimed>, Error> {
    let mut claimed = BTreeMap::new();
    let query = Query::table(WORKERS).eq("run", run.as_str()).asc("seq");
    for row in store.read(&query)? {
        let Ok(task) = TaskId::new(row.try_text("task")?) else { continue };
        let number = |column| row.get_int(column).and_then(|number| u16::try_from(number).ok());
        let ports = number("port").zip(number("ports")).map(|(first, count)| PortRange { first, count });
        let Ok(name) = AgentName::new(row.try_text("agent")?) else { continue };
        let name = Assignee { folded: name.folded(), name, is_scripted: row.get_bool("scripted") };
        let step = row.get_text(JUDGES).and_then(|step| StepId::new(step).ok());
        claimed.insert((task, step), Claimed { at: row.try_u64("seq")?, name, ports });
    }
    Ok(claimed)
}

/// Returns the names that the workers of a run have had, each once.
pub(crate) fn agents(store: &Store, run: &RunId) -> Result<Vec<AgentName>, Error> {
    let workers = store.read(&Query::table(WORKERS).eq("run", run.as_str()))?;
    let mut agents: Vec<_> = workers.iter().filter_map(|row| AgentName::new(row.get_text("agent")?).ok()).collect();
    agents.sort_by_key(AgentName::folded);
    agents.dedup_by_key(|name| name.folded());
    Ok(agents)
}

/// Returns the row of the last worker that made a task's change or report.
pub(crate) fn last_worker(world: &World, run: &RunId, task: &TaskId) -> Result<Option<Row>, Error> {
    let made = Query::table(WORKERS).eq("run", run.as_str()).eq("task", task.as_str()).is_null(JUDGES);
    Ok(world.store.read(&made.desc("seq").limit(1))?.pop())
}

/// Worker of a task, with its start point.
#[derive(Debug)]
pub(crate) struct Turn {
    /// True if the worker makes the change rather than judging it.
    pub(crate) makes: bool,
    /// Base commit of the change.
    pub(crate) base: String,
    /// Commit that the worker's tree started as.
    pub(crate) start: String,
}

/// Returns the workers of a task, oldest first.
pub(crate) fn turns(world: &World, run: &RunId, task: &TaskId) -> Result<Vec<Turn>, Error> {
    let query = Query::table(WORKERS).eq("run", run.as_str()).eq("task", task.as_str()).asc("seq");
    let turn = |row: Row| {
        let (base, start) = (row.try_text("base")?.to_owned(), row.try_text("start")?.to_owned());
        Ok(Turn { makes: makes(&row), base, start })
    };
    world.store.read(&query)?.into_iter().map(turn).collect()
}

/// Returns true if a worker makes a change rather than judging one.
pub(crate) fn makes(row: &Row) -> bool {
    row.get_text(JUDGES).is_none()
}

/// Returns the last worker of each task of a run.
pub(crate) fn last_workers(world: &World, run: &RunId) -> Result<BTreeMap<TaskId, LastWorker>, Error> {
    let mut last = BTreeMap::new();
    let query = Query::table(WORKERS).eq("run", run.as_str()).asc("seq");
    for row in world.store.read(&query)?.into_iter().filter(makes) {
        let Ok(task) = TaskId::new(row.try_text("task")?) else { continue };
        let (base, start) = (row.try_text("base")?.to_owned(), row.try_text("start")?.to_owned());
        last.insert(task, LastWorker { base, start });
    }
    Ok(last)
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn pages_grow_up_to_the_largest_and_the_last_is_not_full() {
        let (mut asked, total) = (Vec::new(), 3_000);
        by_page(0, |after, size| {
            asked.push((after, size));
            let count = size.min(total - after as usize);
            Ok((count, Some(after + count as u64)))
        })
        .unwrap();

        assert_eq!(asked, [(0, 16), (16, 64), (80, 256), (336, 1_000), (1_336, 1_000), (2_336, 1_000)]);
        let mut asked = 0;
        by_page(0, |_, size| {
            asked += 1;
            Ok((size, None))
        })
        .unwrap();
        assert_eq!(asked, 1, "no more are wanted");
    }
}
