//! JSON-RPC messages as lines. Answers lines that do not parse, and limits how much a peer can make the daemon hold.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use switchboard_process::lines::{Line, Lines};
use switchboard_process::task;
use switchboard_protocol::wire::MAX_LINE_BYTES;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinHandle;

use super::answer;

/// Maximum number of requests of one connection in progress; reading continues when one is answered.
const MAX_IN_FLIGHT: usize = 64;
/// Maximum number of lines that wait to be written.
const OUT_QUEUE: usize = 8;
/// Time after which a peer that does not take a line counts as gone.
const WRITE_LIMIT: Duration = Duration::from_secs(60);
/// How long the last lines may take when the connection ends.
const CLOSE_LIMIT: Duration = Duration::from_secs(5);

type Message = RxJsonRpcMessage<RoleServer>;

/// Reading half of a connection. Without its type, so that the session of each kind of connection is the same code.
pub(super) type Read = Box<dyn AsyncRead + Send + Unpin>;

/// Writing half of a connection.
pub(super) type Write = Box<dyn AsyncWrite + Send + Unpin>;

/// Server side of a connection with JSON-RPC lines.
pub(super) struct LineTransport {
    read: BufReader<Read>,
    lines: Lines,
    out: Option<mpsc::Sender<Vec<u8>>>,
    writer: JoinHandle<()>,
    /// A reply that waits for a place in `out`; kept here because `receive` may be dropped while it waits.
    reply: Option<Vec<u8>>,
    is_over: bool,
    slots: Arc<Semaphore>,
    next_slot: Option<OwnedSemaphorePermit>,
    in_flight: InFlight,
}

/// Permits of the requests that wait for their answer.
#[derive(Clone, Default)]
struct InFlight(Arc<Mutex<HashMap<RequestId, OwnedSemaphorePermit>>>);

// === impl InFlight ===

impl InFlight {
    fn begin(&self, id: RequestId, slot: OwnedSemaphorePermit) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, slot);
    }

    fn end(&self, id: &RequestId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}

// === impl LineTransport ===

impl LineTransport {
    pub(super) fn new(read: Read, write: Write) -> Self {
        let (out, lines) = mpsc::channel(OUT_QUEUE);
        Self {
            read: BufReader::new(read),
            lines: Lines::new(MAX_LINE_BYTES),
            out: Some(out),
            writer: task::spawn(write_lines(write, lines)),
            reply: None,
            is_over: false,
            slots: Arc::new(Semaphore::new(MAX_IN_FLIGHT)),
            next_slot: None,
            in_flight: InFlight::default(),
        }
    }

    /// Handles a line: returns its message; `None` if the line is to be skipped or has been answered.
    fn take(&mut self, line: &[u8]) -> Option<Message> {
        match parse(line) {
            Parsed::Message(message) => Some(*message),
            Parsed::Skip => None,
            Parsed::Bad(id, error) => {
                self.reply = Some(error_line(&id, &error));
                None
            }
        }
    }

    /// Updates the list of requests in progress.
    fn note(&mut self, message: &Message) {
        match message {
            JsonRpcMessage::Request(request) => {
                if let Some(slot) = self.next_slot.take() {
                    self.in_flight.begin(request.id.clone(), slot);
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let rmcp::model::ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.in_flight.end(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }

    async fn next(&mut self) -> io::Result<Option<Message>> {
        loop {
            if self.reply.is_some() {
                let Some(out) = &self.out else { return Ok(None) };
                let place = out.reserve().await.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
                place.send(self.reply.take().unwrap_or_default());
            }
            if self.is_over {
                return Ok(None);
            }
            if self.next_slot.is_none() {
                self.next_slot = Arc::clone(&self.slots).acquire_owned().await.ok();
            }
            match self.lines.read_or_give_up(&mut self.read).await? {
                Line::End(_) => return Ok(None),
                Line::TooLong => {
                    self.is_over = true;
                    self.reply = Some(error_line(&Value::Null, &answer::too_large(MAX_LINE_BYTES)));
                }
                Line::Whole(line) => {
                    if let Some(message) = self.take(&line) {
                        self.note(&message);
                        return Ok(Some(message));
                    }
                }
            }
        }
    }
}

impl Transport<RoleServer> for LineTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (out, in_flight) = (self.out.clone(), self.in_flight.clone());
        async move {
            let answered = match &item {
                JsonRpcMessage::Response(response) => Some(response.id.clone()),
                JsonRpcMessage::Error(error) => error.id.clone(),
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
            };
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let out = out.ok_or(io::ErrorKind::NotConnected)?;
            let sent = out.send(line).await.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe));
            if let Some(id) = answered {
                in_flight.end(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<Message> {
        let next = self.next().await;
        next.unwrap_or_else(|error| {
            tracing::debug!(%error, "an MCP connection broke");
            None
        })
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        drop(self.out.take());
        if tokio::time::timeout(CLOSE_LIMIT, &mut self.writer).await.is_err() {
            self.writer.abort();
        }
        Ok(())
    }
}

/// Owns the writing end, so that a message that is abandoned half way can't leave half a line. Ends when all senders are
/// gone, or the peer stops reading.
async fn write_lines(mut write: Write, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        let written = tokio::time::timeout(WRITE_LIMIT, async {
            write.write_all(&line).await?;
            write.flush().await
        });
        match written.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return tracing::debug!(%error, "an MCP peer is gone"),
            Err(_) => return tracing::warn!("an MCP peer takes no answers"),
        }
    }
    if let Err(error) = write.shutdown().await {
        tracing::debug!(%error, "an MCP peer is gone");
    }
}

/// Content of a line.
enum Parsed {
    Message(Box<Message>),
    Skip,
    Bad(Value, ErrorData),
}

fn parse(line: &[u8]) -> Parsed {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Parsed::Skip;
    }
    if let Ok(message) = serde_json::from_slice::<Message>(line) {
        return Parsed::Message(Box::new(message));
    }
    match serde_json::from_slice::<Value>(line) {
        Err(error) => {
            let what = format!("the line is not JSON: column {}", error.column());
            Parsed::Bad(Value::Null, answer::malformed(ErrorCode::PARSE_ERROR, what))
        }
        Ok(value) => misshapen(&value),
    }
}

/// Handles JSON that is no JSON-RPC message. Unknown notifications are not answered, as the standard says.
fn misshapen(value: &Value) -> Parsed {
    let id = value.get("id").filter(|id| id.is_string() || id.is_i64()).cloned();
    if id.is_none() && value.get("method").is_some_and(Value::is_string) {
        return Parsed::Skip;
    }
    let what = if value.is_array() { "batches are not served" } else { "the line is not a JSON-RPC 2.0 message" };
    Parsed::Bad(id.unwrap_or_default(), answer::malformed(ErrorCode::INVALID_REQUEST, what))
}

/// Formats an error as a line. An id that could not be read is null (JSON-RPC 2.0, section 5).
fn error_line(id: &Value, error: &ErrorData) -> Vec<u8> {
    let mut line = json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string().into_bytes();
    line.push(b'\n');
    line
}
