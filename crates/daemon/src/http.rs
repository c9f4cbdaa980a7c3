//! Loopback HTTP: `GET /health`, `POST /v1/{verb}`, MCP at `/mcp` and, for older clients, at `/sse`. Every route checks Host and Origin, all but
//! `/health` and `/session` a bearer token.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Extension, State};
use axum::http::{Method, Uri};
use axum::middleware;
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use switchboard_protocol::error::Failure;
use switchboard_protocol::text::cut;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::face::Invoke;
use crate::mcp;

pub use limits::Limits;

mod activity;
mod body;
mod connection;
mod guard;
mod limits;
mod problem;
mod session;
pub mod sse;
mod verb;

/// A listener on 127.0.0.1 that is bound but does not serve yet.
#[derive(Debug)]
pub struct Http {
    listener: TcpListener,
    address: SocketAddr,
    limits: Limits,
}

impl Http {
    /// Binds a port of 127.0.0.1; 0 takes any free one.
    ///
    /// # Errors
    /// The system's error, usually that the port is taken.
    pub async fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, limits: Limits::default() })
    }

    /// Replaces the default limits.
    #[must_use]
    pub const fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the address of the listener.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is cancelled, then lets answers under way finish within [`Limits::grace`].
    pub async fn serve(self, invoke: Arc<dyn Invoke>, stop: CancellationToken) {
        let ended = CancellationToken::new();
        let _ends_mcp = ended.clone().drop_guard();
        let sessions = sse::Sessions::new(Arc::clone(&invoke), stop.child_token());
        let router = router(invoke, self.address.port(), self.limits, ended, sessions);
        connection::serve(self.listener, router, self.limits, stop).await;
    }
}

/// Builds all routes, with the guard before each of them and before unknown paths.
fn router(
    invoke: Arc<dyn Invoke>,
    port: u16,
    limits: Limits,
    ended: CancellationToken,
    sessions: sse::Sessions,
) -> Router {
    let gate = guard::Gate { invoke: Arc::clone(&invoke), port, limits };
    let mcp = mcp_service(Arc::clone(&invoke), limits, ended);
    Router::new()
        .route("/health", get(health))
        .route("/session", post(session::open))
        .route("/v1/{verb}", post(verb::call))
        .route("/sse", get(sse::open))
        .route("/messages", post(sse::take))
        .layer(Extension(sessions))
        .route_service("/mcp", mcp)
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(DefaultBodyLimit::disable()) // the guard has read the body within a limit of its own
        .layer(middleware::from_fn_with_state(gate, guard::check))
        .with_state(invoke)
}

/// MCP without protocol sessions in both eras: nothing is kept between requests, so that nothing can leak. A client that opens with `initialize`
/// gets a session id, which only identifies the calling agent ([`crate::agent_token`]); the guard issues it and takes it back. GET is 405, as the
/// specification allows. `ended` cuts off requests in progress, so it comes after the grace period.
fn mcp_service(
    invoke: Arc<dyn Invoke>,
    limits: Limits,
    ended: CancellationToken,
) -> StreamableHttpService<mcp::Server, NeverSessionManager> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(limits.body_bytes)
        .with_cancellation_token(ended);
    let server = mcp::Server::for_http(invoke);
    StreamableHttpService::new(move || Ok(server.clone()), Arc::new(NeverSessionManager::default()), config)
}

async fn health(State(invoke): State<Arc<dyn Invoke>>) -> Json<Value> {
    Json(invoke.health())
}

async fn no_route(uri: Uri) -> Response {
    let path = cut(uri.path(), 80);
    let failure = Failure::new("request.unknown-verb", format!("nothing is served at {path:?}"))
        .hint("GET /health, POST /session, POST /v1/{verb}, POST /mcp, GET /sse and POST /messages are");
    problem::Problem(failure).into_response()
}

async fn no_method(method: Method, uri: Uri) -> Response {
    let path = cut(uri.path(), 80);
    let failure = Failure::new("request.bad-args", format!("{path:?} does not take {method}"));
    problem::Problem::with_status(failure, axum::http::StatusCode::METHOD_NOT_ALLOWED)
}

#[cfg(test)]
mod tests;
