//! Connections: how many, how long, and how they end. `axum::serve` has none of these limits.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::limits::Limits;

/// Largest head of a request in bytes.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// Most headers of a request.
const MAX_HEADERS: usize = 100;
/// Pause when the system has no descriptors left.
const PAUSE: Duration = Duration::from_millis(100);
/// A client that takes nothing of its answer for so long is cut off.
#[cfg(target_os = "linux")]
const WRITE_LIMIT_MS: u32 = 60_000;

/// Accepts and serves until `stop`, then waits for what is under way.
pub(super) async fn serve(listener: TcpListener, router: Router, limits: Limits, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(limits.connections));
    let mut connections = JoinSet::new();
    while let Some((stream, place)) = next(&listener, &places, &stop).await {
        while connections.try_join_next().is_some() {}
        let (router, stop) = (router.clone(), stop.clone());
        connections.spawn(async move {
            serve_one(stream, router, limits, stop).await;
            drop(place);
        });
    }
    drop(listener);
    let all_done = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.grace, all_done).await.is_err() {
        tracing::warn!("HTTP answers under way were cut off at the end");
    }
}

/// The next connection with its place; nothing when it is time to stop.
async fn next(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
    stop: &CancellationToken,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let accepted = async {
        let place = Arc::clone(places).acquire_owned().await.ok()?;
        loop {
            match listener.accept().await {
                Ok((stream, _)) => return Some((stream, place)),
                Err(error) => {
                    tracing::warn!(%error, "an HTTP connection could not be accepted");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => None,
        accepted = accepted => accepted,
    }
}

async fn serve_one(stream: TcpStream, router: Router, limits: Limits, stop: CancellationToken) {
    if let Err(error) = prepare(&stream) {
        tracing::debug!(%error, "an HTTP connection took no options");
    }
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "an HTTP connection broke");
    }
}

/// Without nodelay a small answer waits for the peer's delayed ACK, some 40 ms.
fn prepare(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    #[cfg(target_os = "linux")]
    rustix::net::sockopt::set_tcp_user_timeout(stream, WRITE_LIMIT_MS)?;
    Ok(())
}
