//! How everybody else talks to a run's engine: only the engine steps a run.

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

/// Messages that wait for an engine; senders wait when it is full.
pub(crate) const INBOX: usize = 256;

/// Where the answer to a record goes: the reply of its call.
pub(crate) type Answer = oneshot::Sender<Result<Value, Error>>;

/// What an engine is told.
pub(crate) enum Message {
    /// Something happened: it is recorded as soon as the store takes it, however long that takes.
    Happened(Record, Answer),
    /// Somebody asks for something: it is recorded now, or refused.
    Asked(Record, Answer),
    /// An effect has ended.
    Done(EffectKey, Outcome),
    /// Somebody wants to see how the run stands.
    State(oneshot::Sender<Arc<RunState>>),
    /// A worker is to have a further turn: whether the budget has room for it.
    Room(WorkerId, oneshot::Sender<bool>),
}

/// What is to be recorded in one commit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    /// Steps of the run.
    pub(crate) steps: Vec<RunEvent>,
    /// Events of other subjects that belong to them.
    pub(crate) beside: Vec<NewEvent>,
    /// What must hold for them beside the run's revision.
    pub(crate) guards: Vec<Guard>,
    /// Whether the disk must have them before the answer.
    pub(crate) durability: Durability,
    /// The call that asks for it, when it may be repeated.
    pub(crate) call: Option<Idempotency>,
    /// The call's reply.
    pub(crate) reply: Value,
}

/// What an effect came to.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Steps to record.
    pub(crate) steps: Vec<RunEvent>,
    /// The worker that was started, for the attempts after it.
    pub(crate) last: Option<(TaskId, LastWorker)>,
    /// Whether it failed for a reason that may pass: then a moment goes by before it can be decided again.
    pub(crate) has_failed: bool,
}

/// The last worker of a task: what the next attempt may build on.
#[derive(Debug, Clone)]
pub(crate) struct LastWorker {
    pub(crate) base: String,
    pub(crate) start: String,
}

/// The way to an engine. Cheap to clone.
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

    /// What failed for want of room on the disk waits with its run, and is done again once that is resumed.
    pub(crate) fn disk_full() -> Self {
        Self { has_failed: true, ..Self::step(RunEvent::RunPaused { cause: PauseCause::Disk }) }
    }

    /// The same of an effect that was begun when a person had asked for so many retries of its task: a later one makes its block void.
    pub(crate) fn begun_at(mut self, begun: Option<u32>) -> Self {
        for step in &mut self.steps {
            if let RunEvent::TaskBlocked { retries, .. } = step {
                *retries = begun;
            }
        }
        self
    }

    /// What failed may succeed in a moment.
    pub(crate) fn again() -> Self {
        Self { has_failed: true, ..Self::default() }
    }
}

// === impl Handle ===

impl Handle {
    pub(crate) fn new(sender: mpsc::Sender<Message>) -> Self {
        Self { sender }
    }

    /// Whether the engine has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Whether both lead to the same engine.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.sender.same_channel(&other.sender)
    }

    /// Records what happened and returns when it is in the log; waits while the store is busy or the disk is full.
    pub(crate) async fn record(&self, record: Record) -> Result<(), Error> {
        self.answered(|answer| Message::Happened(record, answer)).await.map(drop)
    }

    /// Records one step of the run.
    pub(crate) async fn step(&self, event: RunEvent) -> Result<(), Error> {
        self.record(Record::steps(vec![event])).await
    }

    /// Records what somebody asks for, or fails at once; returns the reply, the first one's when the call is a repetition.
    pub(crate) async fn ask(&self, record: Record) -> Result<Value, Error> {
        self.answered(|answer| Message::Asked(record, answer)).await
    }

    async fn answered(&self, message: impl FnOnce(Answer) -> Message) -> Result<Value, Error> {
        let (answer, answered) = oneshot::channel();
        self.sender.send(message(answer)).await.map_err(|_| Error::Stopping)?;
        self.answer_of(answered).await.unwrap_or(Err(Error::Stopping))
    }

    /// Waits for an answer; `None` where the engine has ended without one. A message that is sent while the engine ends may stay in the channel, which the
    /// sender keeps: its answer would be waited for for ever.
    async fn answer_of<T>(&self, mut answered: oneshot::Receiver<T>) -> Option<T> {
        tokio::select! {
            biased;
            answer = &mut answered => answer.ok(),
            () = self.sender.closed() => answered.try_recv().ok(),
        }
    }

    /// The tasks as they stand.
    pub(crate) async fn view(&self) -> Result<Vec<TaskView>, Error> {
        Ok(self.state().await?.tasks().collect())
    }

    /// The run as it stands. Whoever keeps it has the engine copy it at its next step.
    pub(crate) async fn state(&self) -> Result<Arc<RunState>, Error> {
        let (answer, answered) = oneshot::channel();
        self.sender.send(Message::State(answer)).await.map_err(|_| Error::Stopping)?;
        self.answer_of(answered).await.ok_or(Error::Stopping)
    }

    /// Whether a worker at work may begin a further turn.
    pub(crate) async fn has_room_for_turn(&self, worker: &WorkerId) -> Result<bool, Error> {
        let (answer, answered) = oneshot::channel();
        self.sender.send(Message::Room(worker.clone(), answer)).await.map_err(|_| Error::Stopping)?;
        self.answer_of(answered).await.ok_or(Error::Stopping)
    }

    pub(crate) async fn done(&self, key: EffectKey, outcome: Outcome) {
        // The engine is gone only when the run has ended or the daemon goes down; boot resolves what is open then.
        let _ = self.sender.send(Message::Done(key, outcome)).await;
    }
}
