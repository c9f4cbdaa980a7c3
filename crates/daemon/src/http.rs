//! Loopback HTTP: `GET /health`, `POST /v1/{verb}` and MCP at `/mcp`. Every route checks Host and Origin, all but
//! `/health` a bearer token (DESIGN decision 14).

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{Method, Uri};
use axum::middleware;
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use protocol::error::Failure;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::face::Invoke;
use crate::mcp;

mod body;
mod connection;
mod guard;
mod problem;
mod verb;

/// Largest request body in bytes: what a line on the Unix socket may have, too.
pub const MAX_BODY_BYTES: usize = protocol::wire::MAX_LINE_BYTES;
/// Connections at once; more wait in the kernel's queue.
pub const MAX_CONNECTIONS: usize = 128;
/// A client has so long to send a request's headers, and between requests on one connection.
pub const HEADER_LIMIT: Duration = Duration::from_secs(15);
/// A client has so long to send a request's body.
pub const BODY_LIMIT: Duration = Duration::from_secs(30);
/// Answers under way have so long when the daemon ends.
pub const GRACE: Duration = Duration::from_secs(5);

/// A bound listener on 127.0.0.1 that nobody is served on yet.
#[derive(Debug)]
pub struct Http {
    listener: TcpListener,
    address: SocketAddr,
}

impl Http {
    /// Binds a port of 127.0.0.1; 0 takes any free one.
    ///
    /// # Errors
    /// What the system says, most often that the port is taken.
    pub async fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is cancelled, then lets answers under way finish within [`GRACE`].
    pub async fn serve(self, invoke: Arc<dyn Invoke>, stop: CancellationToken) {
        let router = router(invoke, self.address.port(), &stop);
        connection::serve(self.listener, router, stop).await;
    }
}

/// All routes, with the guard before each of them and before what is no route.
fn router(invoke: Arc<dyn Invoke>, port: u16, stop: &CancellationToken) -> Router {
    let gate = guard::Gate { invoke: Arc::clone(&invoke), port };
    Router::new()
        .route("/health", get(health))
        .route("/v1/{verb}", post(verb::call))
        .route_service("/mcp", mcp_service(Arc::clone(&invoke), stop))
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(DefaultBodyLimit::disable()) // the guard has read the body within a limit of its own
        .layer(middleware::from_fn_with_state(gate, guard::check))
        .with_state(invoke)
}

/// MCP without sessions in both eras: a client that opens with `initialize` gets no session id and needs none, so nothing
/// is kept between requests and nothing can leak. GET and DELETE are 405, as the specification allows.
fn mcp_service(
    invoke: Arc<dyn Invoke>,
    stop: &CancellationToken,
) -> StreamableHttpService<mcp::Server, NeverSessionManager> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_BODY_BYTES)
        .with_cancellation_token(stop.child_token());
    let server = mcp::Server::for_http(invoke);
    StreamableHttpService::new(move || Ok(server.clone()), Arc::new(NeverSessionManager::default()), config)
}

async fn health(State(invoke): State<Arc<dyn Invoke>>) -> Json<Value> {
    Json(invoke.health())
}

async fn no_route(uri: Uri) -> Response {
    let path: String = uri.path().chars().take(80).collect();
    let failure = Failure::new("request.unknown-verb", format!("nothing is served at {path:?}"))
        .hint("GET /health, POST /v1/{verb} and POST /mcp are");
    problem::Problem(failure).into_response()
}

async fn no_method(method: Method, uri: Uri) -> Response {
    let path: String = uri.path().chars().take(80).collect();
    let failure = Failure::new("request.bad-args", format!("{path:?} does not take {method}"));
    problem::Problem::with_status(failure, axum::http::StatusCode::METHOD_NOT_ALLOWED)
}

#[cfg(test)]
mod tests;
