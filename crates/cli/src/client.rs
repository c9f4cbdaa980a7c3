//! Talks to the daemon over its Unix socket: one [`Hello`] line, then a line for each call and each answer.
//!
//! Blocking, without an async runtime: a read-only command must finish within milliseconds.

mod lines;

use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::{Access, Verb};
use switchboard_protocol::wire::{Answer, Call, Hello, WIRE_VERSION};

use lines::{LineReader, Read};

/// Time limit for an answer where the call sets none.
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// How long a killed daemon may take to release its socket and lock.
pub(crate) const DAEMON_EXIT_LIMIT: Duration = Duration::from_secs(5);

/// Credentials of the caller, as sent to the daemon.
#[derive(Debug, Clone, Default)]
pub(crate) struct Credentials {
    /// The worker's capability token or the root's bearer token.
    pub(crate) token: Option<String>,
    /// Name to be recorded, unverified.
    pub(crate) name: Option<String>,
    /// True if the command runs in a CI session.
    pub(crate) ci: bool,
    /// True if the command was given `--yes`.
    pub(crate) yes: bool,
    /// Folder that the command is about.
    pub(crate) folder: Option<PathBuf>,
}

/// Starts a daemon where the one that was found is ending; returns the new socket.
pub(crate) type Revive = Box<dyn Fn() -> Result<PathBuf, Failure> + Send>;

/// A connection for verb calls.
pub(crate) struct Client {
    socket: PathBuf,
    credentials: Credentials,
    stream: UnixStream,
    lines: LineReader,
    last_id: u64,
    /// Kept only until the first answer: a daemon that ends after that was ended on purpose.
    revive: Option<Revive>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("socket", &self.socket).field("last_id", &self.last_id).finish_non_exhaustive()
    }
}

// === impl Client ===

impl Client {
    /// Connects and sends the credentials.
    ///
    /// # Errors
    /// `daemon.not-running` when nobody listens, `daemon.unreachable` when the first line can't be sent.
    pub(crate) fn connect(socket: &Path, credentials: &Credentials) -> Result<Self, Failure> {
        let Credentials { token, name, ci, yes, folder } = credentials.clone();
        let hello = Hello::Calls { v: WIRE_VERSION, token, name, ci, yes, folder };
        let stream = open(socket, &hello)?;
        let lines = LineReader::new(stream.try_clone().map_err(|error| broken(socket, &error))?);
        Ok(Self {
            socket: socket.to_owned(),
            credentials: credentials.clone(),
            stream,
            lines,
            last_id: 0,
            revive: None,
        })
    }

    /// Returns this client with a way to start a new daemon if this one ends before its first answer.
    pub(crate) fn or_else(mut self, revive: Revive) -> Self {
        self.revive = Some(revive);
        self
    }

    /// Calls a verb and waits for its answer.
    ///
    /// A call that changes something gets its own key and is sent a second time if the connection breaks before the
    /// answer: the daemon then returns the first answer again.
    ///
    /// # Errors
    /// The verb's own failure; `daemon.unreachable` without an answer in time; `daemon.other-version` when the
    /// answer has another shape.
    pub(crate) fn call<V: Verb>(&mut self, request: &V::Request) -> Result<V::Reply, Failure> {
        self.call_within::<V>(request, ANSWER_LIMIT)
    }

    /// Like [`Client::call`], with its own time limit.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub(crate) fn call_within<V: Verb>(&mut self, request: &V::Request, limit: Duration) -> Result<V::Reply, Failure> {
        let args = serde_json::to_value(request)
            .map_err(|error| Failure::new("internal.bug", format!("{} has no JSON form", V::NAME)).because(&error))?;
        let key = (V::ACCESS != Access::Read).then(new_key).transpose()?;
        let reply = self.call_value(V::NAME, args, key, limit)?;
        serde_json::from_value(reply).map_err(|error| {
            Failure::new(
                "daemon.other-version",
                format!("the daemon's answer to {} has another form than this version expects", V::NAME),
            )
            .hint("end it and let the next command start one of this version: switchboard restart")
            .because(&error)
        })
    }

    /// Calls a verb by name with plain JSON arguments.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub(crate) fn call_value(
        &mut self,
        verb: &str,
        args: Value,
        key: Option<String>,
        limit: Duration,
    ) -> Result<Value, Failure> {
        self.last_id += 1;
        let call = Call { id: self.last_id, verb: verb.to_owned(), args, key };
        let answer = self.exchange_with_retry(&call, limit)?;
        self.revive = None;
        match (answer.ok, answer.error) {
            (_, Some(failure)) => Err(failure),
            (reply, None) => Ok(reply.unwrap_or(Value::Null)),
        }
    }

    /// Sends the call again when the connection breaks: once, or repeatedly while a dying daemon is being replaced.
    fn exchange_with_retry(&mut self, call: &Call, limit: Duration) -> Result<Answer, Failure> {
        let deadline = Instant::now() + DAEMON_EXIT_LIMIT;
        let mut has_tried = false;
        loop {
            match self.exchange(call, limit) {
                Ok(answer) => return Ok(answer),
                Err(Broken::TimeOut) => return Err(silent(&self.socket, &call.verb, limit)),
                Err(Broken::Io(error)) if has_tried && (self.revive.is_none() || Instant::now() >= deadline) => {
                    return Err(broken(&self.socket, &error));
                }
                Err(Broken::Io(_)) => self.connect_again()?,
            }
            has_tried = true;
        }
    }

    /// Reconnects to the same daemon, or to the one that replaces it.
    fn connect_again(&mut self) -> Result<(), Failure> {
        let again = match (Self::connect(&self.socket, &self.credentials), &self.revive) {
            (Err(failure), Some(revive)) if failure.code == "daemon.not-running" => {
                Self::connect(&revive()?, &self.credentials)?
            }
            (again, _) => again?,
        };
        *self = Self { last_id: self.last_id, revive: self.revive.take(), ..again };
        Ok(())
    }

    /// Waits until the daemon closes the connection, which it does when it ends.
    ///
    /// # Errors
    /// `daemon.unreachable` when it is still running after [`ANSWER_LIMIT`].
    pub(crate) fn wait_for_end(mut self) -> Result<(), Failure> {
        let deadline = Instant::now() + ANSWER_LIMIT;
        loop {
            match self.lines.next_before(deadline) {
                Ok(Read::Line(_)) => {}
                Ok(Read::End) | Err(_) => return Ok(()),
                Ok(Read::TimeOut) => return Err(silent(&self.socket, "shutdown", ANSWER_LIMIT)),
            }
        }
    }

    /// Sends a call and reads lines until its answer arrives.
    fn exchange(&mut self, call: &Call, limit: Duration) -> Result<Answer, Broken> {
        let deadline = Instant::now() + limit;
        lines::send(&self.stream, call, limit).map_err(Broken::Io)?;
        loop {
            let line = match self.lines.next_before(deadline).map_err(Broken::Io)? {
                Read::Line(line) => line,
                Read::TimeOut => return Err(Broken::TimeOut),
                Read::End => return Err(Broken::Io(ErrorKind::UnexpectedEof.into())),
            };
            let answer: Answer = serde_json::from_slice(&line)
                .map_err(|error| Broken::Io(std::io::Error::new(ErrorKind::InvalidData, error)))?;
            // Number 0 is an error about the connection as a whole, such as a wrong token.
            if answer.id == call.id || answer.id == 0 && answer.error.is_some() {
                return Ok(answer);
            }
        }
    }
}

/// Why no answer came.
#[derive(Debug)]
enum Broken {
    TimeOut,
    Io(std::io::Error),
}

/// Opens the socket.
///
/// # Errors
/// `daemon.not-running` when no daemon listens there.
fn dial(socket: &Path) -> Result<UnixStream, Failure> {
    UnixStream::connect(socket).map_err(|error| not_running(socket, &error))
}

/// Opens a connection and sends its first line, which says what it is for.
///
/// # Errors
/// As [`Client::connect`].
pub(crate) fn open(socket: &Path, hello: &Hello) -> Result<UnixStream, Failure> {
    let stream = dial(socket)?;
    introduce(&stream, socket, hello)?;
    Ok(stream)
}

/// Sends the first line. A daemon that is ending may have accepted the connection and closed it before that.
fn introduce(stream: &UnixStream, socket: &Path, hello: &Hello) -> Result<(), Failure> {
    lines::send(stream, hello, ANSWER_LIMIT).map_err(|error| {
        let has_hung_up = matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset);
        if has_hung_up { not_running(socket, &error) } else { broken(socket, &error) }
    })
}

/// Returns a fresh idempotency key: 128 random bits.
///
/// # Errors
/// `internal.bug` when the system has no randomness.
pub(crate) fn new_key() -> Result<String, Failure> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::new("internal.bug", "the system gives no random numbers").hint(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn silent(socket: &Path, verb: &str, limit: Duration) -> Failure {
    Failure::new("daemon.unreachable", format!("no answer to {verb} within {} s", limit.as_secs()))
        .at(socket.display().to_string())
        .hint("see how it is: switchboard doctor")
}

fn not_running(socket: &Path, error: &std::io::Error) -> Failure {
    Failure::new("daemon.not-running", "no daemon runs for this repository")
        .at(socket.display().to_string())
        .hint("start one: switchboard up --detach")
        .because(error)
}

fn broken(socket: &Path, error: &std::io::Error) -> Failure {
    Failure::new("daemon.unreachable", "the connection to the daemon broke")
        .at(socket.display().to_string())
        .hint("try again; the next command starts a daemon where none runs")
        .because(error)
}

#[cfg(test)]
mod tests;
