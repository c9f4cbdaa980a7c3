//! How the tasks of a plan are done: by one worker, or by several together.

use std::collections::BTreeMap;

use switchboard_protocol::plan::{AskSettings, Plan, TaskId};

/// A plan with all subtasks, and what is special about them and the tasks that they belong to.
#[derive(Debug, Clone, PartialEq)]
pub struct Expanded {
    /// The plan; subtasks stand before their task.
    pub plan: Plan,
    /// The tasks that are not done by one worker whose change is merged.
    pub shapes: BTreeMap<TaskId, Shape>,
    /// What a person should know, a sentence each.
    pub notes: Vec<String>,
}

/// How a task is done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shape {
    /// The task that it is a subtask of.
    pub of: Option<TaskId>,
    /// What becomes of what its worker leaves.
    pub result: WorkResult,
    /// Tasks of which enough must be done; that others of them fail doesn't matter.
    pub quorums: Vec<Quorum>,
    /// The task whose change its tree begins with.
    pub begins_on: Option<TaskId>,
    /// Tasks among whose changes its own is chosen; empty where a worker makes it.
    pub among: Vec<TaskId>,
    /// The task that brings its group to the run's branch, into whose branch its change is merged first.
    pub into: Option<TaskId>,
    /// The tasks of the group whose merged changes are its own; empty where a worker makes it.
    pub gathers: Vec<TaskId>,
    /// What its worker is told.
    pub told: Told,
    /// The role that it asks, and for which answer.
    pub asks: Option<AskSettings>,
    /// Whether what its worker leaves is a proposal, which stays in a branch and which its task may take.
    pub is_proposal: bool,
}

// === impl Shape ===

impl Shape {
    /// The tasks whose replies its worker is told.
    #[must_use]
    pub fn quoted(&self) -> Vec<&TaskId> {
        match &self.told {
            Told::Task => Vec::new(),
            Told::Informed { reports } => reports.iter().collect(),
            Told::Step { before, .. } => before.iter().collect(),
            Told::Turn { before, .. } => before.iter().map(|(_, task)| task).collect(),
            Told::Decision { turns, .. } => turns.iter().map(|(_, _, task)| task).collect(),
        }
    }
}

/// Tasks of which so many must be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quorum {
    /// The tasks.
    pub of: Vec<TaskId>,
    /// How many.
    pub least: u32,
}

/// What becomes of what a worker leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkResult {
    /// The gates judge it, and it is merged.
    #[default]
    Merged,
    /// The next step of the chain goes on with it.
    Draft,
    /// The gates judge it, and its task may choose it.
    Candidate,
    /// Only what the worker says is kept.
    Report,
}

/// What a worker is told in place of its task's description.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Told {
    /// The description.
    #[default]
    Task,
    /// The description, and what was reported before.
    Informed {
        /// Tasks whose results are reports, in their order.
        reports: Vec<TaskId>,
    },
    /// A step of a chain.
    Step {
        /// The text with its placeholders.
        template: String,
        /// The description of the whole task.
        task: String,
        /// The steps before, in their order.
        before: Vec<TaskId>,
    },
    /// A participant's turn in a debate.
    Turn {
        /// Who it is.
        name: String,
        /// The position that it takes, if the plan says one.
        position: Option<String>,
        /// The description of the task that is debated.
        task: String,
        /// Which round, from 1.
        round: u32,
        /// How many there are.
        rounds: u32,
        /// The turns of the round before: who, and which task.
        before: Vec<(String, TaskId)>,
    },
    /// The decision after a debate.
    Decision {
        /// All turns in their order: the round, who, and which task.
        turns: Vec<(u32, String, TaskId)>,
        /// Whether it may take what a participant has left in place of a change of its own.
        may_take: bool,
    },
}
