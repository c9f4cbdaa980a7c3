//! How the tasks of a plan are carried out: by one worker, or by several together.

use std::collections::BTreeMap;

use switchboard_protocol::plan::{AskSettings, Plan, TaskId};

/// A plan with all subtasks, and the shapes of tasks that differ from the usual one.
#[derive(Debug, Clone, PartialEq)]
pub struct Expanded {
    /// The plan; subtasks come before their task.
    pub plan: Plan,
    /// Shapes of tasks, except those that one worker does and whose change is merged.
    pub shapes: BTreeMap<TaskId, Shape>,
    /// Notes for a person, one sentence each.
    pub notes: Vec<String>,
}

/// How a task is carried out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shape {
    /// Parent task if it is a subtask.
    pub of: Option<TaskId>,
    /// Use of its worker's result.
    pub result: WorkResult,
    /// Groups of tasks of which a minimum must be done; the others may fail.
    pub quorums: Vec<Quorum>,
    /// Task whose change its tree begins with.
    pub begins_on: Option<TaskId>,
    /// Tasks whose changes it chooses from; empty if a worker makes its change.
    pub among: Vec<TaskId>,
    /// Landing of its group, into whose branch its change is merged first.
    pub into: Option<TaskId>,
    /// Tasks of the group whose merged changes it collects; empty if a worker makes its change.
    pub gathers: Vec<TaskId>,
    /// Prompt of its worker.
    pub told: PromptSource,
    /// Role that it asks, and the kind of answer.
    pub asks: Option<AskSettings>,
    /// True if its worker may leave the tree unchanged: without a change the task is done.
    pub may_keep: bool,
    /// True if its worker's result is a proposal, which stays in a branch and which its task may take.
    pub is_proposal: bool,
}

// === impl Shape ===

impl Shape {
    /// Returns the tasks whose replies are quoted in its worker's prompt.
    #[must_use]
    pub fn quoted(&self) -> Vec<&TaskId> {
        match &self.told {
            PromptSource::Task => Vec::new(),
            PromptSource::Informed { reports } => reports.iter().collect(),
            PromptSource::Step { before, .. } => before.iter().collect(),
            PromptSource::Turn { before, .. } => before.iter().map(|(_, task)| task).collect(),
            PromptSource::Decision { turns, .. } => turns.iter().map(|(_, _, task)| task).collect(),
        }
    }
}

/// Tasks of which a minimum must be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quorum {
    /// Ids of the tasks.
    pub of: Vec<TaskId>,
    /// Minimum number of them that must be done.
    pub least: u32,
}

/// Use of a worker's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkResult {
    /// The gates judge the change, and it is merged.
    #[default]
    Merged,
    /// The next step of the chain continues with the change.
    Draft,
    /// The gates judge the change, and the parent task may choose it.
    Candidate,
    /// Only the worker's answer is kept.
    Report,
}

/// Text that replaces the description of a worker's task in its prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PromptSource {
    /// The description.
    #[default]
    Task,
    /// The description, and earlier reports.
    Informed {
        /// Tasks whose results are the reports, in order.
        reports: Vec<TaskId>,
    },
    /// A step of a chain.
    Step {
        /// Text with placeholders.
        template: String,
        /// Description of the whole task.
        task: String,
        /// Earlier steps, in order.
        before: Vec<TaskId>,
    },
    /// A participant's turn in a debate.
    Turn {
        /// Name of the participant.
        name: String,
        /// Position that the participant defends, if the plan names one.
        position: Option<String>,
        /// Description of the debated task.
        task: String,
        /// Number of the round, from 1.
        round: u32,
        /// Number of all rounds.
        rounds: u32,
        /// Turns of the round before: participant and task.
        before: Vec<(String, TaskId)>,
    },
    /// The decision after a debate.
    Decision {
        /// All turns in order: round, participant and task.
        turns: Vec<(u32, String, TaskId)>,
        /// True if the worker may take a participant's change instead of making its own.
        may_take: bool,
    },
}
