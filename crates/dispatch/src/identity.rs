//! Identity of a worker from its row, the check that it still has its task, and the events of its actions.

use switchboard_protocol::action::WorkerAction;
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::{AgentName, RunId, WorkerId};
use switchboard_protocol::isolation::Isolation;
use switchboard_protocol::verb::step::Fence;
use switchboard_protocol::worker::WorkerFact;
use switchboard_store::Row;

use crate::Error;
use crate::error::shape;

/// Identity of a worker, proven by its capability token.
#[derive(Debug, Clone)]
pub struct WorkerIdentity {
    /// Run of the worker.
    pub run: RunId,
    /// Id of the worker.
    pub worker: WorkerId,
    /// Task of the worker.
    pub task: String,
    /// Name of the worker's agent on the bus.
    pub agent: AgentName,
    /// Isolation of the worker.
    pub isolation: Isolation,
}

/// Returns the run of a worker.
pub(crate) fn run_of(row: &Row) -> Result<RunId, Error> {
    RunId::new(row.try_text("run")?).map_err(|_| Error::Missing("the run of a worker".to_owned()))
}

/// Returns the id of a worker.
pub(crate) fn worker_id(row: &Row) -> Result<WorkerId, Error> {
    WorkerId::new(row.try_text("id")?).map_err(|_| Error::Missing("the id of a worker".to_owned()))
}

/// Returns the identity of the worker of a row.
pub(crate) fn identity(row: &Row) -> Result<WorkerIdentity, Error> {
    let bad = |what: &str| Error::Missing(format!("the {what} of a worker"));
    Ok(WorkerIdentity {
        run: run_of(row)?,
        worker: worker_id(row)?,
        task: row.try_text("task")?.to_owned(),
        agent: AgentName::new(row.try_text("agent")?).map_err(|_| bad("agent"))?,
        // A row without the column is older than constrained workers.
        isolation: match row.get_text("isolation") {
            None => Isolation::Full,
            Some(word) => Isolation::of(word).ok_or_else(|| bad("isolation"))?,
        },
    })
}

/// Returns the event of an action, as a fact of its worker.
pub(crate) fn event(worker: &WorkerId, by: &AgentName, index: u32, action: &WorkerAction) -> Result<NewEvent, Error> {
    let fact = WorkerFact::WorkerActed { worker: worker.clone(), index, action: action.fitted() };
    let mut event = NewEvent::of(&fact, format!("worker/{worker}"), by.as_str()).map_err(shape("worker_acted"))?;
    event.body = Some(serde_json::to_string(action).map_err(shape("an action"))?);
    Ok(event)
}

/// Refuses a worker that has lost its task, also if it has not ended yet, or that claims the identity of another.
pub(crate) fn holds(row: &Row, worker: &WorkerId, fence: &Fence) -> Result<(), Error> {
    let is_task = match &fence.task {
        Some(task) => row.try_text("task")? == task.as_str(),
        None => true,
    };
    let is_attempt = match fence.attempt {
        Some(named) => attempt(row)? == named,
        None => true,
    };
    let is_live = row.get_int("exited") == Some(0) && row.get_int("taken_back").is_none();
    if is_task && is_attempt && is_live { Ok(()) } else { Err(stale(worker).into()) }
}

/// Returns the attempt of a worker.
pub(crate) fn attempt(row: &Row) -> Result<u32, Error> {
    Ok(u32::try_from(row.try_u64("attempt")?).unwrap_or(u32::MAX))
}

/// Returns the refusal for a worker that no longer has its task.
pub(crate) fn stale(worker: &WorkerId) -> Failure {
    let what = format!("{worker} does not work on that task and attempt, or no longer does");
    Failure::new("dispatch.stale-worker", what)
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::plan::TaskId;

    use super::*;

    fn row() -> Row {
        let ids = [("id", WorkerId::from_bits(1).to_string()), ("run", RunId::from_bits(2).to_string())];
        let row = ids.into_iter().fold(Row::new(), |row, (column, id)| row.with(column, id));
        row.with("task", "1.2").with("agent", "ann").with("attempt", 3_i64).with("exited", 0_i64)
    }

    #[test]
    fn a_worker_holds_its_own_task_and_attempt_until_it_has_exited() {
        let worker = WorkerId::from_bits(1);
        let fence = |task: Option<&str>, attempt| Fence { task: task.map(|task| TaskId::new(task).unwrap()), attempt };
        let code = |row: &Row, fence: &Fence| holds(row, &worker, fence).err().map(|error| error.to_failure().code);
        let stale = Some("dispatch.stale-worker".to_owned());

        assert_eq!(code(&row(), &fence(None, None)), None);
        assert_eq!(code(&row(), &fence(Some("1.2"), Some(3))), None);
        assert_eq!(code(&row(), &fence(Some("1.3"), Some(3))), stale);
        assert_eq!(code(&row(), &fence(Some("1.2"), Some(2))), stale);
        assert_eq!(code(&row().with("exited", 1_i64), &fence(None, None)), stale);
        assert_eq!(code(&row().with("taken_back", 1_i64), &fence(None, None)), stale);
    }

    #[test]
    fn a_row_of_before_there_was_isolation_is_a_full_worker() {
        let full = identity(&row()).unwrap();
        let held = identity(&row().with("isolation", "constrained")).unwrap();

        assert_eq!((full.isolation, held.isolation), (Isolation::Full, Isolation::Constrained));
        assert_eq!((full.worker, full.run), (WorkerId::from_bits(1), RunId::from_bits(2)));
        assert_eq!((&*full.task, full.agent.as_str()), ("1.2", "ann"));
        assert!(identity(&row().with("isolation", "loose")).is_err());
        assert!(identity(&row().with("agent", "")).is_err());
    }
}
