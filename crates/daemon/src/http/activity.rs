//! State of the connections: waiting for a request, receiving the head of one, or being answered. Idle ones are closed to admit new ones.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes};
use hyper::body::{Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{Notify, OwnedSemaphorePermit, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::limits::Limits;

/// State of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// No byte has arrived since the connection was opened or last answered.
    Idle(Instant),
    /// The beginning of a request has arrived.
    Head(Instant),
    /// A request is being answered.
    Busy,
}

/// All connections. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Connections(Arc<Open>);

#[derive(Debug, Default)]
struct Open {
    by_number: Mutex<(u64, BTreeMap<u64, Arc<Activity>>)>,
    /// Notified when a connection becomes idle.
    idle: Notify,
}

/// An open connection; dropping it removes it from the list.
#[derive(Debug)]
pub(super) struct Connection {
    connections: Connections,
    number: u64,
    pub(super) activity: Arc<Activity>,
}

/// State of one connection, and whether it must end.
#[derive(Debug)]
pub(super) struct Activity {
    phase: watch::Sender<Phase>,
    connections: Connections,
    /// Cancelled when the connection must be closed for another one.
    pub(super) gives_way: CancellationToken,
}

// === impl Connections ===

impl Connections {
    /// Adds a new connection.
    pub(super) fn begin(&self) -> Connection {
        let (connections, gives_way) = (self.clone(), CancellationToken::new());
        let activity = Activity { phase: watch::Sender::new(Phase::Idle(Instant::now())), connections, gives_way };
        let activity = Arc::new(activity);
        let mut open = self.0.by_number.lock().unwrap_or_else(PoisonError::into_inner);
        open.0 += 1;
        let number = open.0;
        open.1.insert(number, Arc::clone(&activity));
        Connection { connections: self.clone(), number, activity }
    }

    /// Ends the connection that has waited longest without being answered; returns true if there was one.
    pub(super) fn make_way(&self) -> bool {
        let open = self.0.by_number.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = open.1.values().filter(|activity| !activity.gives_way.is_cancelled());
        let waiting = waiting.filter_map(|activity| match *activity.phase.borrow() {
            Phase::Idle(since) | Phase::Head(since) => Some((since, activity)),
            Phase::Busy => None,
        });
        let oldest = waiting.min_by_key(|(since, _)| *since);
        oldest.map(|(_, activity)| activity.gives_way.cancel()).is_some()
    }

    /// Waits until a connection becomes idle.
    pub(super) async fn one_is_idle(&self) {
        self.0.idle.notified().await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut open = self.connections.0.by_number.lock().unwrap_or_else(PoisonError::into_inner);
        open.1.remove(&self.number);
    }
}

// === impl Activity ===

impl Activity {
    /// Marks the start of an answer, once a request's head is complete; the answer ends when the value is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> Answering {
        self.phase.send_replace(Phase::Busy);
        Answering(Arc::clone(self))
    }

    /// Returns true if part of a head has arrived: then nothing of an earlier answer is still being sent.
    pub(super) fn is_at_head(&self) -> bool {
        matches!(*self.phase.borrow(), Phase::Head(_))
    }

    /// Waits until the connection has been idle, or at its head, for too long.
    pub(super) async fn overdue(&self, limits: Limits) {
        let mut phase = self.phase.subscribe();
        loop {
            let deadline = match *phase.borrow_and_update() {
                Phase::Idle(since) => Some(since + limits.idle),
                Phase::Head(since) => Some(since + limits.head),
                Phase::Busy => None,
            };
            let late = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = late => return,
                changed = phase.changed() => if changed.is_err() { return },
            }
        }
    }

    fn take_bytes(&self) {
        self.phase.send_if_modified(|phase| {
            let begins = matches!(phase, Phase::Idle(_));
            if begins {
                *phase = Phase::Head(Instant::now());
            }
            begins
        });
    }
}

/// Guard of a request that is being answered.
#[derive(Debug)]
pub(super) struct Answering(Arc<Activity>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.phase.send_replace(Phase::Idle(Instant::now()));
        self.0.connections.0.idle.notify_one();
    }
}

/// Body of an answer; the request counts as answered when it is dropped.
pub(super) struct Answer {
    pub(super) body: Body,
    /// Held until the body is dropped: the mark of the running answer, and the permit, if it needs one.
    pub(super) _held: (Answering, Option<OwnedSemaphorePermit>),
}

impl hyper::body::Body for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A stream that records when bytes of a request arrive.
pub(super) struct Watched<S> {
    pub(super) stream: S,
    pub(super) activity: Arc<Activity>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        if buffer.filled().len() > before {
            self.activity.take_bytes();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
