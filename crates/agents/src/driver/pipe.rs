//! An agent's process with its three streams: two tasks read, one writes; all end with the process.

use std::time::Duration;

use switchboard_process::clock::Deadline;
use switchboard_process::fingerprint::Fingerprint;
use switchboard_process::spawn::{Capture, Child, Signal, Spawn, Terminated};
use switchboard_process::task;
use switchboard_protocol::text::unstyled;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::proxy;
use super::start::Start;
use crate::{Error, Result};

/// Maximum number of bytes per read.
const CHUNK: usize = 64 << 10;

/// Maximum number of unread chunks; beyond it the reader waits, and so does the agent.
const WAITING: usize = 32;

/// Maximum number of messages that wait to be written.
const OUTGOING: usize = 256;

/// Maximum pause in the output, and maximum total wait for it, after the process has ended: a process that left its group may hold it open.
const DRAIN: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(2));

/// Bytes of standard error that are kept for the exit report, and bytes that the report includes.
const STDERR_KEPT: usize = 4 << 10;
const STDERR_TOLD: usize = 2 << 10;

/// Source stream of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// Event of a pipe.
#[derive(Debug)]
pub(super) enum PipeEvent {
    Bytes(Stream, Vec<u8>),
    /// The message with this number has been written completely.
    Written(u64),
    Exited,
}

#[derive(Debug)]
pub(super) struct Pipe {
    child: Child,
    heard: mpsc::Receiver<PipeEvent>,
    outgoing: Option<mpsc::Sender<(u64, Vec<u8>)>>,
    stderr: Capture,
    /// Set when the process has ended: later output is not waited for.
    drained_by: Option<Deadline>,
    /// The owner's end of the tasks, which stop when it is dropped.
    _tasks: JoinSet<()>,
}

// === impl Pipe ===

impl Pipe {
    pub(super) fn start(start: &Start) -> Result<Self> {
        let mut spawn =
            Spawn::new(start.argv.iter().cloned()).cwd(&start.cwd).env_only(start.env.clone()).ends_with_us();
        if let Some(sandbox) = &start.sandbox {
            spawn = spawn.sandbox(sandbox.clone());
        }
        let mut taker = None;
        if !start.hosts.is_empty() {
            let (with_listener, its_taker) = spawn.listener_inside()?;
            (spawn, taker) = (with_listener, Some(its_taker));
        }
        let mut child = spawn.piped()?;
        let (sender, heard) = mpsc::channel(WAITING);
        let (outgoing, messages) = mpsc::channel(OUTGOING);
        let mut tasks = JoinSet::new();
        if let Some(taker) = taker {
            let listener = taker.take().map_err(Error::io("take the listener of a constrained agent"))?;
            let hosts = start.hosts.clone();
            tasks.spawn(task::boxed(async move {
                if let Err(error) = proxy::serve(listener, hosts).await {
                    tracing::error!(%error, "a constrained agent reaches no host any more");
                }
            }));
        }
        if let Some(stdout) = child.stdout.take() {
            tasks.spawn(task::boxed(read(Stream::Out, stdout, sender.clone())));
        }
        if let Some(stderr) = child.stderr.take() {
            tasks.spawn(task::boxed(read(Stream::Err, stderr, sender.clone())));
        }
        if let Some(stdin) = child.stdin.take() {
            tasks.spawn(task::boxed(write(stdin, messages, sender)));
        }
        let stderr = Capture::new(STDERR_KEPT);
        Ok(Self { child, heard, outgoing: Some(outgoing), stderr, drained_by: None, _tasks: tasks })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.pid()
    }

    pub(super) fn fingerprint(&self) -> Option<Fingerprint> {
        self.child.fingerprint()
    }

    /// Queues a message; returns false if the queue is full because the agent does not read, or if its input is closed.
    pub(super) fn send(&self, number: u64, message: Vec<u8>) -> bool {
        self.outgoing.as_ref().is_some_and(|outgoing| outgoing.try_send((number, message)).is_ok())
    }

    /// Closes the agent's standard input, once everything queued is written.
    pub(super) fn close(&mut self) {
        self.outgoing = None;
    }

    /// Waits for the next event. Safe to drop half-way.
    pub(super) async fn next_event(&mut self) -> PipeEvent {
        let limit = match self.drained_by {
            Some(limit) => limit,
            None => {
                tokio::select! {
                    biased;
                    heard = self.heard.recv() => if let Some(heard) = heard { return self.note(heard) },
                    () = self.child.ended() => {}
                }
                self.child.ended().await;
                self.child.signal(Signal::KILL);
                self.close();
                *self.drained_by.insert(Deadline::after(DRAIN.1))
            }
        };
        match tokio::time::timeout(DRAIN.0.min(limit.left()), self.heard.recv()).await {
            Ok(Some(heard)) => self.note(heard),
            Ok(None) | Err(_) => PipeEvent::Exited,
        }
    }

    pub(super) async fn end(&mut self, grace: Duration) -> Terminated {
        self.child.terminate(grace).await
    }

    pub(super) async fn finish(&mut self) -> (Terminated, String) {
        (self.child.wait().await, self.stderr())
    }

    /// Returns the end of standard error without colours, at most 2 KiB.
    pub(super) fn stderr(&self) -> String {
        let kept = self.stderr.ending(STDERR_KEPT);
        // The kept end may begin in the middle of an escape sequence, so the partial first line is dropped.
        let whole = match kept.split_once('\n') {
            Some((_, rest)) if self.stderr.dropped() > 0 && !rest.is_empty() => rest,
            Some(_) | None => kept.as_str(),
        };
        crate::ending(&unstyled(whole), STDERR_TOLD).to_owned()
    }

    fn note(&mut self, heard: PipeEvent) -> PipeEvent {
        if let PipeEvent::Bytes(Stream::Err, bytes) = &heard {
            self.stderr.push(bytes);
        }
        heard
    }
}

/// Reads until the stream ends or the receiver is gone.
async fn read(stream: Stream, mut from: impl AsyncRead + Unpin, to: mpsc::Sender<PipeEvent>) {
    let mut buffer = vec![0; CHUNK];
    while let Ok(n @ 1..) = from.read(&mut buffer).await {
        if to.send(PipeEvent::Bytes(stream, buffer[..n].to_vec())).await.is_err() {
            return;
        }
    }
}

/// Writes until the input is closed, by us or by the agent.
async fn write(
    mut into: impl tokio::io::AsyncWrite + Unpin,
    mut messages: mpsc::Receiver<(u64, Vec<u8>)>,
    to: mpsc::Sender<PipeEvent>,
) {
    while let Some((number, message)) = messages.recv().await {
        let written = async {
            into.write_all(&message).await?;
            into.flush().await
        };
        if let Err(error) = written.await {
            tracing::debug!(%error, "the agent reads no more");
            return;
        }
        if to.send(PipeEvent::Written(number)).await.is_err() {
            return;
        }
    }
}
