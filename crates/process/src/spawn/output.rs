//! Runs a process to its end and keeps its output, within limits of time and memory.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::builder::Spawn;
use super::capture::Capture;
use super::exit::Exit;
use super::leader::{self, Leader};
use super::thread::thread;
use crate::clock::Deadline;
use crate::orphans::Hold;
use crate::{Error, Result};

/// Poll interval of the stop flag.
const TICK: Duration = Duration::from_millis(20);

/// Maximum time that a pipe may stay open after the group is gone, held by a process that left the group.
const DRAIN_LIMIT: Duration = Duration::from_secs(1);

/// A flag by which another thread ends a running [`Spawn::output`].
#[derive(Debug, Clone, Default)]
pub struct StopFlag(Arc<AtomicBool>);

/// Why a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself, or by a signal that was not ours.
    ByItself,
    /// It exceeded its time limit and was killed.
    TimedOut,
    /// The stop flag was raised and it was killed.
    Stopped,
}

/// Result of a process.
#[derive(Debug, Clone)]
pub struct Output {
    /// Exit of the process.
    pub exit: Exit,
    /// Why it ended.
    pub end: End,
    /// Standard output.
    pub stdout: Capture,
    /// Standard error.
    pub stderr: Capture,
    /// Duration of the run.
    pub took: Duration,
    /// Members of its group that even SIGKILL did not end in time.
    pub survivors: Vec<u32>,
}

type Shared = Arc<Mutex<Capture>>;

// === impl StopFlag ===

impl StopFlag {
    /// Ends every process that was given the flag; it stays raised.
    pub fn raise(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Returns true if the flag was raised.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

// === impl Output ===

impl Output {
    /// Returns true if the process ended by itself, in time, with code 0.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        self.end == End::ByItself && self.exit.is_zero()
    }
}

pub(super) fn run(mut spawn: Spawn) -> Result<Output> {
    let started = Instant::now();
    let mut command = spawn.command()?;
    let (mut leader, streams) = start(&spawn, &mut command)?;
    let (mut child, done) = streams;
    feed(child.stdin.take(), std::mem::take(&mut spawn.input));

    let limit = Deadline::after(spawn.wall);
    let mut end = End::ByItself;
    while !has_ended(&done, limit.left().min(TICK)) {
        if limit.has_passed() {
            end = End::TimedOut;
        } else if spawn.stop.as_ref().is_some_and(StopFlag::is_raised) {
            end = End::Stopped;
        } else {
            continue;
        }
        leader.signal_group(Signal::TERM);
        leader.signal_group(Signal::CONT);
        has_ended(&done, spawn.grace);
        break;
    }
    let exit = leader.finish();
    let survivors = leader.survivors_at_last();
    let (stdout, stderr) = child.collect();
    Ok(Output { exit, end, stdout, stderr, took: started.elapsed(), survivors })
}

/// The streams of a running process, each read to its end by a separate thread.
struct Streams {
    stdin: Option<std::process::ChildStdin>,
    stdout: Shared,
    stderr: Shared,
    closed: Receiver<()>,
}

impl Streams {
    fn collect(self) -> (Capture, Capture) {
        let limit = Deadline::after(DRAIN_LIMIT);
        for _ in 0..2 {
            if self.closed.recv_timeout(limit.left()).is_err() {
                tracing::warn!("a process outside the group holds a pipe open; its output is not waited for");
            }
        }
        let take = |shared: &Shared| shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (take(&self.stdout), take(&self.stderr))
    }
}

fn start(spawn: &Spawn, command: &mut Command) -> Result<(Leader, (Streams, Receiver<()>))> {
    if !spawn.input.is_empty() {
        command.stdin(Stdio::piped());
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = spawn.start(command, Hold::Owned)?;
    let leader = Leader::new(&child);
    let (closed_tx, closed) = channel();
    let read = |stream: Option<Box<dyn Read + Send>>| {
        let shared = Arc::new(Mutex::new(Capture::new(spawn.keep)));
        let (kept, closed) = (Arc::clone(&shared), closed_tx.clone());
        thread("read-output", move || {
            drain(stream, &kept);
            let _ = closed.send(());
        })?;
        Ok::<_, Error>(shared)
    };
    let stdout = read(child.stdout.take().map(|s| Box::new(s) as _))?;
    let stderr = read(child.stderr.take().map(|s| Box::new(s) as _))?;
    let (done_tx, done) = channel();
    let pid = leader.pid();
    thread("wait-exit", move || {
        leader::wait_unreaped(pid);
        let _ = done_tx.send(());
    })?;
    Ok((leader, (Streams { stdin: child.stdin.take(), stdout, stderr, closed }, done)))
}

fn feed(stdin: Option<std::process::ChildStdin>, input: Vec<u8>) {
    let Some(mut stdin) = stdin else { return };
    let fed = thread("write-input", move || {
        if let Err(e) = stdin.write_all(&input) {
            tracing::debug!(error = %e, "a process did not read all of its input");
        }
    });
    if let Err(e) = fed {
        tracing::warn!(error = %e, "a process gets no input");
    }
}

fn drain(stream: Option<Box<dyn Read + Send>>, kept: &Shared) {
    let Some(mut stream) = stream else { return };
    let mut buffer = [0; 8 << 10];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(n) => kept.lock().unwrap_or_else(PoisonError::into_inner).push(&buffer[..n]),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Returns true if the leader has ended: the waiting thread sends once, or ends.
fn has_ended(done: &Receiver<()>, wait: Duration) -> bool {
    match done.recv_timeout(wait) {
        Ok(()) | Err(RecvTimeoutError::Disconnected) => true,
        Err(RecvTimeoutError::Timeout) => false,
    }
}
