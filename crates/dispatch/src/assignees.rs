//! Agents with a task in a live run. An agent counts as assigned as long as one of its tasks is not settled.

use std::collections::BTreeMap;

use switchboard_protocol::id::{AgentName, RunId};
use switchboard_protocol::plan::TaskId;

use crate::Error;
use crate::plan::RunPlan;

/// The agents with tasks in live runs, by their folded names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assignees {
    runs: BTreeMap<RunId, Roster>,
}

/// Assigned agents of one run: for each folded name, the number of unsettled tasks and worker names that refer to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Roster(BTreeMap<String, usize>);

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
    pub(crate) fn set(&mut self, run: &RunId, roster: Roster) -> bool {
        let before = self.runs.remove(run).unwrap_or_default();
        let has_changed = !before.0.keys().eq(roster.0.keys());
        if !roster.0.is_empty() {
            self.runs.insert(run.clone(), roster);
        }
        has_changed
    }

    /// Returns true if an agent has a task in this run.
    pub(crate) fn has_in(&self, run: &RunId, folded: &str) -> bool {
        self.runs.get(run).is_some_and(|roster| roster.has(folded))
    }

    /// Adds a task or name to the count of each of a run's agents; returns true if one of them had none.
    pub(crate) fn add<'a>(&mut self, run: &RunId, names: impl Iterator<Item = &'a str>) -> bool {
        let mut names = names.peekable();
        if names.peek().is_none() {
            return false;
        }
        let roster = self.runs.entry(run.clone()).or_default();
        names.filter(|name| roster.add(name)).count() > 0
    }

    /// Removes a task or name from the count of each of a run's agents; returns true if it was the last of one of them.
    pub(crate) fn remove<'a>(&mut self, run: &RunId, names: impl Iterator<Item = &'a str>) -> bool {
        let Some(roster) = self.runs.get_mut(run) else { return false };
        let is_news = names.filter(|name| roster.remove(name)).count() > 0;
        if roster.0.is_empty() {
            self.runs.remove(run);
        }
        is_news
    }
}

// === impl Roster ===

impl Roster {
    fn has(&self, folded: &str) -> bool {
        self.0.contains_key(folded)
    }

    /// Adds one task or name to an agent's count; returns true if it had none.
    fn add(&mut self, folded: &str) -> bool {
        let Some(count) = self.0.get_mut(folded) else { return self.0.insert(folded.to_owned(), 1).is_none() };
        *count += 1;
        false
    }

    /// Removes one task or name from an agent's count; returns true if the agent has none left.
    fn remove(&mut self, folded: &str) -> bool {
        match self.0.get_mut(folded) {
            Some(count) if *count > 1 => {
                *count -= 1;
                false
            }
            Some(_) | None => self.0.remove(folded).is_some(),
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

    fn roster(names: &[&str]) -> Roster {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn watchers_are_told_when_others_have_a_task_and_not_when_the_same_have_more() {
        let (mut assignees, run) = (Assignees::default(), RunId::from_bits(1));
        let has = |assignees: &Assignees, name: &str| assignees.has(&AgentName::new(name).unwrap());

        assert!(assignees.set(&run, roster(&["ann"])));
        assert!(!assignees.set(&run, roster(&["ann", "ann"])));
        assert!(has(&assignees, "Ann") && !has(&assignees, "ben"));
        assert!(assignees.set(&run, roster(&["ann", "ben"])) && has(&assignees, "ben"));
        assert!(assignees.set(&run, roster(&[])) && !has(&assignees, "ann"));
        assert!(!assignees.set(&run, roster(&[])), "it had none");
    }

    #[test]
    fn an_agent_is_on_the_roster_as_long_as_anything_stands_for_it() {
        let (mut assignees, run, other) = (Assignees::default(), RunId::from_bits(1), RunId::from_bits(2));
        let one = |name: &'static str| std::iter::once(name);

        assert!(!assignees.add(&run, std::iter::empty()));
        assert_eq!(assignees, Assignees::default());
        assert!(assignees.add(&run, ["ben", "ann"].into_iter()), "both are new");
        assert!(!assignees.add(&run, one("ann")), "it has a second task");
        assert!(assignees.add(&run, ["cleo", "ann"].into_iter()), "one of them is new");

        assert!(!assignees.remove(&run, ["ann", "ann"].into_iter()), "it has a third");
        assert!(assignees.has_in(&run, "ann") && !assignees.has_in(&other, "ann"));
        assert!(!assignees.remove(&other, one("ann")) && !assignees.remove(&run, one("dora")), "it had none");
        assert!(assignees.remove(&run, ["ann", "ben", "cleo"].into_iter()));
        assert_eq!(assignees, Assignees::default(), "nothing is kept of a run without agents");
    }
}
