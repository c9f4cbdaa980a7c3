//! How attempts end, and what follows for the task and for those that depend on it.

use std::collections::BTreeSet;

use switchboard_protocol::id::WorkerId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{
    MAX_ATTEMPTS, MAX_LOSSES, Refusal, RefusalCause, RunEvent, StartFrom, TaskState, TurnOutcome,
};

use super::RunState;
use super::step::Consequences;

impl RunState {
    /// Puts a task where its dependencies allow it to be.
    pub(super) fn await_dependencies(&mut self, at: usize) {
        self.queue.unready(at, &self.records);
        if self.records[at].unmet > 0 {
            self.records[at].state = TaskState::Pending;
            return;
        }
        self.records[at].state = TaskState::Ready;
        self.queue.make_ready(at, &self.records);
    }

    pub(super) fn end_turn(
        &mut self,
        at: usize,
        worker: &WorkerId,
        outcome: TurnOutcome,
        reason: &str,
    ) -> Consequences {
        if self.records[at].stopping {
            return self.stop_now(at);
        }
        match outcome {
            TurnOutcome::Finished => {
                self.queue.set_live(at, false);
                self.records[at].state = TaskState::Capturing { worker: worker.clone() };
                Vec::new()
            }
            TurnOutcome::Stopped => self.lose(at, reason),
            TurnOutcome::Failed => self.refuse(at, RefusalCause::AgentFailed, vec![reason.to_owned()]),
            TurnOutcome::Refused => self.refuse(at, RefusalCause::AgentRefused, vec![reason.to_owned()]),
            TurnOutcome::TimedOut => self.refuse(at, RefusalCause::TimedOut, vec![reason.to_owned()]),
        }
    }

    /// The worker is gone; the attempt goes on with another, unless too many were lost.
    pub(super) fn lose(&mut self, at: usize, reason: &str) -> Consequences {
        self.queue.set_live(at, false);
        if self.records[at].stopping {
            return self.stop_now(at);
        }
        let record = &mut self.records[at];
        record.losses += 1;
        record.resume = true;
        if record.losses >= MAX_LOSSES {
            let reason = format!("{MAX_LOSSES} workers were lost; the last: {reason} [worker.lost]");
            return self.block(at, reason);
        }
        self.await_dependencies(at);
        Vec::new()
    }

    pub(super) fn refuse_unchanged(&mut self, at: usize) -> Consequences {
        let reason = "the agent said it was done, but no file had changed [dispatch.no-change]".to_owned();
        self.refuse(at, RefusalCause::NothingChanged, vec![reason])
    }

    /// Once all required gates have spoken, the change goes on or the attempt is refused.
    pub(super) fn judge(&mut self, at: usize) -> Consequences {
        let record = &self.records[at];
        if record.missing_gates().next().is_some() {
            return Vec::new();
        }
        let Some(change) = record.change().cloned() else { return Vec::new() };
        let refusing: Vec<_> =
            record.reports.iter().filter(|report| report.required && report.verdict.refuses()).cloned().collect();
        let Some((last, others)) = refusing.split_last() else {
            self.records[at].state = TaskState::Passed { change };
            return Vec::new();
        };
        let attempt = record.attempt;
        let cause = |gate: &str| RefusalCause::Gate { gate: gate.to_owned() };
        let earlier = others.iter().map(|report| Refusal {
            attempt,
            cause: cause(&report.gate),
            reasons: report.reasons.clone(),
        });
        self.records[at].refusals.extend(earlier);
        self.records[at].from = StartFrom::Change { commit: change.commit };
        self.refuse(at, cause(&last.gate), last.reasons.clone())
    }

    pub(super) fn refuse_conflict(&mut self, at: usize, files: &[String]) -> Consequences {
        self.queue.set_merging(None);
        if self.records[at].stopping {
            return self.stop_now(at);
        }
        if let Some(change) = self.records[at].change() {
            self.records[at].from = StartFrom::Rebased { commit: change.commit.clone() };
        }
        self.refuse(at, RefusalCause::MergeConflict, files.to_vec())
    }

    /// Ends the attempt; another begins, or the task is blocked.
    fn refuse(&mut self, at: usize, cause: RefusalCause, reasons: Vec<String>) -> Consequences {
        self.queue.set_live(at, false);
        let record = &mut self.records[at];
        let last = describe(&cause, &reasons);
        record.refusals.push(Refusal { attempt: record.attempt, cause, reasons });
        record.resume = false;
        if record.attempt + 1 - record.first_attempt >= MAX_ATTEMPTS {
            return self.block(at, format!("{MAX_ATTEMPTS} attempts were refused; the last: {last}"));
        }
        record.attempt += 1;
        record.reports.clear();
        self.await_dependencies(at);
        Vec::new()
    }

    fn block(&mut self, at: usize, reason: String) -> Consequences {
        let record = &self.records[at];
        let event = RunEvent::TaskBlocked { task: record.id.clone(), attempt: record.attempt, reason: reason.clone() };
        let mut consequences = vec![event.fitted()];
        consequences.extend(self.mark_blocked(at, reason));
        consequences
    }

    pub(super) fn mark_blocked(&mut self, at: usize, reason: String) -> Consequences {
        self.settle(at, TaskState::Blocked { reason });
        self.fail_dependents(at)
    }

    // === stopping ===

    /// Stops the task at once where no process or merge is under way, else as soon as that has ended.
    pub(super) fn request_stop(&mut self, at: usize) -> Consequences {
        let record = &mut self.records[at];
        record.stopping = true;
        if record.live_worker().is_some() || record.is_in_doubt() { Vec::new() } else { self.stop_now(at) }
    }

    fn stop_now(&mut self, at: usize) -> Consequences {
        self.settle(at, TaskState::Stopped);
        self.fail_dependents(at)
    }

    /// Stops all tasks; none of them counts as failed because of another.
    pub(super) fn stop_all(&mut self) {
        for at in 0..self.records.len() {
            let record = &mut self.records[at];
            if record.state.is_settled() {
                continue;
            }
            record.stopping = true;
            if record.live_worker().is_none() && !record.is_in_doubt() {
                self.settle(at, TaskState::Stopped);
            }
        }
    }

    // === settling ===

    pub(super) fn settle(&mut self, at: usize, state: TaskState) {
        self.queue.settle(at, &self.records);
        if !self.records[at].state.is_settled() {
            self.unsettled -= 1;
        }
        self.records[at].state = state;
    }

    /// The task is merged: those that waited for nothing else become ready.
    pub(super) fn release_dependents(&mut self, at: usize) -> Consequences {
        for dependent in self.records[at].dependents.clone() {
            let record = &mut self.records[dependent];
            record.unmet -= 1;
            if record.unmet == 0 && record.state == TaskState::Pending {
                self.await_dependencies(dependent);
            }
        }
        Vec::new()
    }

    /// Marks everything that needs the task, directly or through others.
    fn fail_dependents(&mut self, at: usize) -> Consequences {
        let root = self.records[at].id.clone();
        let mut consequences = Vec::new();
        let mut next = self.records[at].dependents.clone();
        while let Some(dependent) = next.pop() {
            if self.records[dependent].state != TaskState::Pending {
                continue;
            }
            consequences.push(self.fail_dependent(dependent, &root));
            next.extend(&self.records[dependent].dependents);
        }
        consequences
    }

    fn fail_dependent(&mut self, at: usize, root: &TaskId) -> RunEvent {
        self.settle(at, TaskState::DepFailed { root: root.clone() });
        RunEvent::TaskDepFailed { task: self.records[at].id.clone(), root: root.clone() }
    }

    // === trying again ===

    /// Gives a blocked or stopped task all its attempts anew, and a chance to those that failed because of it.
    pub(super) fn retry(&mut self, at: usize) -> Consequences {
        self.finished = None;
        self.stopping = false;
        let record = &mut self.records[at];
        if !record.workers.is_empty() || matches!(record.state, TaskState::Blocked { .. }) {
            record.attempt += 1;
        }
        record.first_attempt = record.attempt;
        record.losses = 0;
        record.resume = false;
        record.stopping = false;
        record.reports.clear();
        let root = record.id.clone();
        let mut consequences = Vec::new();
        let mut waiting = BTreeSet::from([at]);
        while let Some(next) = waiting.pop_first() {
            self.revive(next, &mut consequences);
            let failed = TaskState::DepFailed { root: root.clone() };
            let dependents = self.records[next].dependents.iter();
            waiting.extend(dependents.filter(|dependent| self.records[**dependent].state == failed));
        }
        consequences
    }

    /// Brings a settled task back, or marks it again if something else that it needs has failed.
    fn revive(&mut self, at: usize, consequences: &mut Consequences) {
        let culprit = self.records[at].depends.iter().find_map(|on| self.culprit(*on));
        match culprit {
            Some(root) => {
                self.records[at].state = TaskState::DepFailed { root: root.clone() };
                consequences.push(RunEvent::TaskDepFailed { task: self.records[at].id.clone(), root });
            }
            None => {
                self.unsettled += 1;
                self.await_dependencies(at);
            }
        }
    }

    /// The task at the root of why `on` will not be merged.
    fn culprit(&self, on: usize) -> Option<TaskId> {
        let record = &self.records[on];
        match &record.state {
            TaskState::Blocked { .. } | TaskState::Stopped => Some(record.id.clone()),
            TaskState::DepFailed { root } => Some(root.clone()),
            TaskState::Pending
            | TaskState::Ready
            | TaskState::Starting { .. }
            | TaskState::Working { .. }
            | TaskState::Capturing { .. }
            | TaskState::Captured { .. }
            | TaskState::Gating { .. }
            | TaskState::Passed { .. }
            | TaskState::Merging { .. }
            | TaskState::Merged { .. } => None,
        }
    }
}

fn describe(cause: &RefusalCause, reasons: &[String]) -> String {
    let what = match cause {
        RefusalCause::AgentFailed => "the agent failed".to_owned(),
        RefusalCause::AgentRefused => "the agent refused".to_owned(),
        RefusalCause::TimedOut => "the time limit passed".to_owned(),
        RefusalCause::NothingChanged => "nothing changed".to_owned(),
        RefusalCause::Gate { gate } => format!("gate {gate}"),
        RefusalCause::MergeConflict => "merge conflict".to_owned(),
    };
    match reasons.first() {
        Some(first) if !first.is_empty() => format!("{what}: {first}"),
        Some(_) | None => what,
    }
}
