//! The older HTTP transport of MCP (HTTP with server-sent events, protocol version 2024-11-05): `GET /sse` opens a session
//! and returns the path for posts, `POST /messages?sessionId=…` takes its messages, answers come as events.
//!
//! A session is served like the byte stream of the Unix socket, with a line for each message; this module only converts posts
//! to lines and lines to events.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Extension, Query};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use switchboard_process::task;
use switchboard_protocol::caller::{Caller, Face};
use switchboard_protocol::error::Failure;
use switchboard_protocol::wire::MAX_LINE_BYTES;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;

use self::readable::Readable;
use super::problem::Problem;
use crate::face::Invoke;
use crate::{agent_token, mcp};

mod readable;

/// Maximum number of open sessions; each holds one of the 128 permits for requests.
const MAX_SESSIONS: usize = 32;
/// Interval of keep-alive comments while nothing else is sent.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Size of a session's input and output buffers in bytes.
const BUFFER: usize = 64 << 10;
/// Maximum number of queued events for a client that reads slowly.
const QUEUE: usize = 8;
/// How long a post waits for a session that reads nothing.
const TAKE_LIMIT: Duration = Duration::from_secs(10);
/// Maximum number of posts that wait for one session.
const MAX_POSTS: usize = 16;

/// All open sessions. Cheap to clone.
#[derive(Clone)]
pub(super) struct Sessions(Arc<Open>);

struct Open {
    invoke: Arc<dyn Invoke>,
    stop: CancellationToken,
    places: Arc<Semaphore>,
    by_id: Mutex<HashMap<String, Session>>,
}

/// Input of a session, and its owner.
#[derive(Clone)]
struct Session {
    caller: Caller,
    lines: Arc<tokio::sync::Mutex<DuplexStream>>,
    posts: Arc<Semaphore>,
}

/// Query parameters of a request.
#[derive(Deserialize)]
pub(super) struct Params {
    #[serde(rename = "sessionId", default)]
    session: String,
    #[serde(default)]
    token: Option<String>,
}

// === impl Sessions ===

impl Sessions {
    /// Creates the list of sessions, which are open until `stop`.
    pub(super) fn new(invoke: Arc<dyn Invoke>, stop: CancellationToken) -> Self {
        let (places, by_id) = (Arc::new(Semaphore::new(MAX_SESSIONS)), Mutex::default());
        Self(Arc::new(Open { invoke, stop, places, by_id }))
    }

    fn open(&self, caller: Caller, token: Option<&str>) -> Result<Body, Failure> {
        let full = |_| Failure::new("store.busy", format!("{MAX_SESSIONS} sessions are open already"));
        let place = Arc::clone(&self.0.places).try_acquire_owned().map_err(full)?;
        let bits = || getrandom::u64().map_err(|error| Failure::new("internal.bug", error.to_string()));
        let id = format!("{:016x}{:016x}", bits()?, bits()?);
        let (lines, read) = tokio::io::duplex(BUFFER);
        let (write, answers) = tokio::io::duplex(BUFFER);
        let (events, stream) = mpsc::channel(QUEUE);
        let (lines, posts) = (Arc::new(tokio::sync::Mutex::new(lines)), Arc::new(Semaphore::new(MAX_POSTS)));
        let session = Session { caller: caller.clone(), lines, posts };
        // A name that the session's agent registers belongs to the session as long as that is open.
        let agent = agent_token::bearing(caller, &agent_token::fresh()?)?;
        self.by_id().insert(id.clone(), session);
        let stop = self.0.stop.child_token();
        let invoke = Arc::clone(&self.0.invoke);
        let served = mcp::serve_lines(invoke, agent.clone(), read, write, format!("sse-{id}"), stop.clone());
        task::spawn(served);
        let endpoint = token.map_or_else(String::new, |token| format!("&token={token}"));
        let endpoint = format!("event: endpoint\ndata: /messages?sessionId={id}{endpoint}\n\n");
        task::spawn(self.clone().pump((id, agent), endpoint, answers, events, (stop, place)));
        Ok(Body::from_stream(ReceiverStream::new(stream)))
    }

    /// Converts lines to events until the client, the session or the daemon ends; then closes the session.
    async fn pump(
        self,
        (id, agent): (String, Caller),
        endpoint: String,
        answers: DuplexStream,
        events: mpsc::Sender<Result<Bytes, std::convert::Infallible>>,
        (stop, _place): (CancellationToken, OwnedSemaphorePermit),
    ) {
        let mut next = endpoint;
        let mut answers = BufReader::new(answers).lines();
        while events.send(Ok(Bytes::from(next))).await.is_ok() {
            self.0.invoke.note_still_connected(&agent);
            next = tokio::select! {
                () = stop.cancelled() => break,
                () = events.closed() => break,
                line = answers.next_line() => match line {
                    Ok(Some(line)) => format!("event: message\ndata: {line}\n\n"),
                    Ok(None) | Err(_) => break,
                },
                () = tokio::time::sleep(KEEP_ALIVE) => ": still here\n\n".to_owned(),
            };
        }
        self.by_id().remove(&id);
        self.0.invoke.ends_session(&agent);
        stop.cancel();
    }

    /// Finds a session that the caller has opened; other callers' sessions are not found.
    fn find(&self, id: &str, caller: &Caller) -> Result<Session, Failure> {
        let found = self.by_id().get(id).filter(|session| session.caller == *caller).cloned();
        found.ok_or_else(|| Failure::new("request.bad-args", "there is no such session").hint("GET /sse opens one"))
    }

    fn by_id(&self) -> std::sync::MutexGuard<'_, HashMap<String, Session>> {
        self.0.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Handles `GET /sse`.
pub(super) async fn open(
    Extension(sessions): Extension<Sessions>,
    Extension(caller): Extension<Caller>,
    Query(params): Query<Params>,
    headers: HeaderMap,
) -> Response {
    // A client with its token in the address does not add it to the next address by itself.
    let token = params.token.filter(|_| !headers.contains_key(header::AUTHORIZATION));
    match sessions.open(of_sse(caller), token.as_deref()) {
        Ok(body) => {
            let headers = [
                (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
                (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
            ];
            (headers, body).into_response()
        }
        Err(failure) => Problem(failure).into_response(),
    }
}

/// Handles `POST /messages?sessionId=…`: 202 when the session has the message; its answer comes as an event.
pub(super) async fn take(
    Extension(sessions): Extension<Sessions>,
    Extension(caller): Extension<Caller>,
    Query(params): Query<Params>,
    body: Bytes,
) -> Response {
    let session = match sessions.find(&params.session, &of_sse(caller)) {
        Ok(session) => session,
        Err(failure) => return Problem::with_status(failure, StatusCode::NOT_FOUND),
    };
    let line = match line_of(&body) {
        Ok(line) => line,
        Err(failure) => return Problem(failure).into_response(),
    };
    let busy = || Problem(Failure::new("store.busy", "the session takes nothing more for now")).into_response();
    let Ok(place) = Arc::clone(&session.posts).try_acquire_owned() else { return busy() };
    // In its own task: a client that disconnects in the middle must not leave half a line.
    let taking = task::spawn(async move {
        let mut lines = session.lines.lock().await;
        let written = lines.write_all(&line).await;
        drop(place);
        written
    });
    match tokio::time::timeout(TAKE_LIMIT, taking).await {
        Ok(Ok(Ok(()))) => (StatusCode::ACCEPTED, "Accepted").into_response(),
        Ok(Ok(Err(_)) | Err(_)) => {
            Problem::with_status(Failure::new("request.bad-args", "the session has ended"), StatusCode::NOT_FOUND)
        }
        Err(_) => busy(),
    }
}

/// Converts a posted message to a line. Line ends in JSON stand between tokens only, so they are replaced by spaces.
///
/// # Errors
/// `request.malformed` when it is not JSON, `request.too-large` over the limit of a line.
pub fn line_of(body: &[u8]) -> Result<Vec<u8>, Failure> {
    if body.len() >= MAX_LINE_BYTES {
        return Err(Failure::new("request.too-large", format!("the message has more than {MAX_LINE_BYTES} bytes")));
    }
    serde_json::from_slice::<Readable>(body).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        Failure::new("request.malformed", "the body is not JSON").at(place)
    })?;
    let mut line: Vec<u8> = body.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect();
    line.push(b'\n');
    Ok(line)
}

fn of_sse(caller: Caller) -> Caller {
    Caller { face: Face::McpSse, ..caller }
}

#[cfg(test)]
mod tests;
