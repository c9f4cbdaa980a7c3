//! `next_unit`: next action of a loop over a plan.

use std::collections::BTreeSet;

use switchboard_pipeline::auto::{Facts, Turn, decide, units};
use switchboard_pipeline::dataflow;
use switchboard_pipeline::plan_hash;
use switchboard_pipeline::prepare::prepare;
use switchboard_protocol::caller::Caller;
use switchboard_protocol::id::RunId;
use switchboard_protocol::plan::{Plan, TaskId};
use switchboard_protocol::run::SkipCode;
use switchboard_protocol::verb::auto::{NextUnitReply, NextUnitRequest};
use switchboard_protocol::worker::{WorkerEvent, WorkerFact};

use crate::port::Git;
use crate::progress::{self, Progress};
use crate::{Dispatch, Error, history, plan, user_tree};

impl Dispatch {
    /// Returns the next action of a loop over a plan, for the caller's work tree.
    ///
    /// # Errors
    /// A fault in the plan or the scope; a failure of the store or the repository.
    pub async fn next_unit(&self, request: &NextUnitRequest, caller: &Caller) -> Result<NextUnitReply, Error> {
        let world = &self.world;
        let plan = plan::read(&request.plan, &request.source)?;
        if let Some(unit) = &request.scope
            && unit.of_plan(&plan).phases.is_empty()
        {
            switchboard_pipeline::scope::part(&plan, unit).map_err(|failure| failure.at(&request.source))?;
        }
        let tree = user_tree::holding(world, caller.folder.as_deref()).await?;
        let runs = progress::earlier(world, &plan, &plan_hash::whole(&plan))?;
        let base = request.base.clone();
        let resolve = move |git: &dyn Git| progress::resolve(git, runs, base.as_deref());
        let Progress { done, follows, turns, .. } = world.git_on(&tree, resolve).await?;
        let (eligible, left_out) = eligible(&plan);
        let units = units(&plan, &eligible, request.scope.as_ref());
        let turns = self.with_waits(turns)?;
        let cursor = world.store.head().lsn;
        let last = turns.last().map_or(0, |turn| turn.number);
        let since = request.since.unwrap_or(last);
        let next = decide(&Facts { units: &units, done: &done, turns: &turns, since, now: world.store.now() });
        Ok(NextUnitReply { next, turns: last, done: done.into_iter().collect(), follows, left_out, cursor })
    }
}

/// Returns the tasks of a plan that can be done, and those left out because the plan marks them, or what they need, as
/// blocked.
pub(super) fn eligible(plan: &Plan) -> (BTreeSet<TaskId>, Vec<TaskId>) {
    let (resolved, _) = dataflow::resolve(plan.clone());
    let prepared = prepare(&resolved, &BTreeSet::new(), None);
    let is_out = |code: &SkipCode| *code == SkipCode::Parked || *code == SkipCode::DepUnmet;
    let left_out = prepared.skipped.into_iter().filter(|skipped| is_out(&skipped.code)).map(|skipped| skipped.id);
    (prepared.eligible.into_iter().collect(), left_out.collect())
}

impl Dispatch {
    /// Adds to the last turn how long the services of its agents ask clients to wait.
    fn with_waits(&self, mut turns: Vec<Turn>) -> Result<Vec<Turn>, Error> {
        let Some(last) = turns.last_mut() else { return Ok(turns) };
        let run = last.run.clone();
        for failure in last.failures_mut() {
            failure.retry_after_ms = self.retry_after(&run, &failure.task)?;
        }
        Ok(turns)
    }

    /// Returns how long the service of a task's last worker asks clients to wait, if it said so.
    fn retry_after(&self, run: &RunId, task: &TaskId) -> Result<Option<u64>, Error> {
        let Some(row) = history::last_worker(&self.world, run, task)? else { return Ok(None) };
        let mut named = None;
        history::events_of_worker(&self.world.store, row.try_text("id")?, |event| {
            if let Some(WorkerFact::WorkerReported { what: WorkerEvent::Faulted { retry_after_ms, .. }, .. }) =
                event.fact()
            {
                named = retry_after_ms;
            }
        })?;
        Ok(named)
    }
}
