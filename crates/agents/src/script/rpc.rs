//! The agent's side of the connection: a thread reads messages, and messages are written at once.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::rc::Rc;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::{Error, Result};

/// Maximum number of messages that wait to be handled.
const WAITING: usize = 256;

/// Output to the client, and the questions that wait for an answer.
#[derive(Clone, Default)]
pub(super) struct Out {
    next_id: Rc<Cell<u64>>,
    open: Rc<RefCell<HashMap<u64, oneshot::Sender<Value>>>>,
}

/// Starts the thread that reads standard input; it ends with the input.
pub(super) fn incoming() -> Result<mpsc::Receiver<Value>> {
    let (sender, receiver) = mpsc::channel(WAITING);
    let read = move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            let Ok(message) = serde_json::from_str(&line) else { continue };
            if sender.blocking_send(message).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("read-input".to_owned()).spawn(read).map_err(Error::io("start a thread"))?;
    Ok(receiver)
}

// === impl Out ===

impl Out {
    /// Writes bytes unchanged. A closed output is ignored, because nobody reads the rest.
    pub(super) fn raw(&self, bytes: &[u8]) {
        let mut out = std::io::stdout().lock();
        if let Err(error) = out.write_all(bytes).and_then(|()| out.flush()) {
            tracing::debug!(%error, "nobody listens");
        }
    }

    pub(super) fn notify(&self, method: &str, params: &Value) {
        self.line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    pub(super) fn answer(&self, id: &Value, result: &Result<Value, String>) {
        match result {
            Ok(result) => self.line(&json!({ "jsonrpc": "2.0", "id": id, "result": result })),
            Err(why) => {
                self.line(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32603, "message": why } }));
            }
        }
    }

    /// Sends a request to the client; returns its result, or null.
    pub(super) async fn ask(&self, method: &str, params: &Value) -> Value {
        let id = self.next_id.get();
        self.next_id.set(id + 1);
        let (sender, receiver) = oneshot::channel();
        self.open.borrow_mut().insert(id, sender);
        self.line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        receiver.await.unwrap_or(Value::Null)
    }

    pub(super) fn answered(&self, id: &Value, result: Value) {
        let open = id.as_u64().and_then(|id| self.open.borrow_mut().remove(&id));
        if open.is_some_and(|open| open.send(result).is_err()) {
            tracing::debug!("an answer came too late");
        }
    }

    fn line(&self, message: &Value) {
        let mut line = message.to_string();
        line.push('\n');
        self.raw(line.as_bytes());
    }
}
