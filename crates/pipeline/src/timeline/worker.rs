//! The entries of a worker: its turns, its questions, and their cost.

use std::collections::HashMap;

use switchboard_protocol::event::Event;
use switchboard_protocol::verb::timeline::{MAX_TURNS, TimelineCause, TimelineEntry, TimelineKind, TimelineState};
use switchboard_protocol::worker::{PAUSED, WRAP_UP, WorkerEvent, WorkerFact};

use super::blank;

/// The entry of a worker, with those of its turns and questions.
#[derive(Debug, Clone)]
pub struct WorkerTimeline {
    worker: TimelineEntry,
    inner: Vec<TimelineEntry>,
    /// Index of the turn that is still open.
    turn: Option<usize>,
    /// Unanswered questions.
    questions: HashMap<String, TimelineEntry>,
}

// === impl WorkerTimeline ===

impl WorkerTimeline {
    /// Starts from the entry of a worker in the run's timeline.
    #[must_use]
    pub fn new(worker: TimelineEntry) -> Self {
        Self { worker, inner: Vec::new(), turn: None, questions: HashMap::new() }
    }

    /// Folds an event of the worker; ignores others.
    pub fn take(&mut self, event: &Event) {
        match event.fact::<WorkerFact>() {
            Some(WorkerFact::WorkerEquipped { agent, .. }) => self.worker.name = agent.to_string(),
            Some(WorkerFact::WorkerReported { what, .. }) => self.reported(event, what),
            Some(
                WorkerFact::WorkerUnenforced { .. }
                | WorkerFact::WorkerFlagged { .. }
                | WorkerFact::WorkerSuspended { .. }
                | WorkerFact::WorkerActed { .. }
                | WorkerFact::WorkerTold { .. }
                | WorkerFact::CallDenied { .. }
                | WorkerFact::WorkerToolsListed { .. }
                | WorkerFact::WorkerToolsMissed { .. },
            )
            | None => {}
        }
    }

    /// Returns the worker's entry, followed by those of its turns and questions in the order in which they began.
    #[must_use]
    pub fn into_entries(mut self) -> Vec<TimelineEntry> {
        self.inner.extend(self.questions.into_values());
        self.inner.sort_by_key(|entry| entry.id);
        let left_out = self.inner.len().saturating_sub(MAX_TURNS);
        self.inner.truncate(MAX_TURNS);
        self.worker.left_out += u32::try_from(left_out).unwrap_or(u32::MAX);
        std::iter::once(self.worker).chain(self.inner).collect()
    }

    fn reported(&mut self, event: &Event, what: WorkerEvent) {
        match what {
            WorkerEvent::TurnStarted { turn, .. } => {
                let mut entry = self.entry(event, TimelineKind::Turn);
                entry.turn = Some(turn);
                self.turn = Some(self.inner.len());
                self.inner.push(entry);
            }
            WorkerEvent::TurnEnded { stop, .. } => {
                if let Some(turn) = self.turn.take().map(|turn| &mut self.inner[turn]) {
                    (turn.ended_at, turn.state, turn.detail) = (Some(event.ts), state_of(&stop), stop);
                }
            }
            WorkerEvent::CostReported { micro_usd: Some(cost), .. } => {
                let add = |sum: &mut Option<u64>| *sum = Some(sum.unwrap_or(0).saturating_add(cost));
                add(&mut self.worker.micro_usd);
                // Events after the end of a turn belong to the last turn.
                let turns = |entry: &&mut TimelineEntry| entry.what == TimelineKind::Turn;
                if let Some(turn) = self.inner.iter_mut().rev().find(turns) {
                    add(&mut turn.micro_usd);
                }
            }
            WorkerEvent::PermissionAsked { ask, .. } => {
                let mut entry = self.entry(event, TimelineKind::Question);
                entry.name = "permission".to_owned();
                self.questions.insert(ask, entry);
            }
            WorkerEvent::PermissionSettled { ask, option, rule } => {
                let Some(mut entry) = self.questions.remove(&ask) else { return };
                // A rule answered, so no question is shown.
                if rule.is_none() {
                    let state = if option.is_some() { TimelineState::Done } else { TimelineState::Stopped };
                    let detail = option.unwrap_or_else(|| "cancelled".to_owned());
                    (entry.ended_at, entry.state, entry.detail) = (Some(event.ts), state, detail);
                    self.inner.push(entry);
                }
            }
            WorkerEvent::Faulted { code, .. } => {
                if let Some(turn) = self.turn.take().map(|turn| &mut self.inner[turn]) {
                    (turn.ended_at, turn.state, turn.detail) = (Some(event.ts), TimelineState::Failed, code);
                }
            }
            WorkerEvent::AgentExited { .. } => {
                if let Some(turn) = self.turn.take().map(|turn| &mut self.inner[turn]) {
                    (turn.ended_at, turn.state) = (Some(event.ts), TimelineState::Failed);
                    turn.detail = "the agent's process ended".to_owned();
                }
            }
            WorkerEvent::CostReported { micro_usd: None, .. }
            | WorkerEvent::AgentStarted { .. }
            | WorkerEvent::SessionOpened { .. }
            | WorkerEvent::ToolCalled { .. }
            | WorkerEvent::PauseChanged { .. }
            | WorkerEvent::Sealed { .. } => {}
        }
    }

    /// Returns an entry about this worker, caused by its start or by the current turn.
    fn entry(&self, event: &Event, what: TimelineKind) -> TimelineEntry {
        let turn = self.turn.map(|turn| &self.inner[turn]);
        let cause = TimelineCause::Entry(turn.map_or(self.worker.id, |turn| turn.id));
        let mut entry = blank(event.lsn, event.ts, what, TimelineState::Running, cause);
        entry.task.clone_from(&self.worker.task);
        entry.worker.clone_from(&self.worker.worker);
        entry.attempt = self.worker.attempt;
        entry.turn = turn.and_then(|turn| turn.turn);
        entry
    }
}

/// Returns the state of a turn that ended for this reason.
fn state_of(stop: &str) -> TimelineState {
    match stop {
        PAUSED | WRAP_UP => TimelineState::Paused,
        "cancelled" => TimelineState::Stopped,
        "error" | "refusal" | "max_tokens" => TimelineState::Failed,
        _ => TimelineState::Done,
    }
}
