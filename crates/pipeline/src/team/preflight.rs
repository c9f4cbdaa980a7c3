//! Checks before a phase begins: the plan is complete, its dependencies exist, earlier tasks have their evidence.
//! Reports what blocks the phase.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_protocol::error::near_matches;
use switchboard_protocol::plan::{Phase, Plan, Task, TaskId, TaskSettings, TaskStatus};
use switchboard_protocol::role::RoleName;

use crate::roles::shipped_role_of;

/// Roles in the steps of a team's tasks.
const IN_TASKS: [RoleName; 4] = [RoleName::Coder, RoleName::Reviewer, RoleName::TestEngineer, RoleName::Designer];

/// Known facts about the tasks of a plan.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// Tasks that are merged, or done without a merge.
    pub done: &'a BTreeSet<TaskId>,
    /// Tasks with all the evidence that their way requires.
    pub evidence: &'a BTreeSet<TaskId>,
    /// Roles that take part at the end of each phase.
    pub of_wrap: &'a [RoleName],
}

/// A kind of problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProblemKind {
    /// The plan has no such phase.
    UnknownPhase,
    /// The phase has no task.
    EmptyPhase,
    /// A task has no description.
    DescriptionMissing,
    /// A task has no acceptance criteria.
    AcceptanceMissing,
    /// A task depends on one that the plan doesn't have, or on itself.
    UnknownDependency,
    /// A task depends on one of a later phase.
    LaterDependency,
    /// A task of an earlier phase is not done.
    EarlierOpen,
    /// A completed task has no evidence.
    EvidenceMissing,
    /// A task waits for something outside the run.
    Blocked,
    /// A task waits for a blocked one.
    WaitsForBlocked,
    /// A phase requires a role that does not exist.
    UnknownRole,
    /// A phase requires a role that no step of a team has.
    IdleRole,
}

impl ProblemKind {
    /// Returns true if the phase can't begin. A blocked task of the phase is reported and left out; the others
    /// continue.
    #[must_use]
    pub const fn stops(self) -> bool {
        !matches!(self, Self::Blocked | Self::WaitsForBlocked)
    }
}

/// A problem that was found before a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Kind of the problem.
    pub kind: ProblemKind,
    /// Task with the problem; `None` for the phase as a whole.
    pub task: Option<TaskId>,
    /// Description of the problem.
    pub reason: String,
    /// How to fix it.
    pub remedy: String,
}

/// Returns all problems of a phase that is about to begin, in the order of the plan.
#[must_use]
pub fn preflight(plan: &Plan, phase: u64, known: Known<'_>) -> Vec<Problem> {
    let Some(found) = plan.phases.iter().find(|candidate| candidate.id == phase) else {
        let phases: Vec<_> = plan.phases.iter().map(|phase| phase.id.to_string()).collect();
        let reason = format!("the plan has no phase {phase}");
        let remedy = format!("its phases are {}", phases.join(", "));
        return vec![Problem { kind: ProblemKind::UnknownPhase, task: None, reason, remedy }];
    };
    let preflight = Preflight { plan, phase: found, known };
    preflight.problems()
}

struct Preflight<'a> {
    plan: &'a Plan,
    phase: &'a Phase,
    known: Known<'a>,
}

// === impl Preflight ===

impl Preflight<'_> {
    fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        if self.phase.tasks.is_empty() {
            let reason = format!("phase {} has no task", self.phase.id);
            let remedy = "add its tasks to the plan, or remove the phase".to_owned();
            found.push(Problem { kind: ProblemKind::EmptyPhase, task: None, reason, remedy });
        }
        found.extend(self.required_roles());
        for phase in self.plan.phases.iter().filter(|phase| phase.id < self.phase.id) {
            found.extend(phase.tasks.iter().filter_map(|task| self.earlier(task)));
        }
        for task in self.phase.tasks.iter().filter(|task| !self.is_closed(task)) {
            found.extend(self.complete(task));
            found.extend(self.dependencies(task));
        }
        for phase in self.plan.phases.iter().filter(|phase| phase.id > self.phase.id) {
            found.extend(phase.tasks.iter().filter(|task| !self.is_closed(task)).flat_map(|task| self.complete(task)));
        }
        found.extend(self.blockers());
        found
    }

    /// Returns problems with roles that the phase requires but that have no step in it.
    fn required_roles(&self) -> Vec<Problem> {
        let required = self.phase.required_agents.iter().flatten();
        let of = |name: &String| {
            let role = shipped_role_of(name, &self.plan.swarm);
            let of_phase = |what: &str| format!("phase {} requires the role {}, {what}", self.phase.id, shown(name));
            let has = || {
                let has: Vec<_> = IN_TASKS.iter().chain(self.known.of_wrap).map(|role| role.as_str()).collect();
                has.join(", ")
            };
            let (kind, reason, remedy) = match role {
                Some(role) if IN_TASKS.contains(&role) || self.known.of_wrap.contains(&role) => return None,
                Some(_) => (
                    ProblemKind::IdleRole,
                    of_phase("which no step of a team's tasks has"),
                    format!("a team has: {}", has()),
                ),
                None => {
                    let near = near_matches(name, RoleName::ALL.map(RoleName::as_str));
                    let remedy = near
                        .first()
                        .map_or_else(|| format!("a team has: {}", has()), |near| format!("did you mean {near}?"));
                    (ProblemKind::UnknownRole, of_phase("which does not exist"), remedy)
                }
            };
            Some(Problem { kind, task: None, reason, remedy })
        };
        required.filter_map(of).collect()
    }

    /// Returns true if a task is done or set aside.
    fn is_closed(&self, task: &Task) -> bool {
        self.known.done.contains(&task.id) || matches!(task.status, TaskStatus::Completed | TaskStatus::Closed)
    }

    fn earlier(&self, task: &Task) -> Option<Problem> {
        let id = &task.id;
        if task.status == TaskStatus::Closed {
            return None;
        }
        if !self.is_closed(task) {
            let why = task.blocked_reason.as_deref().filter(|_| task.status == TaskStatus::Blocked);
            let why = why.map(|why| format!(": it is blocked, {}", shown(why))).unwrap_or_default();
            let reason = format!("task {id} of an earlier phase is not done{why}");
            return Some(problem(ProblemKind::EarlierOpen, task, reason, "finish it, or close it with a reason"));
        }
        let has_evidence = self.known.evidence.contains(id);
        (!has_evidence).then(|| {
            let reason = format!("task {id} is done and has no evidence");
            problem(ProblemKind::EvidenceMissing, task, reason, "run its gates again on what is merged")
        })
    }

    fn complete(&self, task: &Task) -> Vec<Problem> {
        let says = |text: &str| text.contains(char::is_alphanumeric);
        let id = &task.id;
        let mut found = Vec::new();
        if !says(&task.description) {
            let reason = format!("task {id} has no description");
            found.push(problem(ProblemKind::DescriptionMissing, task, reason, "say what is to be done"));
        }
        // A report needs no evidence, since its readers judge it.
        let is_report = task.switchboard.as_ref().is_some_and(TaskSettings::is_report);
        if !is_report && !task.acceptance.as_deref().is_some_and(says) {
            let reason = format!("task {id} has no acceptance");
            found.push(problem(ProblemKind::AcceptanceMissing, task, reason, "say how one sees that it is done"));
        }
        found
    }

    fn dependencies(&self, task: &Task) -> Vec<Problem> {
        let phases: BTreeMap<&TaskId, u64> =
            self.plan.phases.iter().flat_map(|phase| phase.tasks.iter().map(|task| (&task.id, phase.id))).collect();
        let unknown = |on: &TaskId, what: String| {
            let near =
                near_matches(on.as_str(), phases.keys().map(|id| id.as_str()).filter(|id| *id != task.id.as_str()));
            let remedy =
                near.first().map_or("name a task of the plan".to_owned(), |near| format!("did you mean {near}?"));
            Problem { kind: ProblemKind::UnknownDependency, task: Some(task.id.clone()), reason: what, remedy }
        };
        let of = |on: &TaskId| match phases.get(on) {
            _ if *on == task.id => Some(unknown(on, format!("task {on} depends on itself"))),
            None => Some(unknown(on, format!("task {} depends on {on}, which the plan doesn't have", task.id))),
            Some(phase) if *phase > self.phase.id => {
                let reason = format!("task {} depends on {on} of phase {phase}, which comes later", task.id);
                Some(problem(ProblemKind::LaterDependency, task, reason, "move one of them to the phase of the other"))
            }
            Some(phase)
                if *phase == self.phase.id && self.known.done.contains(on) && !self.known.evidence.contains(on) =>
            {
                let reason = format!("task {on}, which task {} builds on, is done and has no evidence", task.id);
                let remedy = "run its gates again on what is merged".to_owned();
                Some(Problem { kind: ProblemKind::EvidenceMissing, task: Some(on.clone()), reason, remedy })
            }
            Some(_) => None,
        };
        task.depends.iter().filter_map(of).collect()
    }

    /// Returns the blocked tasks of the phase, and those that wait for them.
    fn blockers(&self) -> Vec<Problem> {
        let mut blocked: BTreeMap<&TaskId, &TaskId> = BTreeMap::new();
        let mut found = Vec::new();
        for task in self.phase.tasks.iter().filter(|task| task.status == TaskStatus::Blocked && !self.is_closed(task)) {
            blocked.insert(&task.id, &task.id);
            let why = task.blocked_reason.as_deref().map(shown).filter(|why| !why.trim().is_empty());
            let reason =
                format!("task {} is blocked: {}", task.id, why.unwrap_or_else(|| "no reason is given".to_owned()));
            found.push(problem(ProblemKind::Blocked, task, reason, "it is left out until a person unblocks it"));
        }
        // Each round finds the tasks that wait for those found in the round before.
        loop {
            let open = self.phase.tasks.iter().filter(|task| !self.is_closed(task) && !blocked.contains_key(&task.id));
            let waits = |task: &&Task| task.depends.iter().find_map(|on| blocked.get(on).copied());
            let next: Vec<_> = open.filter_map(|task| waits(&task).map(|root| (task, root))).collect();
            if next.is_empty() {
                return found;
            }
            for (task, root) in next {
                blocked.insert(&task.id, root);
                let reason = format!("task {} waits for task {root}, which is blocked", task.id);
                found.push(problem(ProblemKind::WaitsForBlocked, task, reason, "it is left out until then"));
            }
        }
    }
}

fn problem(kind: ProblemKind, task: &Task, reason: String, remedy: &str) -> Problem {
    Problem { kind, task: Some(task.id.clone()), reason, remedy: remedy.to_owned() }
}

fn shown(why: &str) -> String {
    switchboard_protocol::text::cut(why, 200)
}

#[cfg(test)]
mod tests;
