//! The shapes of answers: results, tool errors that the model reads, and protocol errors that only its client does.

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode};
use serde_json::Value;
use switchboard_protocol::error::Failure;
use switchboard_protocol::text::cut;
use switchboard_protocol::verb;

use crate::face;

/// A verb's answer as a tool result. Failures are tool errors, wrong arguments too (SEP-1303), so that the model sees
/// them and can do better.
pub(super) fn of(called: Result<Value, Failure>) -> CallToolResult {
    match called {
        Ok(reply) => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(reply.to_string())]);
            result.structured_content = Some(reply);
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

/// The request names a tool that does not exist, or a verb that is none: a protocol error by the specification, with near names.
pub(super) fn unknown_tool(name: &str) -> ErrorData {
    let failure = match verb::table().iter().find(|row| row.name == name) {
        Some(row) => Failure::new("request.unknown-verb", format!("{} is no tool for agents", row.name))
            .hint(format!("a person runs `switchboard call {}`", row.name)),
        None => face::unknown_verb(name),
    };
    let message = format!("{}; {}", failure.what, failure.hint);
    ErrorData::new(ErrorCode::INVALID_PARAMS, message, Some(to_value(&failure)))
}

/// A method that is not served, or one that is but came with parameters of the wrong shape.
pub(super) fn unservable(method: &str) -> ErrorData {
    if method == "tools/call" {
        let failure = Failure::new("request.bad-args", "tools/call needs a `name` and an object `arguments`");
        return ErrorData::new(ErrorCode::INVALID_PARAMS, failure.what.clone(), Some(to_value(&failure)));
    }
    let shown = cut(method, 80);
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method {shown:?}"), None)
}

/// The client took a read back; nobody sees this answer.
pub(super) fn cancelled() -> ErrorData {
    ErrorData::new(ErrorCode::INTERNAL_ERROR, "cancelled by the client", None)
}

/// A line or body that is no JSON-RPC message.
pub(crate) fn malformed(code: ErrorCode, what: impl Into<String>) -> ErrorData {
    let failure = Failure::new("request.malformed", what);
    ErrorData::new(code, failure.what.clone(), Some(to_value(&failure)))
}

/// A line over the limit.
pub(super) fn too_large(limit: usize) -> ErrorData {
    let failure = Failure::new("request.too-large", format!("the line is longer than {limit} bytes"));
    ErrorData::new(ErrorCode::INVALID_REQUEST, failure.what.clone(), Some(to_value(&failure)))
}

fn to_value(failure: &Failure) -> Value {
    serde_json::to_value(failure).unwrap_or_default()
}
