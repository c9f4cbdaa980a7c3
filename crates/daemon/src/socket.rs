//! The Unix socket: one JSON value per line; the first one says what the connection is for.

use std::sync::Arc;
use std::time::Duration;

use switchboard_dispatch::Dispatch;
use switchboard_process::lineage::{self, Claims, Lineage, Part};
use switchboard_process::lines::{Line, Lines};
use switchboard_process::task;
use switchboard_protocol::caller::{Caller, CallerKind, Face};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::wire::{Answer, Call, Hello, MAX_LINE_BYTES, WIRE_VERSION};
use tokio::io::{AsyncBufRead, AsyncWriteExt as _, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::authority::Peer;
use crate::blocking::blocking;
use crate::face::{self, Invoke, Learned, Reply};
use crate::mcp;

/// Maximum number of open connections: shims, bridges and commands of a large run. Further ones wait in the kernel's queue.
const MAX_CONNECTIONS: usize = 1024;

/// Maximum number of agents with the same given name, which are distinguished by a number.
const MOST_NAMESAKES: usize = 9;

/// How long a connection may take to send its first line.
const HELLO: Duration = Duration::from_secs(10);

/// Maximum number of concurrent calls of one connection.
const CALLS: usize = 32;

/// Shared state of all connections.
#[derive(Clone)]
pub(crate) struct Socket {
    pub(crate) invoke: Arc<dyn Invoke>,
    pub(crate) dispatch: Dispatch,
    pub(crate) stop: CancellationToken,
}

// === impl Socket ===

impl Socket {
    /// Accepts connections until `stop`.
    pub(crate) async fn serve(self, listener: UnixListener) {
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let accepted = tokio::select! {
                () = self.stop.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    let socket = self.clone();
                    task::spawn(async move {
                        socket.connection(stream).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::error!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    async fn connection(&self, stream: UnixStream) {
        let (stream, lineage) = match blocking(move || Ok((lineage::of_peer(&stream), stream))).await {
            Ok((lineage, stream)) => (stream, lineage.unwrap_or_default()),
            Err(failure) => return tracing::error!(%failure, "a caller could not be looked at"),
        };
        let (read, mut write) = stream.into_split();
        let mut read = BufReader::new(read);
        let hello = match tokio::time::timeout(HELLO, next_line(&mut read, &mut Lines::new(MAX_LINE_BYTES))).await {
            Ok(Ok(Some(line))) => serde_json::from_slice::<Hello>(&line),
            Ok(Ok(None)) | Err(_) => return,
            Ok(Err(failure)) => return refuse(&mut write, failure).await,
        };
        match hello {
            Ok(Hello::Calls { v, token, name, ci, yes, folder }) => {
                let lineage = match with_bridges(lineage).await {
                    Ok(lineage) => lineage,
                    Err(failure) => return refuse(&mut write, failure).await,
                };
                let peer = Peer { lineage, claims: Claims { is_ci: ci, says_yes: yes } };
                match self.admit(v, &peer, (token.as_deref(), name.as_deref())) {
                    Ok(caller) => self.calls(Caller { folder, ..caller }, read, write).await,
                    Err(failure) => refuse(&mut write, failure).await,
                }
            }
            Ok(Hello::Mcp { v, token, name, bridge, folder }) => {
                let peer = Peer { lineage, claims: Claims::default() };
                // Agents without a given name are distinguished by their programs.
                let own = peer.lineage.starter().map(|program| format!("agent-{}", program.pid));
                match self.admit(v, &peer, (token.as_deref(), name.as_deref().or(own.as_deref()))) {
                    Ok(caller) => {
                        let mut caller = Caller { folder, ..caller };
                        if !matches!(caller.kind, CallerKind::Worker { .. }) {
                            self.invoke.learn(&peer, Learned::Bridge(&caller.name));
                            if name.is_some() {
                                caller.name = self.join(&caller).await;
                            }
                        }
                        mcp::serve_io(Arc::clone(&self.invoke), caller, read, write, bridge, self.stop.clone()).await
                    }
                    Err(failure) => refuse(&mut write, failure).await,
                }
            }
            Ok(hello @ Hello::Shim { .. }) => {
                if let Hello::Shim { worker, token, .. } = &hello {
                    self.invoke.learn(&Peer { lineage, claims: Claims::default() }, Learned::Shim(worker, token));
                }
                let served = tokio::select! {
                    () = self.stop.cancelled() => Ok(()),
                    served = self.dispatch.attach(&hello, read, write) => served,
                };
                if let Err(error) = served {
                    tracing::warn!(%error, "a shim's connection ended");
                }
            }
            Err(error) => {
                let failure = Failure::new("request.malformed", format!("the first line is no hello: {error}"));
                refuse(&mut write, failure).await;
            }
        }
    }

    fn admit(&self, v: u16, peer: &Peer, (token, name): (Option<&str>, Option<&str>)) -> Result<Caller, Failure> {
        if v > WIRE_VERSION || v + 1 < WIRE_VERSION {
            let what = format!("the caller speaks version {v} of the socket's protocol, this daemon {WIRE_VERSION}");
            return Err(Failure::new("daemon.other-version", what).hint("switchboard restart"));
        }
        self.invoke.identify_peer(peer, token, name)
    }

    /// Registers an agent to which its user has given a name; a second one of that name gets a number. Returns the resulting name.
    async fn join(&self, caller: &Caller) -> AgentName {
        let program = Caller { face: Face::McpStdio, ..caller.clone() };
        for number in 1..=MOST_NAMESAKES {
            let name = if number == 1 { caller.name.to_string() } else { format!("{}-{number}", caller.name) };
            let Ok(name) = AgentName::new(name) else { break };
            let args = serde_json::json!({ "name": name });
            let call = face::Call { caller: program.clone(), verb: "register_agent".to_owned(), args, key: None };
            let joined = match self.invoke.admit(call).await {
                Ok(admitted) => self.invoke.run(admitted).await,
                Err(failure) => Err(failure),
            };
            match joined {
                Ok(_) => return name,
                Err(failure) if failure.code == "bus.name-taken" => {}
                Err(failure) => {
                    tracing::warn!(%failure, %name, "a connected agent could not join");
                    break;
                }
            }
        }
        caller.name.clone()
    }

    /// Serves calls concurrently; each answer carries its call's number.
    async fn calls(&self, caller: Caller, mut read: BufReader<OwnedReadHalf>, write: OwnedWriteHalf) {
        let write = Arc::new(Mutex::new(write));
        let slots = Arc::new(Semaphore::new(CALLS));
        // Calls that wait for a person end with their connection.
        let gone = CancellationToken::new();
        let _ends_waits = gone.clone().drop_guard();
        let mut lines = Lines::new(MAX_LINE_BYTES);
        loop {
            let got = tokio::select! {
                () = self.stop.cancelled() => return,
                got = next_line(&mut read, &mut lines) => got,
            };
            let line = match got {
                Ok(Some(line)) => line,
                Ok(None) => return,
                Err(failure) => return refuse(&mut *write.lock().await, failure).await,
            };
            let call = match serde_json::from_slice::<Call>(&line) {
                Ok(call) => call,
                Err(error) => {
                    let failure = Failure::new("request.malformed", format!("the line is no call: {error}"));
                    refuse(&mut *write.lock().await, failure).await;
                    continue;
                }
            };
            let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
            let (invoke, caller, write) = (Arc::clone(&self.invoke), caller.clone(), Arc::clone(&write));
            let gone = gone.clone();
            task::spawn(async move {
                let answer = answer(&invoke, caller, call, gone).await;
                send(&mut *write.lock().await, &answer).await;
                drop(slot);
            });
        }
    }
}

/// Adds to a lineage what the process table says of bridges. Skipped below a shim or a daemon, because such a caller is no person anyway.
async fn with_bridges(lineage: Lineage) -> Result<Lineage, Failure> {
    if lineage.processes.iter().any(|process| matches!(process.part, Part::Shim | Part::Daemon)) {
        return Ok(lineage);
    }
    blocking(move || Ok(lineage.with_bridges())).await
}

async fn answer(invoke: &Arc<dyn Invoke>, caller: Caller, call: Call, gone: CancellationToken) -> Answer<Reply> {
    let id = call.id;
    let key = call.key.as_deref().map(face::check_key).transpose();
    let done = match key {
        // In its own task, which goes on when the connection is gone.
        Ok(key) => {
            let call = face::Call { caller, verb: call.verb, args: call.args, key };
            match face::admit(invoke, call, gone.cancelled()).await {
                Ok(admitted) => invoke.run(admitted).await,
                Err(failure) => Err(failure),
            }
        }
        Err(failure) => Err(failure),
    };
    match done {
        Ok(reply) => Answer { id, ok: Some(reply), error: None },
        Err(failure) => Answer { id, ok: None, error: Some(failure) },
    }
}

/// Answers a line that is no call with number 0, which callers don't use.
async fn refuse(write: &mut OwnedWriteHalf, failure: Failure) {
    send(write, &Answer { id: 0, ok: None, error: Some(failure) }).await;
}

async fn send(write: &mut OwnedWriteHalf, answer: &Answer<Reply>) {
    let mut text = match serde_json::to_vec(answer) {
        Ok(text) => text,
        Err(error) => return tracing::error!(%error, "an answer does not serialise"),
    };
    text.push(b'\n');
    if let Err(error) = write.write_all(&text).await {
        tracing::debug!(%error, "the caller is gone");
    }
}

/// Reads one line; `None` at the end. A line over the limit is refused before its end.
async fn next_line(read: &mut (impl AsyncBufRead + Unpin), lines: &mut Lines) -> Result<Option<Vec<u8>>, Failure> {
    match lines.read_or_give_up(read).await {
        Ok(Line::Whole(line)) => Ok(Some(line)),
        Ok(Line::TooLong) => {
            Err(Failure::new("request.too-large", format!("a line has more than {MAX_LINE_BYTES} bytes")))
        }
        Ok(Line::End(_)) | Err(_) => Ok(None),
    }
}
