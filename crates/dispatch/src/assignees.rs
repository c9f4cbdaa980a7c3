//! Who has a task in a live run: an agent counts as assigned as long as a task of it is not settled.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_protocol::id::{AgentName, RunId};
use switchboard_protocol::plan::TaskId;

use crate::Error;
use crate::plan::RunPlan;

/// The agents with tasks in live runs, by their folded names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assignees {
    runs: BTreeMap<RunId, BTreeSet<String>>,
}

/// Who is to do a task.
#[derive(Debug, Clone)]
pub(crate) struct Assignee {
    pub(crate) name: AgentName,
    pub(crate) is_scripted: bool,
}

// === impl Assignees ===

impl Assignees {
    /// Whether an agent has a task.
    #[must_use]
    pub fn has(&self, agent: &AgentName) -> bool {
        let id = agent.folded();
        self.runs.values().any(|names| names.contains(&id))
    }

    /// Sets who has a task in a run, nobody when it has ended; returns whether that is a change.
    pub(crate) fn set(&mut self, run: &RunId, names: BTreeSet<String>) -> bool {
        if names.is_empty() {
            return self.runs.remove(run).is_some();
        }
        self.runs.insert(run.clone(), names.clone()) != Some(names)
    }
}

/// The assignee of each task of a run.
pub(crate) fn of(plan: &RunPlan) -> Result<BTreeMap<TaskId, Assignee>, Error> {
    let assignee = |id: &TaskId| {
        let (_, settings) = plan.settings(id)?;
        let choice = plan.choice(id, &settings)?;
        Ok((id.clone(), Assignee { name: choice.name, is_scripted: choice.scripted }))
    };
    plan.plan.tasks().map(|task| assignee(&task.id)).collect()
}
