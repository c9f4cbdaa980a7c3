//! MCP over a byte stream, as over stdio: the Unix socket behind `switchboard mcp`.

use std::sync::Arc;

use rmcp::service::serve_directly_with_ct;
use switchboard_protocol::caller::{Caller, Face};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::Server;
use super::line::LineTransport;
use crate::face::Invoke;

/// Serves one connection until the peer closes it, sends a line over the limit, stops reading, or `stop` is cancelled;
/// answers in progress are sent first.
///
/// `bridge` names the peer for idempotency and stays the same over its reconnects: a mutating call without its own key
/// gets `<bridge>/<JSON-RPC id>`. Neither era needs a handshake here, so a bridge that reconnects may continue
/// without a second `initialize`.
pub async fn serve_io<R, W>(
    invoke: Arc<dyn Invoke>,
    caller: Caller,
    read: R,
    write: W,
    bridge: String,
    stop: CancellationToken,
) where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    serve_lines(invoke, Caller { face: Face::McpStdio, ..caller }, read, write, bridge, stop).await;
}

/// Like [`serve_io`], for any face whose messages are lines; `caller` is given.
pub(crate) async fn serve_lines<R, W>(
    invoke: Arc<dyn Invoke>,
    caller: Caller,
    read: R,
    write: W,
    bridge: String,
    stop: CancellationToken,
) where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let server = Server::for_stream(invoke, caller, bridge);
    let running =
        serve_directly_with_ct(server, LineTransport::new(Box::new(read), Box::new(write)), None, stop.child_token());
    match running.waiting().await {
        Ok(reason) => tracing::debug!(?reason, "an MCP connection ended"),
        Err(error) => tracing::error!(%error, "an MCP connection ended without an answer"),
    }
}
