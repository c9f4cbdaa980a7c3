//! Who has a task in a live run: an agent counts as assigned as long as a task of it is not settled.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use switchboard_protocol::id::{AgentName, RunId};
use switchboard_protocol::plan::TaskId;

use crate::Error;
use crate::plan::RunPlan;

/// The agents with tasks in live runs, by their folded names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assignees {
    runs: BTreeMap<RunId, Arc<BTreeSet<String>>>,
}

/// Who is to do a task.
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
    /// How many different agents there are.
    agents: usize,
}

// === impl Assignees ===

impl Assignees {
    /// Whether an agent has a task.
    #[must_use]
    pub fn has(&self, agent: &AgentName) -> bool {
        let id = agent.folded();
        self.runs.values().any(|names| names.contains(&id))
    }

    /// Sets the assignees of a run, none when it has ended; returns whether that is a change.
    pub(crate) fn set(&mut self, run: &RunId, names: &Arc<BTreeSet<String>>) -> bool {
        if names.is_empty() {
            return self.runs.remove(run).is_some();
        }
        // Most often they are the same set.
        if self.runs.get(run).is_some_and(|known| Arc::ptr_eq(known, names) || known == names) {
            return false;
        }
        self.runs.insert(run.clone(), Arc::clone(names));
        true
    }
}

// === impl TaskAssignees ===

impl TaskAssignees {
    /// The assignees of the tasks that a run does.
    pub(crate) fn of(plan: &RunPlan, tasks: impl Iterator<Item = TaskId>) -> Result<Self, Error> {
        let assignee = |id: TaskId| {
            let (_, settings) = plan.settings(&id)?;
            let choice = plan.choice(&id, &settings)?;
            let folded = choice.name.folded();
            Ok((id, Assignee { name: choice.name, folded, is_scripted: choice.scripted }))
        };
        let by_task: BTreeMap<_, _> = tasks.map(assignee).collect::<Result<_, Error>>()?;
        let agents = by_task.values().map(|assignee| &assignee.folded).collect::<BTreeSet<_>>().len();
        Ok(Self { by_task, agents })
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Assignee> {
        self.by_task.values()
    }

    /// The folded names of those who have one of the tasks. Looks at no more tasks than it must.
    pub(crate) fn among<'a>(&self, tasks: impl Iterator<Item = &'a TaskId>) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for assignee in tasks.filter_map(|task| self.by_task.get(task)) {
            if names.len() == self.agents {
                break;
            }
            if !names.contains(&assignee.folded) {
                names.insert(assignee.folded.clone());
            }
        }
        names
    }
}
