//! `POST /session`: exchanges a one-time code for the token of a person's session.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Json, Response};
use serde::Deserialize;
use switchboard_protocol::error::Failure;

use super::problem::Problem;
use crate::face::Invoke;

/// Body of the request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    code: String,
}

/// Exchanges a code. Host and Origin are checked before; no token is needed, because the code replaces it.
pub(super) async fn open(State(invoke): State<Arc<dyn Invoke>>, body: Bytes) -> Response {
    let request = serde_json::from_slice::<Request>(&body)
        .map_err(|error| Failure::new("request.bad-args", format!("the body is no object with a code: {error}")));
    match request.and_then(|request| invoke.open_session(&request.code)) {
        Ok(reply) => ([(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))], Json(reply)).into_response(),
        Err(failure) => Problem(failure).into_response(),
    }
}
