//! The way to a worker: its watch takes signals, and the shim's connection is one source of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use switchboard_pipeline::run::Waits;
use switchboard_protocol::frame::{Frame, ShimCommand};
use switchboard_protocol::id::WorkerId;
use switchboard_protocol::run::StopCause;
use tokio::sync::{mpsc, watch};

use crate::Error;

/// Signals that wait for a watch; a shim's connection waits when it is full.
const INBOX: usize = 64;

/// What a watch is told.
pub(crate) enum Signal {
    /// A shim is connected, in this incarnation, and takes commands here.
    Attached {
        /// Its incarnation.
        epoch: u32,
        /// It says that it lives where it is asked to.
        beats: bool,
        /// Where it takes commands.
        commands: mpsc::Sender<ShimCommand>,
    },
    /// It reported.
    Frame(Box<Frame>),
    /// It lives.
    Beat,
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
    /// Connections of the shim: one, or for a moment two where it has come back before its old one ended.
    connections: AtomicUsize,
    waits: watch::Sender<Waits>,
}

/// What a worker's watch listens to.
pub(crate) struct Signals {
    /// What it is told.
    pub(crate) inbox: mpsc::Receiver<Signal>,
    /// What the worker is to wait for.
    pub(crate) waits: watch::Receiver<Waits>,
}

/// A shim's connection; dropped, it is over.
pub(crate) struct Connection(Arc<Link>);

// === impl Connection ===

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

// === impl Link ===

impl Link {
    pub(crate) fn new(worker: WorkerId) -> (Arc<Self>, Signals) {
        let (signals, inbox) = mpsc::channel(INBOX);
        let (waits, wanted) = watch::channel(Waits::default());
        let link = Self { worker, signals, connections: AtomicUsize::new(0), waits };
        (Arc::new(link), Signals { inbox, waits: wanted })
    }

    pub(crate) fn worker(&self) -> &WorkerId {
        &self.worker
    }

    /// Counts a connection of the shim, as long as it is held.
    pub(crate) fn connection(self: &Arc<Self>) -> Connection {
        self.connections.fetch_add(1, Ordering::Relaxed);
        Connection(Arc::clone(self))
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.connections.load(Ordering::Relaxed) > 0
    }

    /// Passes a signal on; fails when nobody watches the worker any more.
    pub(crate) async fn send(&self, signal: Signal) -> Result<(), Error> {
        self.signals.send(signal).await.map_err(|_| Error::Stopping)
    }

    pub(crate) async fn tell(&self, command: ShimCommand) -> Result<(), Error> {
        self.send(Signal::Tell(command)).await
    }

    /// Has the worker wait, or go on; the last word counts, whenever its shim is linked.
    pub(crate) fn pause(&self, waits: Waits) {
        self.waits.send_if_modified(|was| std::mem::replace(was, waits) != waits);
    }

    pub(crate) async fn stop(&self, cause: StopCause, grace: Duration) {
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        if self.send(Signal::Stop { cause, grace_ms }).await.is_err() {
            tracing::debug!(worker = %self.worker, "the worker is gone already");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shim_is_connected_as_long_as_any_of_its_connections_is_held() {
        let (link, _signals) = Link::new(WorkerId::from_bits(1));
        assert!(!link.is_connected());

        let (first, second) = (link.connection(), link.connection());
        drop(first);
        assert!(link.is_connected());
        drop(second);
        assert!(!link.is_connected());
    }
}
