//! Addresses of managed runs: `worker:UNIT` is the present worker of a unit.

use std::sync::Arc;

use switchboard_protocol::coordination::WORKER_PREFIX;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::RunId;
use switchboard_store::Query;

use super::{find_run, find_target};
use crate::plan::RunPlan;
use crate::work::{RUNS, run_id};
use crate::{Dispatch, Error, history};

impl Dispatch {
    /// Resolves an address to a name on the roster: `worker:1.2` and `worker:RUN/1.2` to the worker of a unit; a plain
    /// name is returned unchanged.
    ///
    /// # Errors
    /// `bus.recipient-closed` if the unit is settled, `bus.unknown-recipient` if it has no worker yet or its run is
    /// standalone; an unknown run or task.
    pub async fn address(&self, address: &str) -> Result<String, Failure> {
        let Some(unit) = address.strip_prefix(WORKER_PREFIX) else { return Ok(address.to_owned()) };
        let (row, task) = find_target(&self.world, unit)?;
        let run = run_id(&row)?;
        let Some(task) = task else {
            let failure = Failure::new("bus.unknown-recipient", format!("{address} names a run and no unit of it"));
            return Err(failure.hint(format!("{WORKER_PREFIX}{run}/TASK; to all workers: send_team_message")));
        };
        let plan = self.plan_of(&run)?;
        expect_managed(&plan)?;
        if let Some(name) = self.world.worker_names.of(&run, &task) {
            return Ok(name.to_string());
        }
        if self.state(&run).await?.task(&task).is_none_or(|view| view.state.is_settled()) {
            let failure =
                Failure::new("bus.recipient-closed", format!("task {task} of {run} is over: it takes no mail"));
            return Err(failure.hint(format!("switchboard show {run}/{task}")));
        }
        let failure = Failure::new("bus.unknown-recipient", format!("task {task} of {run} has no worker yet"));
        Err(failure.hint(format!("switchboard show {run} says what it waits for")))
    }

    /// Returns `RUN/TASK` of a named unit.
    ///
    /// # Errors
    /// An unknown run or task, or a run without a task.
    pub fn unit_named(&self, unit: &str) -> Result<String, Failure> {
        let (row, task) = find_target(&self.world, unit)?;
        let task =
            task.ok_or_else(|| Failure::new("request.bad-args", format!("{unit} is a run: name a task of it")))?;
        Ok(format!("{}/{task}", run_id(&row)?))
    }

    /// Returns the names on the roster of all running workers: of the named run, or of all live ones.
    ///
    /// # Errors
    /// An unknown run, or `bus.no-responder` if no worker is running.
    pub fn workers(&self, run: Option<&str>) -> Result<Vec<String>, Failure> {
        let rows = match run {
            Some(named) => vec![find_run(&self.world, Some(named))?],
            None => {
                self.world.store.read(&Query::table(RUNS).eq("state", "running").asc("seq")).map_err(Error::from)?
            }
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

    pub(crate) fn plan_of(&self, run: &RunId) -> Result<Arc<RunPlan>, Error> {
        history::plan(&self.world, run)
    }
}

pub(super) fn expect_managed(plan: &RunPlan) -> Result<(), Failure> {
    if plan.coordination.is_managed() {
        return Ok(());
    }
    let failure =
        Failure::new("bus.unknown-recipient", format!("{} is standalone: its workers have no inbox", plan.run));
    Err(failure.hint("start the run with --coordination managed"))
}
