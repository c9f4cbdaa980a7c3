//! Handle by which all other code talks to a run's engine: only the engine steps a run.

use std::sync::Arc;

use serde_json::Value;
use switchboard_pipeline::run::RunState;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::WorkerId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{EffectKey, PauseCause, RunEvent, TaskView};
use switchboard_store::{Durability, Guard, Idempotency};
use tokio::sync::{mpsc, oneshot};

use crate::Error;

/// Maximum number of queued messages for an engine; senders wait while the queue is full.
pub(crate) const INBOX: usize = 256;

/// Sender for the answer to a record: the reply of its call.
pub(crate) type Answer = oneshot::Sender<Result<Value, Error>>;

/// Message to an engine.
pub(crate) enum Message {
    /// An event that happened. It is recorded as soon as the store accepts it, however long that takes.
    Happened(Record, Answer),
    /// A request. It is recorded now, or refused.
    Asked(Record, Answer),
    /// An effect has ended.
    Done(EffectKey, Outcome),
    /// Asks for the state of the run.
    State(oneshot::Sender<Arc<RunState>>),
    /// Asks whether the budget has room for a further turn of a worker.
    Room(WorkerId, oneshot::Sender<bool>),
}

/// Content of one commit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    /// Steps of the run.
    pub(crate) steps: Vec<RunEvent>,
    /// Events of other subjects that are committed with the steps.
    pub(crate) beside: Vec<NewEvent>,
    /// Conditions of the commit in addition to the run's revision.
    pub(crate) guards: Vec<Guard>,
    /// Durability of the commit: whether the disk must have the events before the answer.
    pub(crate) durability: Durability,
    /// Idempotency key of the call that requests the record, if it may be repeated.
    pub(crate) call: Option<Idempotency>,
    /// Reply to the call.
    pub(crate) reply: Value,
}

/// Outcome of an effect.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Steps to record.
    pub(crate) steps: Vec<RunEvent>,
    /// Worker that was started, for later attempts.
    pub(crate) last: Option<(TaskId, LastWorker)>,
    /// True if the effect failed for a transient reason: it is decided again only after a pause.
    pub(crate) has_failed: bool,
}

/// Last worker of a task, on which the next attempt may build.
#[derive(Debug, Clone)]
pub(crate) struct LastWorker {
    pub(crate) base: String,
    pub(crate) start: String,
}

/// Handle of an engine. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Handle {
    sender: mpsc::Sender<Message>,
}

// === impl Record ===

impl Record {
    pub(crate) fn steps(steps: Vec<RunEvent>) -> Self {
        Self { steps, ..Self::default() }
    }
}

// === impl Outcome ===

impl Outcome {
    pub(crate) fn step(event: RunEvent) -> Self {
        Self { steps: vec![event], ..Self::default() }
    }

    /// Returns the outcome of an effect that failed because the disk is full. It waits with its run, and is carried out
    /// again after a resume.
    pub(crate) fn disk_full() -> Self {
        Self { has_failed: true, ..Self::step(RunEvent::RunPaused { cause: PauseCause::Disk }) }
    }

    /// Sets the number of retries that a person had requested when the effect began: a later retry voids its block.
    pub(crate) fn begun_at(mut self, begun: Option<u32>) -> Self {
        for step in &mut self.steps {
            if let RunEvent::TaskBlocked { retries, .. } = step {
                *retries = begun;
            }
        }
        self
    }

    /// Returns the outcome of an effect that may succeed in a moment.
    pub(crate) fn again() -> Self {
        Self { has_failed: true, ..Self::default() }
    }
}

// === impl Handle ===

impl Handle {
    pub(crate) fn new(sender: mpsc::Sender<Message>) -> Self {
        Self { sender }
    }

    /// Returns true if the engine has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Returns true if both handles are of the same engine.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.sender.same_channel(&other.sender)
    }

    /// Records an event that happened and returns once it is in the log; waits while the store is busy or the disk is
    /// full.
    pub(crate) async fn record(&self, record: Record) -> Result<(), Error> {
        self.answered(|answer| Message::Happened(record, answer)).await.map(drop)
    }

    /// Records one step of the run.
    pub(crate) async fn step(&self, event: RunEvent) -> Result<(), Error> {
        self.record(Record::steps(vec![event])).await
    }

    /// Records a request, or fails at once; returns the reply, for a repeated call the first one.
    pub(crate) async fn ask(&self, record: Record) -> Result<Value, Error> {
        self.answered(|answer| Message::Asked(record, answer)).await
    }

    async fn answered(&self, message: impl FnOnce(Answer) -> Message) -> Result<Value, Error> {
        let (answer, answered) = oneshot::channel();
        self.sender.send(message(answer)).await.map_err(|_| Error::Stopping)?;
        self.answer_of(answered).await.unwrap_or(Err(Error::Stopping))
    }

    /// Waits for an answer; `None` if the engine has ended without one. A message sent while the engine ends may remain
    /// in the channel, which the sender keeps alive: without this check, the wait for its answer would never end.
    async fn answer_of<T>(&self, mut answered: oneshot::Receiver<T>) -> Option<T> {
        tokio::select! {
            biased;
            answer = &mut answered => answer.ok(),
            () = self.sender.closed() => answered.try_recv().ok(),
        }
    }

    /// Returns the present state of the tasks.
    pub(crate) async fn view(&self) -> Result<Vec<TaskView>, Error> {
        Ok(self.state().await?.tasks().collect())
    }

    /// Returns the present state of the run. While a caller keeps it, the engine copies the state at its next step.
    pub(crate) async fn state(&self) -> Result<Arc<RunState>, Error> {
        let (answer, answered) = oneshot::channel();
        self.sender.send(Message::State(answer)).await.map_err(|_| Error::Stopping)?;
        self.answer_of(answered).await.ok_or(Error::Stopping)
    }

    /// Returns true if the budget has room for a further turn of a running worker.
    pub(crate) async fn has_room_for_turn(&self, worker: &WorkerId) -> Result<bool, Error> {
        let (answer, answered) = oneshot::channel();
        self.sender.send(Message::Room(worker.clone(), answer)).await.map_err(|_| Error::Stopping)?;
        self.answer_of(answered).await.ok_or(Error::Stopping)
    }

    pub(crate) async fn done(&self, key: EffectKey, outcome: Outcome) {
        // The engine has ended only if the run is over or the daemon is shutting down; boot resolves what is open then.
        let _ = self.sender.send(Message::Done(key, outcome)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_tells_how_often_a_person_had_asked_for_a_retry_when_its_effect_began() {
        let task = || TaskId::new("1.1").unwrap();
        let blocked =
            |retries| RunEvent::TaskBlocked { task: task(), attempt: 1, retries, reason: "no way".to_owned() };
        let omitted =
            RunEvent::TaskPaused { task: task(), cause: switchboard_protocol::run::TaskPauseCause::Requested };
        let outcome = Outcome { steps: vec![blocked(None), omitted.clone()], ..Outcome::default() };

        assert_eq!(outcome.begun_at(Some(2)).steps, [blocked(Some(2)), omitted]);
    }
}
