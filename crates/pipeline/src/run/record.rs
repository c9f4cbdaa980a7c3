//! What is known of one task.

use std::collections::BTreeSet;

use switchboard_protocol::id::WorkerId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{Change, GateReport, Refusal, StartFrom, TaskState, TaskView};
use switchboard_protocol::time::Millis;

use super::Counts;
use crate::paths::Pattern;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) id: TaskId,
    /// Events that brought its lists.
    pub(super) parts: u32,
    pub(super) depends: BTreeSet<usize>,
    pub(super) dependents: Vec<usize>,
    /// Dependencies that are not merged.
    pub(super) unmet: usize,
    pub(super) writes: Vec<Pattern>,
    pub(super) gates: Vec<String>,
    pub(super) timeout_ms: Option<i64>,
    pub(super) state: TaskState,
    pub(super) attempt: u32,
    /// The attempt that a person's retry began with, 1 at first; limits count from here.
    pub(super) first_attempt: u32,
    pub(super) losses: u32,
    pub(super) from: StartFrom,
    /// Whether the present attempt lost a worker.
    pub(super) resume: bool,
    /// All workers so far, the present one last.
    pub(super) workers: Vec<WorkerId>,
    pub(super) since: Option<Millis>,
    pub(super) stopping: bool,
    pub(super) reports: Vec<GateReport>,
    pub(super) refusals: Vec<Refusal>,
}

impl Record {
    pub(super) fn new(id: TaskId, timeout_ms: Option<i64>) -> Self {
        Self {
            id,
            parts: 1,
            depends: BTreeSet::new(),
            dependents: Vec::new(),
            unmet: 0,
            writes: Vec::new(),
            gates: Vec::new(),
            timeout_ms,
            state: TaskState::Ready,
            attempt: 1,
            first_attempt: 1,
            losses: 0,
            from: StartFrom::RunHead,
            resume: false,
            workers: Vec::new(),
            since: None,
            stopping: false,
            reports: Vec::new(),
            refusals: Vec::new(),
        }
    }

    pub(super) fn view(&self) -> TaskView {
        let (required, advisory): (Vec<_>, Vec<_>) = self.reports.iter().cloned().partition(|report| report.required);
        TaskView {
            task: self.id.clone(),
            state: self.state.clone(),
            attempt: self.attempt,
            losses: self.losses,
            stopping: self.stopping,
            gates: [required, advisory].concat(),
            refusals: self.refusals.clone(),
        }
    }

    pub(super) fn is_in_doubt(&self) -> bool {
        matches!(self.state, TaskState::Starting { .. } | TaskState::Merging { .. })
    }

    /// Merged or given up.
    pub(super) fn is_settled(&self) -> bool {
        matches!(
            self.state,
            TaskState::Merged { .. } | TaskState::Blocked { .. } | TaskState::DepFailed { .. } | TaskState::Stopped
        )
    }

    /// The worker whose process may be running.
    pub(super) fn live_worker(&self) -> Option<&WorkerId> {
        match &self.state {
            TaskState::Starting { worker } | TaskState::Working { worker } => Some(worker),
            TaskState::Pending
            | TaskState::Ready
            | TaskState::Capturing { .. }
            | TaskState::Captured { .. }
            | TaskState::Gating { .. }
            | TaskState::Passed { .. }
            | TaskState::Merging { .. }
            | TaskState::Merged { .. }
            | TaskState::Blocked { .. }
            | TaskState::DepFailed { .. }
            | TaskState::Stopped => None,
        }
    }

    /// The captured change of the present attempt, until it is merged.
    pub(super) fn change(&self) -> Option<&Change> {
        match &self.state {
            TaskState::Captured { change }
            | TaskState::Gating { change }
            | TaskState::Passed { change }
            | TaskState::Merging { change, .. } => Some(change),
            TaskState::Pending
            | TaskState::Ready
            | TaskState::Starting { .. }
            | TaskState::Working { .. }
            | TaskState::Capturing { .. }
            | TaskState::Merged { .. }
            | TaskState::Blocked { .. }
            | TaskState::DepFailed { .. }
            | TaskState::Stopped => None,
        }
    }

    /// When the worker has to be stopped.
    pub(super) fn deadline(&self) -> Option<Millis> {
        let limit = self.timeout_ms?;
        matches!(self.state, TaskState::Working { .. }).then_some(self.since?.plus(limit))
    }

    /// Required gates that have not reported.
    pub(super) fn missing_gates(&self) -> impl Iterator<Item = &String> {
        let reported = |gate: &str| self.reports.iter().any(|report| report.gate == gate);
        self.gates.iter().filter(move |gate| !reported(gate))
    }

    pub(super) fn count(&self, counts: &mut Counts) {
        let place = match &self.state {
            TaskState::Pending | TaskState::Ready => &mut counts.waiting,
            TaskState::Starting { .. } | TaskState::Working { .. } => &mut counts.working,
            TaskState::Capturing { .. }
            | TaskState::Captured { .. }
            | TaskState::Gating { .. }
            | TaskState::Passed { .. }
            | TaskState::Merging { .. } => &mut counts.judged,
            TaskState::Merged { .. } => &mut counts.merged,
            TaskState::Blocked { .. } => &mut counts.blocked,
            TaskState::DepFailed { .. } => &mut counts.dep_failed,
            TaskState::Stopped => &mut counts.stopped,
        };
        *place += 1;
    }
}
