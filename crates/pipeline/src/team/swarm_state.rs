//! The six states of a task in the swarm's workflow, for readers that use them: a projection of the record, never a
//! source.

use switchboard_protocol::run::way::Need;
use switchboard_protocol::run::{TaskState, TaskView};

use super::steps::{ADVERSARIAL, REVIEW, SECOND_REVIEW, SECOND_TESTS, SECURITY, TESTS};

/// A state of the swarm's workflow, in the order in which a task passes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SwarmState {
    /// No worker has worked on the task.
    Idle,
    /// A coder works on the task or has to again, or gates are judging its change.
    CoderDelegated,
    /// The gates have passed its change.
    PreCheckPassed,
    /// A reviewer has passed the change as well.
    ReviewerRun,
    /// The tests written for the change have passed as well.
    TestsRun,
    /// The task is done.
    Complete,
}

// === impl SwarmState ===

impl SwarmState {
    /// Returns the state of a task. Results of earlier attempts don't count.
    #[must_use]
    pub fn of(view: &TaskView) -> Self {
        let accepts = |verdict| Need::IfConfigured.accepts(verdict);
        let has_passed = |names: &[&str]| {
            let mut said = view.steps.iter().filter(|said| names.contains(&said.step.as_str())).peekable();
            let is_open = view.step.as_ref().is_some_and(|step| names.contains(&step.as_str()));
            said.peek().is_some() && !is_open && said.all(|said| accepts(said.verdict))
        };
        let are_gates_passed = !view.gates.is_empty()
            && view.pending_gates.is_empty()
            && view.gates.iter().all(|gate| !gate.required || accepts(gate.verdict));
        let is_begun = !matches!(view.state, TaskState::Pending | TaskState::Ready | TaskState::DepFailed { .. });
        if view.state.is_done() {
            Self::Complete
        } else if has_passed(&[TESTS, SECOND_TESTS, ADVERSARIAL]) {
            Self::TestsRun
        } else if has_passed(&[REVIEW, SECOND_REVIEW, SECURITY]) {
            Self::ReviewerRun
        } else if are_gates_passed {
            Self::PreCheckPassed
        } else if is_begun || !view.refusals.is_empty() || view.losses > 0 {
            Self::CoderDelegated
        } else {
            Self::Idle
        }
    }

    /// Returns the state's name in the swarm's format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::CoderDelegated => "coder_delegated",
            Self::PreCheckPassed => "pre_check_passed",
            Self::ReviewerRun => "reviewer_run",
            Self::TestsRun => "tests_run",
            Self::Complete => "complete",
        }
    }
}
