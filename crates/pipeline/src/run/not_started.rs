//! Reasons why a task whose work is not done has no worker, each with a code.

use std::collections::BTreeSet;

use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{PauseCause, SkipCode, Skipped, TaskView};
use switchboard_protocol::text::listed;

use super::RunState;
use super::record::{Ending, OpenFor};
use crate::paths::reasons;

/// Maximum number of units that a reason names.
const MAX_NAMED: usize = 5;

impl RunState {
    /// Returns the view of one task.
    #[must_use]
    pub fn task(&self, id: &TaskId) -> Option<TaskView> {
        self.tasks.get(id).and_then(|at| self.view(*at, &|| self.starting()))
    }

    /// Returns the views of all tasks in their natural order.
    pub fn tasks(&self) -> impl Iterator<Item = TaskView> {
        let starting = std::cell::OnceCell::new();
        self.tasks.values().filter_map(move |at| self.view(*at, &|| starting.get_or_init(|| self.starting()).clone()))
    }

    fn view(&self, at: usize, starting: &dyn Fn() -> BTreeSet<TaskId>) -> Option<TaskView> {
        let mut view = self.records[at].view()?;
        let why = self.why_not_started(at, starting);
        view.not_started = why.map(|(code, detail)| Skipped { id: view.task.clone(), code, detail });
        Some(view)
    }

    /// Returns the tasks whose workers are about to start.
    fn starting(&self) -> BTreeSet<TaskId> {
        self.next_starts().iter().map(|start| start.task().clone()).collect()
    }

    /// Returns true if a task, or a subtask of it, has had a worker.
    fn has_begun(&self, at: usize) -> bool {
        self.with_subtasks(at).into_iter().any(|unit| !self.records[unit].workers.is_empty())
    }

    fn why_not_started(&self, at: usize, starting: &dyn Fn() -> BTreeSet<TaskId>) -> Option<(SkipCode, String)> {
        let record = &self.records[at];
        match &record.ending {
            Some(Ending::DepFailed { root }) => {
                return Some((SkipCode::DepFailed, format!("task {root}, which it needs, is not done")));
            }
            Some(Ending::Stopped) if !self.has_begun(at) => {
                return Some((SkipCode::Stopped, "it was stopped before it began".to_owned()));
            }
            Some(Ending::Done { .. } | Ending::Blocked { .. } | Ending::Stopped) => return None,
            None if record.unmet > 0 => return Some((SkipCode::DepUnmet, self.unmet(at))),
            None => {}
        }
        if !matches!(record.open_for(), OpenFor::Worker { .. }) || self.stopping || self.finished.is_some() {
            return None;
        }
        if record.paused.is_some() {
            return Some((SkipCode::Paused, "it is paused".to_owned()));
        }
        if let OpenFor::Worker { step } = record.open_for()
            && !self.may_begin(record, step)
        {
            let step = &record.unit.way().steps()[step].id;
            return Some((SkipCode::NotBegun, format!("the agent that leads the run has not begun its step {step}")));
        }
        match self.pause {
            Some(PauseCause::Requested) => return Some((SkipCode::Paused, "its run is paused".to_owned())),
            Some(PauseCause::Disk) => {
                return Some((SkipCode::Paused, "its run is paused: the disk is full".to_owned()));
            }
            Some(PauseCause::Budget | PauseCause::Plan | PauseCause::Day) => {
                return Some((SkipCode::Budget, "its run is paused for want of budget".to_owned()));
            }
            None => {}
        }
        let holder = record.parent.unwrap_or(at);
        if let Some(rival) = self.queue.held_by(holder) {
            let shared = self.records[rival].claims.shared(&self.records[holder].claims);
            let detail = format!("waits for {}: {}", self.records[rival].id, reasons(&shared));
            return Some((SkipCode::ConflictDeferred, detail));
        }
        let max_workers = self.header.as_ref().map_or(1, |header| header.max_workers);
        if !self.may_start_alone(at, max_workers) || self.queue.live_count() >= max_workers as usize {
            return Some((SkipCode::CapacityDeferred, "waits for a free worker".to_owned()));
        }
        if !self.account.has_room(1) {
            let detail = "what is left of the run's budget is less than a worker's reservation";
            return Some((SkipCode::Budget, detail.to_owned()));
        }
        let is_next = record.task().is_some_and(|task| starting().contains(task));
        (!is_next).then(|| (SkipCode::CapacityDeferred, "others go first".to_owned()))
    }

    /// Describes what a unit waits for.
    fn unmet(&self, at: usize) -> String {
        let is_open = |on: &&usize| !matches!(self.records[**on].ending, Some(Ending::Done { .. }));
        let open = self.records[at].depends.iter().filter(is_open);
        format!("waits for {}", listed(open.map(|on| self.records[*on].id.to_string()), MAX_NAMED))
    }
}
