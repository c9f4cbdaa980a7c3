//! Roster of a run's agents with tasks. Each commit updates it with the tasks it settles and the names claimed since
//! the last one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use switchboard_protocol::event::NewEvent;
use switchboard_protocol::plan::TaskId;

use super::Engine;
use crate::Error;
use crate::assignees::{Assignee, Roster};
use crate::worker_names::Key;

/// Folded names of workers by their tasks.
pub(super) type Named = BTreeMap<TaskId, Vec<String>>;

/// Change of the roster by a commit.
pub(super) struct Assigned {
    /// Roster after the commit.
    pub(super) roster: Arc<Roster>,
    /// Agents that may not have been on the roster before.
    came: Vec<Assignee>,
    /// Tasks that are settled after the commit.
    settled: BTreeSet<TaskId>,
    /// Names added to the roster.
    named: Vec<(TaskId, String)>,
    claims_seen: usize,
}

// === impl Assigned ===

impl Assigned {
    fn nothing_new(on_roster: &Arc<Roster>, claims_seen: usize) -> Self {
        let (came, settled, named) = (Vec::new(), BTreeSet::new(), Vec::new());
        Self { roster: Arc::clone(on_roster), came, settled, named, claims_seen }
    }

    /// Applies tasks that were settled or reopened, each with its assignee, and newly claimed names. `known` are the
    /// names already on the roster.
    fn take<'a>(
        &mut self,
        known: &Named,
        turned: impl Iterator<Item = (&'a TaskId, &'a Assignee)>,
        claimed: BTreeMap<Key, Assignee>,
        is_settled: impl Fn(&TaskId) -> bool,
    ) {
        let roster = Arc::make_mut(&mut self.roster);
        for (task, assignee) in turned {
            if is_settled(task) {
                roster.remove(&assignee.folded);
                self.settled.insert(task.clone());
            } else {
                roster.add(&assignee.folded);
                self.came.push(assignee.clone());
            }
        }
        for ((task, _), claim) in claimed {
            // An effect may claim a name after the end of its task.
            if is_settled(&task) {
                self.settled.insert(task);
                continue;
            }
            roster.add(&claim.folded);
            self.named.push((task, claim.folded.clone()));
            self.came.push(claim);
        }
        let of_settled = self.settled.iter().filter_map(|task| known.get(task)).flatten();
        of_settled.for_each(|name| roster.remove(name));
    }
}

// === impl Engine ===

impl Engine {
    /// Returns the roster after the draft is committed. The daemon removes agents that are done.
    pub(super) fn newly_assigned(&self) -> Assigned {
        let draft = self.recorded.draft();
        let (claimed, claims_seen) = self.world.worker_names.claimed_after(&self.plan.run, self.claims_seen);
        let turned = draft.settled_difference(self.recorded.state());
        let mut assigned = Assigned::nothing_new(&self.on_roster, claims_seen);
        if !turned.is_empty() || !claimed.is_empty() {
            let turned = turned.into_iter().filter_map(|task| Some((task, self.assignees.get(task)?)));
            assigned.take(&self.named, turned, claimed, |task| draft.is_settled(task));
        }
        assigned
    }

    /// Returns the events that announce agents new on the roster to the team, each once.
    pub(super) fn joined(&self, assigned: &Assigned) -> Result<Vec<NewEvent>, Error> {
        let is_new = |name: &String| assigned.roster.has(name) && !self.on_roster.has(name);
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

    /// Applies a commit's change to the roster, and releases what the workers of settled tasks held exclusively.
    pub(super) fn take_over_roster(&mut self, assigned: Assigned) {
        let Assigned { roster, came: _, settled, named, claims_seen } = assigned;
        for (task, name) in named {
            self.named.entry(task).or_default().push(name);
        }
        for task in &settled {
            self.named.remove(task);
            self.world.release_task(&self.plan.run, task);
        }
        (self.on_roster, self.claims_seen) = (roster, claims_seen);
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

    fn roster(names: &[&str]) -> Arc<Roster> {
        Arc::new(names.iter().map(ToString::to_string).collect())
    }

    /// Returns the change of a roster on which ann has `1.1` and `1.2`, and ann-2 does `1.1`.
    fn after(turned: &[u32], claimed: &[(u32, &str)], settled: &[u32]) -> Assigned {
        let known = Named::from([(task(1), vec!["ann-2".to_owned()])]);
        let (ann, turned): (_, Vec<_>) = (agent("ann"), turned.iter().map(|n| task(*n)).collect());
        let claimed = claimed.iter().map(|(n, name)| ((task(*n), None), agent(name))).collect();
        let settled: Vec<_> = settled.iter().map(|n| task(*n)).collect();
        let mut assigned = Assigned::nothing_new(&roster(&["ann", "ann", "ann-2"]), 7);
        assigned.take(&known, turned.iter().map(|task| (task, &ann)), claimed, |task| settled.contains(task));
        assigned
    }

    #[test]
    fn an_agent_leaves_with_its_last_task_and_a_workers_name_with_its_own() {
        let one = after(&[1], &[], &[1]);
        let both = after(&[1, 2], &[], &[1, 2]);

        assert_eq!(one.roster, roster(&["ann"]));
        assert_eq!(one.settled, BTreeSet::from([task(1)]));
        assert_eq!(both.roster, roster(&[]));
    }

    #[test]
    fn a_claimed_name_is_on_the_roster_as_long_as_its_task_is_not_settled() {
        let claimed = after(&[], &[(2, "ann-3")], &[]);
        let late = after(&[], &[(2, "ann-3")], &[2]);

        assert_eq!(claimed.roster, roster(&["ann", "ann", "ann-2", "ann-3"]));
        assert_eq!(claimed.named, [(task(2), "ann-3".to_owned())]);
        assert_eq!(claimed.came.len(), 1);
        assert_eq!(late.roster, roster(&["ann", "ann", "ann-2"]), "claimed after the end of the task");
        assert_eq!(late.settled, BTreeSet::from([task(2)]), "it is released");
        assert!(late.named.is_empty() && late.came.is_empty());
    }

    #[test]
    fn a_task_that_is_opened_again_brings_its_agent_back() {
        let reopened = after(&[3], &[(3, "ann-4")], &[]);

        assert_eq!(reopened.roster, roster(&["ann", "ann", "ann", "ann-2", "ann-4"]));
        let came: Vec<_> = reopened.came.iter().map(|assignee| assignee.folded.as_str()).collect();
        assert_eq!(came, ["ann", "ann-4"]);
    }
}
