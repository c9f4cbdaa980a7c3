//! State of a conversation that the bridge keeps: the handshake, and the lines that wait for an answer.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use switchboard_protocol::error::Failure;
use switchboard_protocol::wire::Answer;

/// Maximum number of requests that wait at once; further ones are refused.
const MOST_WAITING: usize = 1024;

/// Id of the answer to a line whose id can't be read (JSON-RPC 2.0, section 5).
const NO_ID: &str = "null";

/// A line of the client that the daemon answers.
#[derive(Debug, Clone)]
struct Request {
    id: String,
    line: Vec<u8>,
}

/// Lines that a new daemon must be sent again.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The client's `initialize`, answered or not.
    handshake: Option<Request>,
    /// The client's `notifications/initialized`.
    confirmed: Option<Vec<u8>>,
    /// Requests without an answer, oldest first.
    waiting: Vec<Request>,
    /// Id whose next answer is dropped, because the client has already received one.
    duplicate_answer_id: Option<String>,
}

/// The fields of a JSON-RPC line that the bridge reads.
#[derive(Default, Deserialize)]
struct Peek<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    /// A method is a string; a line with another one is refused.
    method: Option<Value>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Cancelled<'a> {
    #[serde(borrow, rename = "requestId")]
    id: Option<&'a RawValue>,
}

// === impl Memory ===

impl Memory {
    /// Records a line of the client; returns a refusal if the line must not be sent on.
    pub(super) fn hear_client(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        let peek: Peek<'_> = serde_json::from_slice(line).unwrap_or_default();
        let id = peek.id.map(RawValue::get).filter(|id| id.starts_with('"') || id.parse::<i64>().is_ok());
        match (peek.method.as_ref().and_then(Value::as_str), id) {
            (None, _) if is_unanswered(line, &peek) => None,
            (None, id) => self.wait_for(id.unwrap_or(NO_ID), line),
            (Some("initialize"), Some(id)) => {
                let refusal = self.wait_for(id, line);
                if refusal.is_none() {
                    self.handshake = self.waiting.last().cloned();
                    self.confirmed = None;
                }
                refusal
            }
            (Some(_), Some(id)) => self.wait_for(id, line),
            (Some(method), None) => {
                self.hear_notification(method, &peek, line);
                None
            }
        }
    }

    fn hear_notification(&mut self, method: &str, peek: &Peek<'_>, line: &[u8]) {
        match (method, peek.params) {
            ("notifications/initialized", _) => self.confirmed = Some(line.to_vec()),
            ("notifications/cancelled", Some(params)) => self.forget_cancelled(params),
            _ => {}
        }
    }

    /// Records a line that the daemon answers; returns a refusal if too many wait.
    fn wait_for(&mut self, id: &str, line: &[u8]) -> Option<Vec<u8>> {
        if self.waiting.len() >= MOST_WAITING {
            return Some(busy(id));
        }
        self.waiting.push(Request { id: id.to_owned(), line: line.to_vec() });
        None
    }

    /// Records a line of the daemon. Returns true if it is to be forwarded to the client.
    pub(super) fn hear_answer(&mut self, line: &[u8]) -> bool {
        let Ok(Peek { id, method: None, .. }) = serde_json::from_slice(line) else { return true };
        let id = id.map_or(NO_ID, RawValue::get);
        if self.duplicate_answer_id.as_deref() == Some(id) {
            self.duplicate_answer_id = None;
            return false;
        }
        if let Some(at) = self.waiting.iter().position(|request| request.id == id) {
            self.waiting.remove(at);
        }
        true
    }

    /// Returns true if a request waits for an answer.
    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns the lines to send to a new daemon before any other.
    pub(super) fn replay(&mut self) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        let handshake = self.handshake.clone();
        if let Some(request) = &handshake {
            let is_open = self.waiting.iter().any(|waiting| waiting.id == request.id);
            self.duplicate_answer_id = (!is_open).then(|| request.id.clone());
            lines.push(request.line.clone());
        }
        lines.extend(self.confirmed.clone());
        let of_handshake = |request: &&Request| handshake.as_ref().is_some_and(|first| first.id == request.id);
        lines.extend(self.waiting.iter().filter(|request| !of_handshake(request)).map(|request| request.line.clone()));
        lines
    }

    /// Returns an error for each waiting request, and forgets them.
    pub(super) fn refuse_all(&mut self, failure: &Failure) -> Vec<Vec<u8>> {
        let waiting = std::mem::take(&mut self.waiting);
        waiting.iter().map(|request| error(&request.id, -32_000, failure)).collect()
    }

    fn forget_cancelled(&mut self, params: &RawValue) {
        let cancelled: Result<Cancelled<'_>, _> = serde_json::from_str(params.get());
        if let Ok(Cancelled { id: Some(id) }) = cancelled {
            self.waiting.retain(|request| request.id != id.get());
        }
    }
}

/// Returns true if a line without a method gets no answer: it is empty, or itself an answer.
fn is_unanswered(line: &[u8], peek: &Peek<'_>) -> bool {
    line.iter().all(u8::is_ascii_whitespace) || peek.result.is_some() || peek.error.is_some()
}

/// Returns the failure with which the daemon refuses the whole connection, if the line is one: such a line is not JSON-RPC.
pub(super) fn refusal(line: &[u8]) -> Option<Failure> {
    let is_rpc = line.windows(9).any(|word| word == b"\"jsonrpc\"");
    let answer: Answer = if is_rpc { return None } else { serde_json::from_slice(line).ok()? };
    answer.error
}

/// Returns the error for a line over the limit, whose id is unknown.
pub(super) fn too_long() -> Vec<u8> {
    error("null", -32_600, &Failure::new("request.too-large", "the line is over 4 MiB"))
}

fn busy(id: &str) -> Vec<u8> {
    let failure = Failure::new("request.too-large", format!("{MOST_WAITING} requests wait for an answer already"));
    error(id, -32_000, &failure)
}

/// Builds a JSON-RPC error; `id` is JSON text.
fn error(id: &str, number: i32, failure: &Failure) -> Vec<u8> {
    let body = json!({ "code": number, "message": failure.to_string(), "data": failure });
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{body}}}"#).into_bytes()
}
