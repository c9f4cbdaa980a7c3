//! `POST /v1/{verb}`: the request as JSON in, the reply as JSON out.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Json, Response};
use serde_json::{Map, Value};
use switchboard_protocol::caller::Caller;
use switchboard_protocol::error::Failure;

use super::problem::Problem;
use crate::agent_token;
use crate::face::{self, Call, Invoke, Reply};
use crate::mcp::KEY_HEADER;

/// Runs the verb. An empty body is an empty request; `Idempotency-Key` makes a mutating call safe to send again.
pub(super) async fn call(
    State(invoke): State<Arc<dyn Invoke>>,
    Extension(caller): Extension<Caller>,
    Path(verb): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    match run(&invoke, caller, &verb, &headers, &body).await {
        Ok(reply) => ([(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))], Json(reply)).into_response(),
        Err(failure) => Problem(failure).into_response(),
    }
}

async fn run(
    invoke: &Arc<dyn Invoke>,
    caller: Caller,
    verb: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Reply, Failure> {
    if invoke.row(verb).is_none() {
        return Err(face::unknown_verb(verb));
    }
    let key = key(headers)?;
    let args = args(body)?;
    agent_token::run(invoke, Call { caller, verb: verb.to_owned(), args, key }, std::future::pending()).await
}

fn key(headers: &HeaderMap) -> Result<Option<String>, Failure> {
    let mut keys = headers.get_all(KEY_HEADER).iter();
    match (keys.next(), keys.next()) {
        (None, _) => Ok(None),
        (Some(key), None) => face::check_key(key.to_str().unwrap_or_default()).map(Some),
        (Some(_), Some(_)) => Err(Failure::new("request.bad-args", "two idempotency keys for one call")),
    }
}

fn args(body: &[u8]) -> Result<Value, Failure> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Value::Object(Map::new()));
    }
    serde_json::from_slice(body).map_err(|error| {
        Failure::new("request.malformed", "the body is not JSON").at(format!(
            "line {}, column {}",
            error.line(),
            error.column()
        ))
    })
}
