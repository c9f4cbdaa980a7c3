//! The way to a worker: its watch takes signals, and the shim's connection is one source of them.

use std::sync::Arc;
use std::time::Duration;

use switchboard_protocol::frame::{Frame, ShimCommand};
use switchboard_protocol::id::WorkerId;
use switchboard_protocol::run::StopCause;
use tokio::sync::mpsc;

use crate::Error;

/// Signals that wait for a watch; a shim's connection waits when it is full.
const INBOX: usize = 64;

/// What a watch is told.
pub(crate) enum Signal {
    /// A shim is connected, in this incarnation, and takes commands here.
    Attached {
        /// Its incarnation.
        epoch: u32,
        /// Where it takes commands.
        commands: mpsc::Sender<ShimCommand>,
    },
    /// It reported.
    Frame(Box<Frame>),
    /// The connection is gone.
    Detached,
    /// Somebody wants the shim to know something.
    Tell(ShimCommand),
    /// The worker is to end: why, and after how many milliseconds its group is ended.
    Stop { cause: StopCause, grace_ms: u64 },
}

/// The way to a worker's watch.
pub(crate) struct Link {
    worker: WorkerId,
    signals: mpsc::Sender<Signal>,
}

// === impl Link ===

impl Link {
    pub(crate) fn new(worker: WorkerId) -> (Arc<Self>, mpsc::Receiver<Signal>) {
        let (signals, inbox) = mpsc::channel(INBOX);
        (Arc::new(Self { worker, signals }), inbox)
    }

    pub(crate) fn worker(&self) -> &WorkerId {
        &self.worker
    }

    /// Passes a signal on; fails when nobody watches the worker any more.
    pub(crate) async fn send(&self, signal: Signal) -> Result<(), Error> {
        self.signals.send(signal).await.map_err(|_| Error::Stopping)
    }

    pub(crate) async fn tell(&self, command: ShimCommand) -> Result<(), Error> {
        self.send(Signal::Tell(command)).await
    }

    pub(crate) async fn stop(&self, cause: StopCause, grace: Duration) {
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        if self.send(Signal::Stop { cause, grace_ms }).await.is_err() {
            tracing::debug!(worker = %self.worker, "the worker is gone already");
        }
    }
}
