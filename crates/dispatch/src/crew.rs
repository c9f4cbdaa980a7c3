//! Who has something to do in a live run: an agent belongs to the crew as long as a task of it is not settled.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_protocol::id::{AgentName, RunId};
use switchboard_protocol::plan::TaskId;

use crate::Error;
use crate::plan::RunPlan;

/// The agents of all live runs, by their folded names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Crew {
    runs: BTreeMap<RunId, BTreeSet<String>>,
}

/// Who does a task.
#[derive(Debug, Clone)]
pub(crate) struct Doer {
    pub(crate) name: AgentName,
    pub(crate) is_scripted: bool,
}

// === impl Crew ===

impl Crew {
    /// Whether an agent has something to do.
    #[must_use]
    pub fn has(&self, agent: &AgentName) -> bool {
        let id = agent.folded();
        self.runs.values().any(|names| names.contains(&id))
    }

    /// Says who has something to do in a run from now on; nobody when it has ended. Says whether that is news.
    pub(crate) fn set(&mut self, run: &RunId, names: BTreeSet<String>) -> bool {
        if names.is_empty() {
            return self.runs.remove(run).is_some();
        }
        self.runs.insert(run.clone(), names.clone()) != Some(names)
    }
}

/// Who does what in a run.
pub(crate) fn doers(plan: &RunPlan) -> Result<BTreeMap<TaskId, Doer>, Error> {
    let doer = |id: &TaskId| {
        let (_, settings) = plan.settings(id)?;
        let choice = plan.choice(id, &settings)?;
        Ok((id.clone(), Doer { name: choice.name, is_scripted: choice.scripted }))
    };
    plan.plan.tasks().map(|task| doer(&task.id)).collect()
}
