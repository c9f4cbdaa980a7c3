//! What is to be done next.

use switchboard_protocol::run::{Effect, RunOutcome, StopCause, TaskState};
use switchboard_protocol::time::Millis;

use super::RunState;
use super::record::Record;

impl RunState {
    /// Everything that is to be done now, in a fixed order: what ends (stops, captures, gates, one merge) before what starts.
    /// Names an effect again until the event that answers it is folded; see [`Effect::key`].
    #[must_use]
    pub fn decide(&self, now: Millis) -> Vec<Effect> {
        if !self.is_open() || self.finished.is_some() {
            return Vec::new();
        }
        let mut effects: Vec<_> = self.queue.active().filter_map(|at| follow_up(&self.records[at], now)).collect();
        effects.extend(self.next_merge());
        effects.extend(self.next_starts());
        if self.unsettled == 0 {
            effects.push(Effect::Finish { outcome: self.verdict() });
        }
        effects
    }

    /// At most one merge at a time, in the tasks' natural order.
    fn next_merge(&self) -> Option<Effect> {
        if self.queue.merging().is_some() {
            return None;
        }
        let passed = |record: &&Record| matches!(record.state, TaskState::Passed { .. });
        let record = self.queue.active().map(|at| &self.records[at]).find(passed)?;
        let commit = record.change()?.commit.clone();
        Some(Effect::Merge { task: record.id.clone(), attempt: record.attempt, commit })
    }

    fn next_starts(&self) -> Vec<Effect> {
        let Some(header) = &self.header else { return Vec::new() };
        if self.stopping {
            return Vec::new();
        }
        let free = (header.max_workers as usize).saturating_sub(self.queue.live_count());
        let mut chosen: Vec<usize> = Vec::new();
        for at in self.queue.startable() {
            if chosen.len() == free || !self.may_start_alone(at, header.max_workers) {
                break;
            }
            let clashes = |other: &usize| {
                let (a, b) = (&self.records[at].writes, &self.records[*other].writes);
                a.iter().any(|a| b.iter().any(|b| a.overlaps(b)))
            };
            if !chosen.iter().any(clashes) {
                chosen.push(at);
            }
        }
        chosen.into_iter().map(|at| start(&self.records[at])).collect()
    }

    /// With one worker a task is brought to its end before the next begins.
    pub(super) fn may_start_alone(&self, at: usize, max_workers: u32) -> bool {
        max_workers > 1 || self.queue.active_count() == 0 || self.queue.is_active(&self.records[at].id)
    }

    pub(super) fn verdict(&self) -> RunOutcome {
        let counts = self.counts();
        let root_blocked = counts.blocked > 0;
        if root_blocked {
            RunOutcome::Failed
        } else if counts.stopped + counts.dep_failed > 0 {
            RunOutcome::Stopped
        } else {
            RunOutcome::Succeeded
        }
    }
}

fn start(record: &Record) -> Effect {
    Effect::StartWorker {
        task: record.id.clone(),
        attempt: record.attempt,
        starts: u32::try_from(record.workers.len()).unwrap_or(u32::MAX),
        from: record.from.clone(),
        resume: record.resume,
        refusals: record.refusals.clone(),
    }
}

/// What a begun task needs, merges and starts aside.
fn follow_up(record: &Record, now: Millis) -> Option<Effect> {
    let (task, attempt) = (record.id.clone(), record.attempt);
    match &record.state {
        TaskState::Starting { worker } | TaskState::Working { worker } => {
            let late = record.deadline().is_some_and(|deadline| deadline <= now);
            let cause = if record.stopping { StopCause::Requested } else { StopCause::TimedOut };
            (record.stopping || late).then(|| Effect::StopWorker { task, worker: worker.clone(), cause })
        }
        TaskState::Capturing { worker } => Some(Effect::Capture { task, attempt, worker: worker.clone() }),
        TaskState::Captured { change } | TaskState::Gating { change } => {
            let gates = record.missing_gates().cloned().collect();
            Some(Effect::RunGates { task, attempt, commit: change.commit.clone(), gates })
        }
        TaskState::Pending
        | TaskState::Ready
        | TaskState::Passed { .. }
        | TaskState::Merging { .. }
        | TaskState::Merged { .. }
        | TaskState::Blocked { .. }
        | TaskState::DepFailed { .. }
        | TaskState::Stopped => None,
    }
}
