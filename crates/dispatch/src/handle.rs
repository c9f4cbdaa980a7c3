//! How everybody else talks to a run's engine: only the engine appends to a run's subject.

use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{EffectKey, RunEvent, TaskView};
use switchboard_store::Durability;
use tokio::sync::{mpsc, oneshot};

use crate::Error;

/// Messages that wait for an engine; senders wait when it is full.
pub(crate) const INBOX: usize = 256;

/// What an engine is told.
pub(crate) enum Message {
    /// Something happened that belongs into the record.
    Record(Record),
    /// An effect has ended.
    Done(EffectKey, Outcome),
    /// Somebody wants to see the tasks.
    View(oneshot::Sender<Vec<TaskView>>),
}

/// Events to be recorded in one commit.
pub(crate) struct Record {
    /// Steps of the run.
    pub(crate) steps: Vec<RunEvent>,
    /// Events of other subjects that belong to them.
    pub(crate) beside: Vec<NewEvent>,
    /// Whether the disk must have them before the answer.
    pub(crate) durability: Durability,
    /// Where the answer goes.
    pub(crate) answer: oneshot::Sender<Result<(), Failure>>,
}

/// What an effect came to.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Steps to record.
    pub(crate) steps: Vec<RunEvent>,
    /// The worker that was started, for the attempts after it.
    pub(crate) last: Option<(TaskId, LastWorker)>,
    /// Whether the run has ended with it.
    pub(crate) is_last: bool,
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

// === impl Outcome ===

impl Outcome {
    pub(crate) fn step(event: RunEvent) -> Self {
        Self { steps: vec![event], ..Self::default() }
    }
}

// === impl Handle ===

impl Handle {
    pub(crate) fn new(sender: mpsc::Sender<Message>) -> Self {
        Self { sender }
    }

    /// Records events and returns when they are in the log.
    pub(crate) async fn record(
        &self,
        steps: Vec<RunEvent>,
        beside: Vec<NewEvent>,
        durability: Durability,
    ) -> Result<(), Error> {
        let (answer, answered) = oneshot::channel();
        let record = Record { steps, beside, durability, answer };
        self.sender.send(Message::Record(record)).await.map_err(|_| Error::Stopping)?;
        answered.await.map_err(|_| Error::Stopping)?.map_err(Error::from)
    }

    /// Records one step of the run.
    pub(crate) async fn step(&self, event: RunEvent) -> Result<(), Error> {
        self.record(vec![event], Vec::new(), Durability::Synced).await
    }

    /// The tasks as they stand.
    pub(crate) async fn view(&self) -> Result<Vec<TaskView>, Error> {
        let (answer, answered) = oneshot::channel();
        self.sender.send(Message::View(answer)).await.map_err(|_| Error::Stopping)?;
        answered.await.map_err(|_| Error::Stopping)
    }

    pub(crate) async fn done(&self, key: EffectKey, outcome: Outcome) {
        // The engine is gone only when the run has ended or the daemon goes down; boot settles what is open then.
        let _ = self.sender.send(Message::Done(key, outcome)).await;
    }
}
