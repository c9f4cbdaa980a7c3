//! Roster of a run's agents with tasks. Each commit updates it with the tasks it settles and the names claimed since
//! the last one.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::RunId;
use switchboard_protocol::plan::TaskId;

use super::Engine;
use crate::Error;
use crate::assignees::Assignee;
use crate::worker_names::{Key, WorkerNames};

/// Names of workers that are on the roster beside those of the tasks' agents.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Claims {
    /// Folded names by their tasks.
    named: BTreeMap<TaskId, Vec<String>>,
    /// Number of claims that have been looked at.
    seen: usize,
}

/// Change of the roster by a commit.
#[derive(Default)]
pub(super) struct Assigned {
    /// Agents with a task or name more, once for each.
    came: Vec<Assignee>,
    /// Agents with a task or name less, once for each, by their folded names.
    left: Vec<String>,
    /// Tasks that are settled after the commit.
    settled: BTreeSet<TaskId>,
    /// Names added to the roster.
    named: Vec<(TaskId, String)>,
    claims_seen: usize,
}

// === impl Claims ===

impl Claims {
    /// Returns all claims of a run that were not released.
    pub(super) fn of(names: &WorkerNames, run: &RunId) -> Self {
        let (claimed, seen) = names.claimed_after(run, 0);
        let mut claims = Self { seen, ..Self::default() };
        for ((task, _), claim) in claimed {
            claims.named.entry(task).or_default().push(claim.folded);
        }
        claims
    }

    /// Returns the folded names, once for each task.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.named.values().flatten()
    }

    /// Applies a change that was committed.
    fn take_over(&mut self, named: Vec<(TaskId, String)>, settled: &BTreeSet<TaskId>, seen: usize) {
        for (task, name) in named {
            self.named.entry(task).or_default().push(name);
        }
        self.named.retain(|task, _| !settled.contains(task));
        self.seen = seen;
    }
}

// === impl Assigned ===

impl Assigned {
    /// Applies tasks that were settled or reopened, each with its assignee, and newly claimed names. `known` are the
    /// names already on the roster.
    fn take<'a>(
        &mut self,
        known: &Claims,
        turned: impl Iterator<Item = (&'a TaskId, &'a Assignee)>,
        claimed: BTreeMap<Key, Assignee>,
        is_settled: impl Fn(&TaskId) -> bool,
    ) {
        for (task, assignee) in turned {
            if is_settled(task) {
                self.left.push(assignee.folded.clone());
                self.settled.insert(task.clone());
            } else {
                self.came.push(assignee.clone());
            }
        }
        for ((task, _), claim) in claimed {
            // An effect may claim a name after the end of its task.
            if is_settled(&task) {
                self.settled.insert(task);
                continue;
            }
            self.named.push((task, claim.folded.clone()));
            self.came.push(claim);
        }
        self.left.extend(self.settled.iter().filter_map(|task| known.named.get(task)).flatten().cloned());
    }

    fn added(&self) -> impl Iterator<Item = &str> {
        self.came.iter().map(|assignee| assignee.folded.as_str())
    }
}

// === impl Engine ===

impl Engine {
    /// Returns what the commit of the draft changes on the roster. The daemon removes agents that are done.
    pub(super) fn newly_assigned(&self) -> Assigned {
        let draft = self.recorded.draft();
        let (claimed, claims_seen) = self.world.worker_names.claimed_after(&self.plan.run, self.claims.seen);
        let turned = draft.settled_difference(self.recorded.state());
        let mut assigned = Assigned { claims_seen, ..Assigned::default() };
        if !turned.is_empty() || !claimed.is_empty() {
            let turned = turned.into_iter().filter_map(|task| Some((task, self.assignees.get(task)?)));
            assigned.take(&self.claims, turned, claimed, |task| draft.is_settled(task));
        }
        assigned
    }

    /// Returns the events that announce agents new on the roster to the team, each once.
    pub(super) fn joined(&self, assigned: &Assigned) -> Result<Vec<NewEvent>, Error> {
        let is_new = |name: &str| !self.world.is_assigned_in(&self.plan.run, name);
        let mut joined = BTreeMap::new();
        for assignee in assigned.came.iter().filter(|assignee| is_new(&assignee.folded)) {
            joined.entry(&assignee.folded).or_insert(assignee);
        }
        let mail = &self.world.ports.mail;
        let mut events = Vec::new();
        for assignee in joined.values() {
            // An agent that a person started keeps its name: the run's worker gets the next free one.
            if self.plan.coordination.is_managed() && !mail.is_taken_by_other_agent(&assignee.name)? {
                events.push(mail.joined(&assignee.name, assignee.is_scripted)?);
            }
        }
        Ok(events)
    }

    /// Adds the agents that a commit assigns to the roster.
    pub(super) fn assign(&self, assigned: &Assigned) {
        self.world.reassign(|assignees| assignees.add(&self.plan.run, assigned.added()));
    }

    /// Removes the agents again that a failed commit would have assigned.
    pub(super) fn take_back(&self, assigned: &Assigned) {
        self.world.reassign(|assignees| assignees.remove(&self.plan.run, assigned.added()));
    }

    /// Removes the agents from the roster that a commit has left without a task, and releases what the workers of
    /// settled tasks held exclusively.
    pub(super) fn take_over_roster(&mut self, assigned: Assigned) {
        let Assigned { came: _, left, settled, named, claims_seen } = assigned;
        self.world.reassign(|assignees| assignees.remove(&self.plan.run, left.iter().map(String::as_str)));
        self.claims.take_over(named, &settled, claims_seen);
        for task in &settled {
            self.world.release_task(&self.plan.run, task);
        }
    }
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::id::AgentName;

    use super::*;

    fn task(n: u32) -> TaskId {
        TaskId::new(format!("1.{n}")).unwrap()
    }

    fn agent(name: &str) -> Assignee {
        Assignee { name: AgentName::new(name).unwrap(), folded: name.to_owned(), is_scripted: false }
    }

    fn known() -> Claims {
        Claims { named: BTreeMap::from([(task(1), vec!["ann-2".to_owned()])]), seen: 1 }
    }

    /// Returns the change of a roster on which ann has `1.1` and `1.2`, and ann-2 does `1.1`.
    fn after(turned: &[u32], claimed: &[(u32, &str)], settled: &[u32]) -> Assigned {
        let known = known();
        let (ann, turned): (_, Vec<_>) = (agent("ann"), turned.iter().map(|n| task(*n)).collect());
        let claimed = claimed.iter().map(|(n, name)| ((task(*n), None), agent(name))).collect();
        let settled: Vec<_> = settled.iter().map(|n| task(*n)).collect();
        let mut assigned = Assigned::default();
        assigned.take(&known, turned.iter().map(|task| (task, &ann)), claimed, |task| settled.contains(task));
        assigned
    }

    #[test]
    fn an_agent_leaves_with_its_last_task_and_a_workers_name_with_its_own() {
        let one = after(&[1], &[], &[1]);
        let both = after(&[1, 2], &[], &[1, 2]);

        assert_eq!(one.left, ["ann", "ann-2"]);
        assert_eq!(one.settled, BTreeSet::from([task(1)]));
        assert_eq!(both.left, ["ann", "ann", "ann-2"]);
        assert!(one.came.is_empty() && both.came.is_empty());
    }

    #[test]
    fn a_claimed_name_is_on_the_roster_as_long_as_its_task_is_not_settled() {
        let claimed = after(&[], &[(2, "ann-3")], &[]);
        let late = after(&[], &[(2, "ann-3")], &[2]);

        assert_eq!(claimed.added().collect::<Vec<_>>(), ["ann-3"]);
        assert_eq!(claimed.named, [(task(2), "ann-3".to_owned())]);
        assert!(claimed.left.is_empty());
        assert!(late.named.is_empty() && late.came.is_empty(), "claimed after the end of the task");
        assert_eq!(late.settled, BTreeSet::from([task(2)]), "it is released");
        assert!(late.left.is_empty(), "it was never on the roster");
    }

    #[test]
    fn names_are_known_until_their_task_is_settled_and_each_claim_is_looked_at_once() {
        let name = |n: u32, name: &str| (task(n), vec![name.to_owned()]);
        let mut claims = known();

        claims.take_over(vec![(task(2), "ann-3".to_owned())], &BTreeSet::new(), 2);
        assert_eq!(claims, Claims { named: BTreeMap::from([name(1, "ann-2"), name(2, "ann-3")]), seen: 2 });
        claims.take_over(Vec::new(), &BTreeSet::from([task(1)]), 2);
        assert_eq!(claims, Claims { named: BTreeMap::from([name(2, "ann-3")]), seen: 2 });
        assert_eq!(claims.names().collect::<Vec<_>>(), ["ann-3"]);
    }

    #[test]
    fn a_task_that_is_opened_again_brings_its_agent_back() {
        let reopened = after(&[3], &[(3, "ann-4")], &[]);

        assert_eq!(reopened.added().collect::<Vec<_>>(), ["ann", "ann-4"]);
        assert!(reopened.left.is_empty());
    }
}
