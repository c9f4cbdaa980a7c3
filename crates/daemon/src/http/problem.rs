//! Failures as problem details (RFC 9457, which replaced RFC 7807), with the failure's own fields beside the standard ones.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use switchboard_protocol::error::{Exit, Failure, find};

/// A failure as an HTTP answer.
pub(super) struct Problem(pub(super) Failure);

impl Problem {
    /// Builds the answer with the given status, which may differ from that of the failure's code.
    pub(super) fn with_status(failure: Failure, status: StatusCode) -> Response {
        let mut body = Map::new();
        body.insert("type".to_owned(), json!(format!("urn:switchboard:error:{}", failure.code)));
        body.insert("title".to_owned(), json!(find(&failure.code).map_or("", |row| row.title)));
        body.insert("status".to_owned(), json!(status.as_u16()));
        body.insert("detail".to_owned(), json!(failure.what));
        if let Ok(Value::Object(fields)) = serde_json::to_value(&failure) {
            body.extend(fields);
        }
        let mut response = (status, Value::Object(body).to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"switchboard\""));
        }
        response
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = status(&self.0);
        Self::with_status(self.0, status)
    }
}

/// Returns the status that is closest to the failure's code.
fn status(failure: &Failure) -> StatusCode {
    let (area, words) = failure.code.split_once('.').unwrap_or(("", ""));
    match (area, words) {
        ("auth", "bad-token") => StatusCode::UNAUTHORIZED,
        ("auth", _) | ("policy", "denied") | ("bus", "not-yours") => StatusCode::FORBIDDEN,
        ("request" | "bus", "too-large" | "payload-too-large") => StatusCode::PAYLOAD_TOO_LARGE,
        ("request" | "store" | "lease", "conflict") | ("bus", "already-acked" | "name-taken") | ("need", "settled") => {
            StatusCode::CONFLICT
        }
        ("bus", "cooldown") => StatusCode::TOO_MANY_REQUESTS,
        ("store", "busy") | ("bus", "inbox-full") | ("daemon", _) => StatusCode::SERVICE_UNAVAILABLE,
        (_, "unknown" | "unknown-verb" | "unknown-message" | "unknown-recipient" | "unknown-run" | "unknown-task") => {
            StatusCode::NOT_FOUND
        }
        _ => match failure.exit() {
            Exit::Usage => StatusCode::BAD_REQUEST,
            Exit::Gate | Exit::Person | Exit::Agent => StatusCode::UNPROCESSABLE_ENTITY,
            Exit::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_meet_the_status_that_says_the_same() {
        let of = |code| status(&Failure::new(code, "")).as_u16();

        assert_eq!(of("auth.bad-token"), 401);
        assert_eq!(of("auth.foreign-host"), 403);
        assert_eq!(of("bus.cooldown"), 429);
        assert_eq!(of("policy.denied"), 403);
        assert_eq!(of("request.unknown-verb"), 404);
        assert_eq!(of("need.unknown"), 404);
        assert_eq!(of("request.conflict"), 409);
        assert_eq!(of("request.too-large"), 413);
        assert_eq!(of("request.bad-args"), 400);
        assert_eq!(of("gate.refused"), 422);
        assert_eq!(of("store.busy"), 503);
        assert_eq!(of("store.corrupt"), 500);
    }
}
