//! Detects a turn that failed although its answer says `end_turn`: codex-acp 2.6 reports an error of its service as a status of its thread,
//! followed by a text of the agent.

use serde_json::Value;

use super::updates;
use super::wire::{self, Fault};
use crate::beginning;

/// Maximum length of the error's text in bytes.
const TEXT: usize = 2 << 10;

/// The error of the current turn, as far as it has been reported.
#[derive(Debug, Default)]
pub(super) struct SystemError {
    /// HTTP status of the last request that the agent repeated by itself; the error's text does not always contain it.
    status: Option<i64>,
    /// Text that follows the status of the thread; `None` while the thread works.
    text: Option<String>,
}

// === impl SystemError ===

impl SystemError {
    /// Reads an update of the session.
    pub(super) fn read(&mut self, update: &Value) {
        let codex = &update["_meta"]["codex"];
        if let Some(info) = codex["error"]["codexErrorInfo"].as_object() {
            self.status = info.values().next().and_then(|details| details["httpStatusCode"].as_i64());
        }
        match codex["threadStatus"]["type"].as_str() {
            Some("systemError") => self.text = Some(String::new()),
            Some(_) => *self = Self::default(),
            None => {}
        }
        match (&mut self.text, updates::message_text(update)) {
            (Some(text), Some(said)) => text.push_str(beginning(said, TEXT - text.len().min(TEXT))),
            // The repeated request has succeeded.
            (None, Some(_)) => self.status = None,
            (_, None) => {}
        }
    }

    /// Returns the error of the turn that has ended; `None` if it did not fail.
    pub(super) fn take(&mut self) -> Option<Fault> {
        let Self { status, text } = std::mem::take(self);
        let text = text?;
        let message = if text.trim().is_empty() { "its service failed" } else { text.trim() };
        Some(Fault::new(status.unwrap_or(wire::INTERNAL), message))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn meta(codex: &Value) -> Value {
        json!({ "sessionUpdate": "session_info_update", "_meta": { "codex": codex } })
    }

    fn thread(status: &str) -> Value {
        meta(&json!({ "threadStatus": { "type": status } }))
    }

    fn repeated(status: u32) -> Value {
        let info = json!({ "responseStreamDisconnected": { "httpStatusCode": status } });
        meta(&json!({ "error": { "message": "Reconnecting... 1/5", "codexErrorInfo": info, "willRetry": true } }))
    }

    fn says(text: &str) -> Value {
        json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } })
    }

    fn error_of(updates: &[Value]) -> Option<String> {
        let mut error = SystemError::default();
        updates.iter().for_each(|update| error.read(update));
        error.take().map(|fault| fault.to_string())
    }

    #[test]
    fn the_status_of_the_repeated_request_and_the_text_after_it_are_the_error_of_the_turn() {
        let failed = [says("a warning"), thread("active"), repeated(403), thread("systemError"), says("status 403\n")];
        assert_eq!(error_of(&failed).as_deref(), Some("status 403 (403)"));

        let without = [thread("active"), thread("systemError")];
        assert_eq!(error_of(&without).as_deref(), Some("its service failed (-32603)"));
    }

    #[test]
    fn a_request_that_succeeds_when_it_is_repeated_and_an_earlier_turn_are_no_error() {
        assert_eq!(error_of(&[thread("active"), repeated(500), says("done")]), None);
        assert_eq!(error_of(&[thread("systemError"), says("no"), thread("active"), says("done")]), None);
        let later = [repeated(500), says("on it"), thread("systemError"), says("no")];
        assert_eq!(error_of(&later).as_deref(), Some("no (-32603)"), "the status belongs to another error");
    }
}
