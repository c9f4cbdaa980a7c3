//! Checks without a role: what a phase needs before it begins, and what it must have left.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_pipeline::modes::Check;
use switchboard_pipeline::roles::shipped_role_of;
use switchboard_pipeline::team::preflight::{self, Known, Problem};
use switchboard_protocol::modes::ModeEvent;
use switchboard_protocol::modes::PartWork;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::role::RoleName;
use switchboard_store::Query;

use super::phase::Ran;
use super::{Driver, Follows};
use crate::work::WORKERS;
use crate::{Error, evidence};

// === impl Driver ===

impl Driver {
    /// Checks what a phase needs or must have left; a person is asked about what is missing.
    pub(super) async fn check(&mut self, step: u32, check: Check) -> Result<Follows, Error> {
        let ran = self.ran().await?;
        let missing = match check {
            Check::Preflight { phase } => self.preflight(phase, &ran)?,
            Check::Evidence { phase } => self.evidence(phase, &ran)?,
        };
        let body = missing.join("\n");
        Ok(Follows::Event(ModeEvent::Checked { step, missing }, body))
    }

    fn preflight(&self, phase: u64, ran: &[Ran]) -> Result<Vec<String>, Error> {
        let (plan, _) = self.plan()?;
        let done: BTreeSet<TaskId> =
            ran.iter().filter(|ran| ran.view.state.is_done()).map(|ran| ran.view.task.clone()).collect();
        let mut proven = BTreeSet::new();
        for Ran { run, view } in ran.iter().filter(|ran| ran.view.state.is_done()) {
            if evidence::lacking(&self.dispatch.world, run, view)?.is_empty() {
                proven.insert(view.task.clone());
            }
        }
        // Tasks done by an earlier run of the plan were checked by that run.
        let has_run: BTreeSet<&TaskId> = ran.iter().map(|ran| &ran.view.task).collect();
        let known = self.record.state().known();
        let before = known.map(|known| known.done.clone()).unwrap_or_default();
        let of_before = plan.tasks().filter(|task| before.contains(&task.phase) && !has_run.contains(&task.id));
        let of_before: Vec<TaskId> = of_before.map(|task| task.id.clone()).collect();
        let done: BTreeSet<TaskId> = done.into_iter().chain(of_before.iter().cloned()).collect();
        proven.extend(of_before);
        let of_wrap = known.map(|known| known.setup.steps.of_wrap()).unwrap_or_default();
        let found = preflight::preflight(&plan, phase, Known { done: &done, evidence: &proven, of_wrap: &of_wrap });
        let told = |problem: Problem| format!("{}: {}", problem.reason, problem.remedy);
        Ok(found.into_iter().filter(|problem| problem.kind.stops()).map(told).collect())
    }

    /// Checks that every task of the phase is done with its evidence, and that the roles required by the plan took
    /// part.
    fn evidence(&self, phase: u64, ran: &[Ran]) -> Result<Vec<String>, Error> {
        let (plan, _) = self.plan()?;
        let Some(of_plan) = plan.phases.iter().find(|found| found.id == phase) else {
            return Ok(vec![format!("the plan has no phase {phase}")]);
        };
        let ran: BTreeMap<&TaskId, &Ran> = ran.iter().map(|ran| (&ran.view.task, ran)).collect();
        let mut missing = Vec::new();
        for task in of_plan.tasks.iter().filter(|task| of_plan.may_do(task)) {
            match ran.get(&task.id).filter(|ran| ran.view.state.is_done()) {
                None => missing.push(format!("{}: it is not done", task.id)),
                Some(Ran { run, view }) => {
                    let lacking = evidence::lacking(&self.dispatch.world, run, view)?;
                    missing.extend(lacking.into_iter().map(|gate| format!("{}: {gate}", task.id)));
                }
            }
        }
        let wanted = of_plan.required_agents.iter().flatten();
        let took_part = self.roles_that_took_part()?;
        let took_part = |name: &str| {
            let role = shipped_role_of(name, &plan.swarm);
            took_part.contains(role.map_or(name, |role| role.as_str()))
        };
        let absent = wanted.filter(|name| !took_part(name.as_str()));
        missing.extend(absent.map(|role| format!("{role}: the plan requires the role, and nobody had it")));
        Ok(missing)
    }

    /// Returns the roles of all workers so far.
    fn roles_that_took_part(&self) -> Result<BTreeSet<String>, Error> {
        let runs: BTreeSet<_> = self.record.parts().iter().map(|part| &part.run).collect();
        let mut roles = BTreeSet::new();
        for run in runs {
            let rows = self.dispatch.world.store.read(&Query::table(WORKERS).eq("run", run.as_str()))?;
            roles.extend(rows.iter().map(|row| row.get_text("role").unwrap_or(RoleName::Coder.as_str()).to_owned()));
        }
        if self.record.parts().iter().any(|part| part.work == PartWork::Docs) {
            roles.insert(RoleName::Docs.as_str().to_owned());
        }
        Ok(roles)
    }
}
