//! Forms of answers: results, tool errors that the model reads, and protocol errors that only its client reads.

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode};
use serde_json::Value;
use switchboard_protocol::error::Failure;
use switchboard_protocol::text::cut;
use switchboard_protocol::verb;

use crate::face::{self, Reply};

/// Converts a verb's answer to a tool result. Failures are tool errors, also for wrong arguments (SEP-1303), so that the model
/// sees them and can correct the call.
pub(super) fn of(called: Result<Reply, Failure>) -> CallToolResult {
    match called {
        Ok(reply) => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(reply.get())]);
            // Missing only if it is nested deeper than a client could read.
            result.structured_content = serde_json::from_str(reply.get()).ok();
            result
        }
        Err(failure) => {
            let failure = to_value(&failure);
            let mut result = CallToolResult::error(vec![ContentBlock::text(failure.to_string())]);
            result.structured_content = Some(failure);
            result
        }
    }
}

/// Error for a tool or verb that does not exist: a protocol error by the specification, with similar names.
pub(super) fn unknown_tool(name: &str) -> ErrorData {
    let failure = match verb::table().iter().find(|row| row.name == name) {
        Some(row) => Failure::new("request.unknown-verb", format!("{} is no tool for agents", row.name))
            .hint(format!("a person runs `switchboard call {}`", row.name)),
        None => face::unknown_verb(name),
    };
    let message = format!("{}; {}", failure.what, failure.hint);
    ErrorData::new(ErrorCode::INVALID_PARAMS, message, Some(to_value(&failure)))
}

/// Error for a method that is not served, or that has parameters of the wrong shape.
pub(super) fn unservable(method: &str) -> ErrorData {
    if method == "tools/call" {
        let failure = Failure::new("request.bad-args", "tools/call needs a `name` and an object `arguments`");
        return ErrorData::new(ErrorCode::INVALID_PARAMS, failure.what.clone(), Some(to_value(&failure)));
    }
    let shown = cut(method, 80);
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method {shown:?}"), None)
}

/// Error for a read that the client has cancelled; nobody reads this answer.
pub(super) fn cancelled() -> ErrorData {
    ErrorData::new(ErrorCode::INTERNAL_ERROR, "cancelled by the client", None)
}

/// Error for a line or body that is no JSON-RPC message.
pub(crate) fn malformed(code: ErrorCode, what: impl Into<String>) -> ErrorData {
    let failure = Failure::new("request.malformed", what);
    ErrorData::new(code, failure.what.clone(), Some(to_value(&failure)))
}

/// Error for a line over the limit.
pub(super) fn too_large(limit: usize) -> ErrorData {
    let failure = Failure::new("request.too-large", format!("the line is longer than {limit} bytes"));
    ErrorData::new(ErrorCode::INVALID_REQUEST, failure.what.clone(), Some(to_value(&failure)))
}

fn to_value(failure: &Failure) -> Value {
    serde_json::to_value(failure).unwrap_or_default()
}
