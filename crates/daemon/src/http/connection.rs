//! Accepts connections and limits their number and duration. `axum::serve` has none of these limits.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use switchboard_process::task;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::activity::{Activity, Answer, Connection, Connections, Watched};
use super::limits::Limits;

/// Maximum size of a request's head in bytes.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// Maximum number of headers in a request.
const MAX_HEADERS: usize = 100;
/// Pause after the system has run out of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);
/// Milliseconds after which a client that takes nothing of its answer is disconnected.
#[cfg(target_os = "linux")]
const WRITE_LIMIT_MS: u32 = 60_000;

/// How long a connection that must end may take to send the rest of its last answer.
const EVICTION_GRACE: Duration = Duration::from_millis(250);

/// Accepts and serves until `stop`, then waits for requests in progress.
pub(super) async fn serve(listener: TcpListener, router: Router, limits: Limits, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(limits.connections));
    let server = Server { router, requests: Arc::new(Semaphore::new(limits.requests)), limits, stop };
    let (all, mut connections) = (Connections::default(), JoinSet::new());
    while let Some((stream, place)) = next(&listener, &places, &all, &server.stop).await {
        while connections.try_join_next().is_some() {}
        let (server, connection) = (server.clone(), all.begin());
        connections.spawn(task::boxed(async move {
            server.serve(stream, &connection).await;
            drop((connection, place));
        }));
    }
    drop(listener);
    let all_done = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.grace, all_done).await.is_err() {
        tracing::warn!("HTTP answers under way were cut off at the end");
    }
}

/// Returns the next connection with its permit; `None` when it is time to stop. If all permits are taken, the connection that has been idle
/// the longest is closed.
async fn next(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
    all: &Connections,
    stop: &CancellationToken,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let accepted = async {
        let stream = loop {
            match listener.accept().await {
                Ok((stream, _)) => break stream,
                Err(error) => {
                    let made_way = all.make_way();
                    tracing::warn!(%error, made_way, "an HTTP connection could not be accepted");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        };
        if let Ok(place) = Arc::clone(places).try_acquire_owned() {
            return Some((stream, place));
        }
        let mut made_way = all.make_way();
        loop {
            tokio::select! {
                biased;
                place = Arc::clone(places).acquire_owned() => return Some((stream, place.ok()?)),
                () = all.one_is_idle(), if !made_way => made_way = all.make_way(),
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => None,
        accepted = accepted => accepted,
    }
}

/// Shared state of all connections.
#[derive(Clone)]
struct Server {
    router: Router,
    /// Permits for requests that are answered concurrently.
    requests: Arc<Semaphore>,
    limits: Limits,
    stop: CancellationToken,
}

// === impl Server ===

impl Server {
    async fn serve(&self, stream: TcpStream, connection: &Connection) {
        if let Err(error) = prepare(&stream) {
            tracing::debug!(%error, "an HTTP connection took no options");
        }
        let activity = &connection.activity;
        let stream = Watched { stream, activity: Arc::clone(activity) };
        let service = service_fn(|request| self.answer(request, activity));
        let mut http = http1::Builder::new();
        // `Activity` limits head and idle time: an idle connection may stay, a partial head may not.
        http.header_read_timeout(None).max_headers(MAX_HEADERS).max_buf_size(MAX_HEAD_BYTES);
        let mut served = std::pin::pin!(http.serve_connection(TokioIo::new(stream), service));
        let ended = tokio::select! {
            ended = served.as_mut() => ended,
            () = activity.overdue(self.limits) => return,
            () = activity.gives_way.cancelled() => {
                if activity.is_at_head() {
                    return;
                }
                served.as_mut().graceful_shutdown();
                tokio::time::timeout(EVICTION_GRACE, served).await.unwrap_or(Ok(()))
            }
            () = self.stop.cancelled() => {
                served.as_mut().graceful_shutdown();
                served.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "an HTTP connection broke");
        }
    }

    /// Answers a request. All but `/health` need one of a few permits, so that the daemon's health can always be checked.
    async fn answer(
        &self,
        request: Request<Incoming>,
        activity: &Arc<Activity>,
    ) -> Result<Response<Answer>, std::convert::Infallible> {
        let answering = activity.begin();
        let place = match request.uri().path() {
            "/health" => None,
            _ => Arc::clone(&self.requests).acquire_owned().await.ok(),
        };
        let answer = TowerToHyperService::new(self.router.clone()).call(request).await?;
        Ok(answer.map(|body| Answer { body, _held: (answering, place) }))
    }
}

/// Sets the options of a connection. Without nodelay a small answer waits for the peer's delayed ACK, some 40 ms.
fn prepare(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    #[cfg(target_os = "linux")]
    rustix::net::sockopt::set_tcp_user_timeout(stream, WRITE_LIMIT_MS)?;
    Ok(())
}
