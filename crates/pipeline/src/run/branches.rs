//! The branches that changes are merged into: the run's branch, and the branches of groups, which are merged into it as
//! a whole.

use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::{CommandStep, StepAction};

use super::RunState;

impl RunState {
    /// Returns the landing of a task's group; `None` if the task is merged into the run's branch itself.
    #[must_use]
    pub fn lands_with(&self, id: &TaskId) -> Option<&TaskId> {
        self.records[self.landing_of(*self.tasks.get(id)?)?].task()
    }

    /// Returns true if a task is the landing of a group.
    #[must_use]
    pub fn is_landing(&self, id: &TaskId) -> bool {
        let Some(record) = self.tasks.get(id).map(|at| &self.records[*at]) else { return false };
        record.maker().is_some_and(gathers)
    }

    /// Returns the landing of a unit's group; `None` if the unit is merged into the run's branch itself.
    fn landing_of(&self, at: usize) -> Option<usize> {
        let mut around = self.records[at].within;
        while let Some(group) = around {
            if let Some(landing) = self.records[group].landing.filter(|landing| *landing != at) {
                return Some(landing);
            }
            around = self.records[group].within;
        }
        None
    }

    /// Returns the head of the branch that a task is merged into, according to the events. A group's branch begins
    /// where the run's does or later; the first rebase in it shows where.
    pub(super) fn head_of(&self, at: usize) -> &str {
        let Some(landing) = self.landing_of(at) else { return &self.head };
        let base = || self.header.as_ref().map_or("", |header| header.base.as_str());
        self.records[landing].group_head.as_deref().unwrap_or_else(base)
    }

    pub(super) fn set_head(&mut self, at: usize, head: String) {
        match self.landing_of(at) {
            Some(landing) => self.records[landing].group_head = Some(head),
            None => self.head = head,
        }
    }

    /// Records a landing with its group, so that the group's other tasks are merged into its branch.
    pub(super) fn note_landing(&mut self, at: usize) {
        let record = &self.records[at];
        if let (true, Some(group)) = (record.maker().is_some_and(gathers), record.within) {
            self.records[group].landing = Some(at);
        }
    }
}

const fn gathers(does: &StepAction) -> bool {
    matches!(does, StepAction::Command { kind: CommandStep::Gather, .. })
}
