//! Agents with a task in a live run. An agent counts as assigned as long as one of its tasks is not settled.

use std::collections::BTreeMap;
use std::sync::Arc;

use switchboard_protocol::id::{AgentName, RunId};
use switchboard_protocol::plan::TaskId;

use crate::Error;
use crate::plan::RunPlan;

/// The agents with tasks in live runs, by their folded names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assignees {
    runs: BTreeMap<RunId, Arc<Roster>>,
}

/// Assigned agents of one run: for each folded name, the number of unsettled tasks and worker names that refer to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Roster(BTreeMap<Arc<str>, usize>);

/// Agent that works on a task.
#[derive(Debug, Clone)]
pub(crate) struct Assignee {
    pub(crate) name: AgentName,
    pub(crate) folded: String,
    pub(crate) is_scripted: bool,
}

/// The assignee of each task of a run.
#[derive(Debug)]
pub(crate) struct TaskAssignees {
    by_task: BTreeMap<TaskId, Assignee>,
}

// === impl Assignees ===

impl Assignees {
    /// Returns true if an agent has a task.
    #[must_use]
    pub fn has(&self, agent: &AgentName) -> bool {
        let id = agent.folded();
        self.runs.values().any(|roster| roster.has(&id))
    }

    /// Sets the assignees of a run (none once it has ended); returns true if the set of assigned agents changed.
    pub(crate) fn set(&mut self, run: &RunId, roster: &Arc<Roster>) -> bool {
        if roster.0.is_empty() {
            return self.runs.remove(run).is_some();
        }
        // Usually unchanged.
        if self.runs.get(run).is_some_and(|known| Arc::ptr_eq(known, roster)) {
            return false;
        }
        let before = self.runs.insert(run.clone(), Arc::clone(roster));
        before.is_none_or(|before| !before.0.keys().eq(roster.0.keys()))
    }
}

// === impl Roster ===

impl Roster {
    pub(crate) fn has(&self, folded: &str) -> bool {
        self.0.contains_key(folded)
    }

    /// Adds one task or name to an agent's count.
    pub(crate) fn add(&mut self, folded: &str) {
        match self.0.get_mut(folded) {
            Some(count) => *count += 1,
            None => drop(self.0.insert(folded.into(), 1)),
        }
    }

    /// Removes one task or name from an agent's count; at zero the agent has no task.
    pub(crate) fn remove(&mut self, folded: &str) {
        match self.0.get_mut(folded) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) | None => drop(self.0.remove(folded)),
        }
    }
}

impl FromIterator<String> for Roster {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Self {
        names.into_iter().fold(Self::default(), |mut roster, name| {
            roster.add(&name);
            roster
        })
    }
}

// === impl TaskAssignees ===

impl TaskAssignees {
    /// Returns the assignees of the given tasks of a run.
    pub(crate) fn of(plan: &RunPlan, tasks: impl Iterator<Item = TaskId>) -> Result<Self, Error> {
        let assignee = |id: TaskId| {
            let (_, settings) = plan.settings(&id)?;
            let choice = plan.choice(&id, &settings)?;
            let folded = choice.name.folded();
            Ok((id, Assignee { name: choice.name, folded, is_scripted: choice.scripted }))
        };
        Ok(Self { by_task: tasks.map(assignee).collect::<Result<_, Error>>()? })
    }

    /// Returns the assignee of a task.
    pub(crate) fn get(&self, task: &TaskId) -> Option<&Assignee> {
        self.by_task.get(task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roster(names: &[&str]) -> Arc<Roster> {
        Arc::new(names.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn watchers_are_told_when_others_have_a_task_and_not_when_the_same_have_more() {
        let (mut assignees, run) = (Assignees::default(), RunId::from_bits(1));
        let has = |assignees: &Assignees, name: &str| assignees.has(&AgentName::new(name).unwrap());

        assert!(assignees.set(&run, &roster(&["ann"])));
        assert!(!assignees.set(&run, &roster(&["ann", "ann"])));
        assert!(has(&assignees, "Ann") && !has(&assignees, "ben"));
        assert!(assignees.set(&run, &roster(&["ann", "ben"])) && has(&assignees, "ben"));
        assert!(assignees.set(&run, &roster(&[])) && !has(&assignees, "ann"));
        assert!(!assignees.set(&run, &roster(&[])), "it had none");
    }

    #[test]
    fn an_agent_is_on_the_roster_as_long_as_anything_stands_for_it() {
        let mut roster = Roster::default();
        roster.add("ann");
        roster.add("ann");

        roster.remove("ann");
        assert!(roster.has("ann"));
        roster.remove("ann");
        roster.remove("ben");
        assert_eq!(roster, Roster::default());
    }
}
