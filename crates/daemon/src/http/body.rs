//! Reads whole request bodies, within a limit of size and time.

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use rmcp::model::ErrorCode;
use serde::de::IgnoredAny;
use serde_json::json;
use switchboard_protocol::error::Failure;

use super::limits::Limits;
use crate::mcp;

/// Maximum number of bytes read of a body over the limit before it is refused: closing the connection while the client still
/// writes would lose the answer.
const MAX_DRAINED_BYTES: usize = 16 << 20;

/// Reads the body.
///
/// # Errors
/// `request.too-large` over [`Limits::body_bytes`], `request.malformed` when it breaks off or takes longer than
/// [`Limits::body`].
pub(super) async fn read(headers: &HeaderMap, body: Body, limits: Limits) -> Result<Bytes, Failure> {
    let reading = tokio::time::timeout(limits.body, read_bounded(headers, body, limits.body_bytes));
    reading.await.unwrap_or_else(|_| {
        let what = format!("the body did not arrive within {:?}", limits.body);
        Err(Failure::new("request.malformed", what))
    })
}

async fn read_bounded(headers: &HeaderMap, mut body: Body, limit: usize) -> Result<Bytes, Failure> {
    if announced(headers).is_some_and(|length| length > limit) {
        drain(&mut body).await;
        return Err(too_large(limit));
    }
    match Limited::new(&mut body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            drain(&mut body).await;
            Err(too_large(limit))
        }
        Err(error) => Err(Failure::new("request.malformed", "the body broke off").because(error.as_ref())),
    }
}

fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

async fn drain(body: &mut Body) {
    let mut drained = 0;
    while drained < MAX_DRAINED_BYTES {
        match body.frame().await {
            Some(Ok(frame)) => drained += frame.data_ref().map_or(0, Bytes::len),
            Some(Err(_)) | None => return,
        }
    }
}

fn too_large(limit: usize) -> Failure {
    Failure::new("request.too-large", format!("the body is larger than {limit} bytes"))
}

/// Rejects an MCP body that is not JSON, with an error as JSON-RPC defines it.
#[expect(clippy::result_large_err, reason = "the answer goes out at once and is not passed up")]
pub(super) fn check_json_rpc(body: &[u8]) -> Result<(), Response> {
    serde_json::from_slice::<IgnoredAny>(body).map(drop).map_err(|error| {
        let what = format!("the body is not JSON: line {}, column {}", error.line(), error.column());
        let error = mcp::malformed(ErrorCode::PARSE_ERROR, what);
        let body = axum::Json(json!({ "jsonrpc": "2.0", "id": null, "error": error }));
        (StatusCode::BAD_REQUEST, body).into_response()
    })
}
