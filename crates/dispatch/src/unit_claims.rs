//! Claims of runs on the units of a plan: two runs never work on the same unit.
//!
//! A claim is a lease derived from the record. The commit that starts a run grants it, and its position in the log is
//! the fencing token. It ends when the task is given up, when its run has ended, or when its run is dead: live by the
//! record, but impossible to take up. So no claim outlives a crash, none has to be renewed, and an hour without a
//! daemon ends none.
//!
//! A unit is identified by the swarm and title of its plan and the id of its task, so that an edited plan counts as the
//! same plan.

use std::collections::BTreeSet;

use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{Digest, RunId, fold};
use switchboard_protocol::plan::{Plan, TaskId};
use switchboard_protocol::run::TaskState;
use switchboard_protocol::text::listed;
use switchboard_protocol::verb::run::StartRunRequest;
use switchboard_store::{Query, Row};

use crate::error::is_transient;
use crate::event::cut;
use crate::work::{RUNS, run_id};
use crate::{Dispatch, Error};

/// Maximum number of units named in a refusal.
const MAX_NAMED: usize = 10;

/// Requested units that another run has claimed.
#[derive(Debug)]
pub(crate) struct ClaimedUnits {
    pub(crate) run: RunId,
    /// Row of the run.
    pub(crate) row: Row,
    /// Requested tasks that the run has claimed.
    pub(crate) tasks: BTreeSet<TaskId>,
}

/// Returns the key of a plan; empty for the plan of a job, which no other run has.
pub(crate) fn plan_key(plan: &Plan, is_job: bool) -> String {
    if is_job {
        return String::new();
    }
    short(format!("{}\0{}", fold(&plan.swarm), fold(&plan.title)).as_bytes())
}

/// Returns the digest of a request, to recognise its repetition. The way of asking and the values of variables are left
/// out.
pub(crate) fn request_digest(request: &StartRunRequest) -> String {
    let mut asked = StartRunRequest { dry_run: false, ends_daemon: false, source: String::new(), ..request.clone() };
    asked.agents.iter_mut().for_each(|agent| agent.env.clear());
    asked.setup_env.clear();
    short(serde_json::json!(asked).to_string().as_bytes())
}

/// Returns half of a digest, which is enough to distinguish the plans of one repository and saves room in an event.
fn short(bytes: &[u8]) -> String {
    let mut hex = Digest::of(bytes).hex();
    hex.truncate(32);
    hex
}

impl Dispatch {
    /// Returns the runs that have claimed requested units of a plan, except `own`, in the order of their starts.
    pub(crate) async fn claimed(
        &self,
        plan_key: &str,
        wanted: &BTreeSet<TaskId>,
        own: Option<&RunId>,
    ) -> Result<Vec<ClaimedUnits>, Error> {
        if plan_key.is_empty() {
            return Ok(Vec::new());
        }
        let live = Query::table(RUNS).eq("state", "running").eq("plan_key", plan_key).asc("seq");
        let mut claimed = Vec::new();
        for row in self.world.store.read(&live)? {
            let run = run_id(&row)?;
            if own == Some(&run) || self.is_dead(&run)? {
                continue;
            }
            let views = self.views(&run).await?.into_iter().filter(|view| is_claim(&view.state));
            let tasks: BTreeSet<_> = views.map(|view| view.task).filter(|task| wanted.contains(task)).collect();
            if !tasks.is_empty() {
                claimed.push(ClaimedUnits { run, row, tasks });
            }
        }
        Ok(claimed)
    }

    /// Returns whether a run that the record has as live can't be taken up.
    ///
    /// # Errors
    /// When the store is busy: it is then unknown whether the run is dead.
    fn is_dead(&self, run: &RunId) -> Result<bool, Error> {
        match self.start_engine(run) {
            Ok(_) => Ok(false),
            Err(Error::Store(error)) if is_transient(&error) => Err(error.into()),
            Err(error) => {
                tracing::warn!(%run, %error, "the run can't be taken up: its units are free");
                Ok(true)
            }
        }
    }

    /// Refuses to work on units that other runs have claimed.
    pub(crate) async fn expect_unclaimed(&self, run: &RunId, row: &Row, tasks: &[TaskId]) -> Result<(), Error> {
        let wanted = tasks.iter().cloned().collect();
        let claimed = self.claimed(row.get_text("plan_key").unwrap_or_default(), &wanted, Some(run)).await?;
        claimed.first().map_or(Ok(()), |first| Err(taken(first).into()))
    }
}

/// Returns the refusal that names a run and its claimed units.
pub(crate) fn taken(claimed: &ClaimedUnits) -> Failure {
    let ClaimedUnits { run, tasks, .. } = claimed;
    let names = listed(tasks.iter().map(TaskId::as_str), MAX_NAMED);
    let title = cut(claimed.row.get_text("title").unwrap_or_default(), 60);
    let what = format!("{run} works on {names} of the plan {title:?}");
    Failure::new("dispatch.already-running", what).hint(format!(
        "follow it: switchboard run --resume {run}; or switchboard stop {run}; another plan wants another title"
    ))
}

/// Returns true if a run claims a task in this state. A task that it has given up is free for others; a merged one is
/// not.
const fn is_claim(state: &TaskState) -> bool {
    !matches!(state, TaskState::Blocked { .. } | TaskState::DepFailed { .. } | TaskState::Stopped)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan(title: &str, description: &str) -> Plan {
        let tasks = json!([{ "id": "1.1", "phase": 1, "description": description }]);
        serde_json::from_value(json!({ "schema_version": "1.0.0", "title": title, "swarm": "s",
            "phases": [{ "id": 1, "name": "one", "tasks": tasks }] }))
        .unwrap()
    }

    #[test]
    fn an_edited_plan_is_the_same_plan_and_one_of_another_title_is_not() {
        let key = |title: &str, description: &str| plan_key(&plan(title, description), false);

        assert_eq!(key("Payments", "a"), key("payments", "b"));
        assert_ne!(key("Payments", "a"), key("Invoices", "a"));
        assert_eq!(plan_key(&plan("Payments", "a"), true), "");
    }

    #[test]
    fn a_request_is_known_again_whatever_its_agents_inherit_and_however_it_is_asked() {
        let request = |value| serde_json::from_value::<StartRunRequest>(value).unwrap();
        let agent = |env| json!([{ "name": "a", "driver": { "driver": "exec", "argv": ["a"] }, "env": env }]);
        let of = |env, workers: u32, dry: bool| {
            request_digest(&request(
                json!({ "plan": "{}", "agents": agent(env), "max_workers": workers, "dry_run": dry }),
            ))
        };

        assert_eq!(of(json!([["KEY", "1"]]), 2, true), of(json!([["KEY", "2"]]), 2, false));
        assert_ne!(of(json!([]), 2, false), of(json!([]), 3, false));
        let from = |source: &str, ends_daemon: bool, setup_env: serde_json::Value| {
            let asked = json!({ "plan": "{}", "source": source, "ends_daemon": ends_daemon, "setup_env": setup_env });
            request_digest(&request(asked))
        };
        assert_eq!(from("a.json", true, json!([["KEY", "1"]])), from("b.json", false, json!([])));
    }
}
