//! Link to a worker: its watch receives signals, and the shim's connection is one source of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use switchboard_pipeline::run::Waits;
use switchboard_protocol::frame::{Frame, ShimCommand};
use switchboard_protocol::id::{AgentName, WorkerId};
use switchboard_protocol::run::StopCause;
use tokio::sync::{mpsc, watch};

use crate::Error;

/// Maximum number of queued signals for a watch; a shim's connection waits while the queue is full.
const INBOX: usize = 64;

/// Signal to a watch.
pub(crate) enum Signal {
    /// A shim has connected.
    Attached {
        /// Incarnation of the shim.
        epoch: u32,
        /// True if the shim sends heartbeats.
        beats: bool,
        /// Sender for commands to the shim.
        commands: mpsc::Sender<ShimCommand>,
    },
    /// The shim sent a frame.
    Frame(Box<Frame>),
    /// The shim sent a heartbeat.
    Beat,
    /// The connection has closed.
    Detached,
    /// A command for the shim.
    Tell(ShimCommand),
    /// This agent, which does the step by hand, has lost the architect's seat.
    SeatLost(AgentName),
    /// Ends the worker: the cause, and the milliseconds until its process group is ended.
    Stop { cause: StopCause, grace_ms: u64 },
}

/// Link to a worker's watch.
pub(crate) struct Link {
    worker: WorkerId,
    signals: mpsc::Sender<Signal>,
    /// Number of connections of the shim: one, or briefly two if it reconnected before the old connection ended.
    connections: AtomicUsize,
    waits: watch::Sender<Waits>,
}

/// Receivers of a worker's watch.
pub(crate) struct Signals {
    /// Signals to the watch.
    pub(crate) inbox: mpsc::Receiver<Signal>,
    /// Reasons for which the worker is to wait.
    pub(crate) waits: watch::Receiver<Waits>,
}

/// Connection of a shim; it counts as closed when dropped.
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

    /// Counts a connection of the shim while the returned value is held.
    pub(crate) fn connection(self: &Arc<Self>) -> Connection {
        self.connections.fetch_add(1, Ordering::Relaxed);
        Connection(Arc::clone(self))
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.connections.load(Ordering::Relaxed) > 0
    }

    /// Sends a signal; fails if the worker is no longer watched.
    pub(crate) async fn send(&self, signal: Signal) -> Result<(), Error> {
        self.signals.send(signal).await.map_err(|_| Error::Stopping)
    }

    pub(crate) async fn tell(&self, command: ShimCommand) -> Result<(), Error> {
        self.send(Signal::Tell(command)).await
    }

    /// Pauses or resumes the worker. The latest call applies, whenever its shim is connected.
    pub(crate) fn pause(&self, waits: Waits) {
        self.waits.send_if_modified(|was| std::mem::replace(was, waits) != waits);
    }

    /// Takes the step back from the agent that does it by hand and has lost the architect's seat.
    pub(crate) async fn take_back(&self, agent: AgentName) {
        if self.send(Signal::SeatLost(agent)).await.is_err() {
            tracing::debug!(worker = %self.worker, "the worker is gone already");
        }
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

    #[tokio::test]
    async fn a_watch_is_told_who_has_lost_the_seat_and_a_watch_that_has_ended_is_not() {
        let (link, mut signals) = Link::new(WorkerId::from_bits(1));
        let lea = AgentName::new("lea").unwrap();

        link.take_back(lea.clone()).await;

        assert!(matches!(signals.inbox.try_recv(), Ok(Signal::SeatLost(agent)) if agent == lea));
        drop(signals);
        link.take_back(lea).await;
        assert!(link.send(Signal::Beat).await.is_err());
    }
}
