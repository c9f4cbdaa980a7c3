//! Runs a process to its end and keeps its output, within limits of time and memory.

use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, ioctl_fionbio, read};
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

/// Maximum number of bytes that are read at once.
const BUFFER: usize = 8 << 10;

/// Maximum number of bytes that a pipe holds unread: the largest size to which an unprivileged process of Linux can set one.
const MAX_UNREAD: usize = 1 << 20;

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

/// One output stream of a process. It is only read under the lock, so who has the lock knows all that was read.
#[derive(Clone)]
struct Stream {
    pipe: Arc<OwnedFd>,
    kept: Arc<Mutex<Capture>>,
}

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

// === impl Stream ===

impl Stream {
    fn new(pipe: OwnedFd, keep: usize) -> Result<Self> {
        // Applies to our end only: the process has the other one.
        ioctl_fionbio(&pipe, true).map_err(|error| Error::io("a pipe")(error.into()))?;
        Ok(Self { pipe: Arc::new(pipe), kept: Arc::new(Mutex::new(Capture::new(keep))) })
    }

    /// Reads to the end of the stream.
    fn drain(&self) {
        loop {
            match poll(&mut [PollFd::new(&self.pipe, PollFlags::IN)], None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            match self.read_into(&mut lock(&self.kept)) {
                Ok(0) => return,
                Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return,
            }
        }
    }

    /// Returns all that was written so far, also if the reading thread is behind, as on a busy machine.
    fn written(&self) -> Capture {
        let mut kept = lock(&self.kept);
        let mut unread = 0;
        while unread < MAX_UNREAD {
            match self.read_into(&mut kept) {
                Ok(count) if count > 0 => unread += count,
                Err(Errno::INTR) => {}
                Ok(_) | Err(_) => break,
            }
        }
        kept.clone()
    }

    /// Reads what is there, up to [`BUFFER`] bytes; returns 0 at the end of the stream.
    fn read_into(&self, kept: &mut Capture) -> std::result::Result<usize, Errno> {
        let mut buffer = [0; BUFFER];
        let count = read(self.pipe.as_fd(), &mut buffer)?;
        kept.push(&buffer[..count]);
        Ok(count)
    }
}

fn lock(kept: &Mutex<Capture>) -> MutexGuard<'_, Capture> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The streams of a running process, each read to its end by a separate thread.
struct Streams {
    stdin: Option<std::process::ChildStdin>,
    stdout: Stream,
    stderr: Stream,
    closed: Receiver<()>,
}

impl Streams {
    fn collect(self) -> (Capture, Capture) {
        let limit = Deadline::after(DRAIN_LIMIT);
        for _ in 0..2 {
            if self.closed.recv_timeout(limit.left()).is_err() {
                tracing::warn!(
                    "a pipe was not read to its end: a process outside the group may hold it open, and what it still writes is not waited for"
                );
            }
        }
        (self.stdout.written(), self.stderr.written())
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
    let read = |pipe: Option<OwnedFd>| {
        let pipe = pipe.ok_or_else(|| Error::io("a pipe")(std::io::Error::other("it was not made")))?;
        let stream = Stream::new(pipe, spawn.keep)?;
        let (reader, closed) = (stream.clone(), closed_tx.clone());
        thread("read-output", move || {
            reader.drain();
            let _ = closed.send(());
        })?;
        Ok::<_, Error>(stream)
    };
    let stdout = read(child.stdout.take().map(OwnedFd::from))?;
    let stderr = read(child.stderr.take().map(OwnedFd::from))?;
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

/// Returns true if the leader has ended: the waiting thread sends once, or ends.
fn has_ended(done: &Receiver<()>, wait: Duration) -> bool {
    match done.recv_timeout(wait) {
        Ok(()) | Err(RecvTimeoutError::Disconnected) => true,
        Err(RecvTimeoutError::Timeout) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn pipe() -> (Stream, std::io::PipeWriter) {
        let (reader, writer) = std::io::pipe().unwrap();
        (Stream::new(reader.into(), 1 << 20).unwrap(), writer)
    }

    #[test]
    fn what_is_unread_in_a_pipe_that_somebody_holds_open_belongs_to_the_output() {
        let (stream, mut writer) = pipe();
        writer.write_all(&vec![b'x'; 3 * BUFFER + 1]).unwrap();

        assert_eq!(stream.written().total(), 3 * BUFFER as u64 + 1, "no thread has read any of it");

        writer.write_all(b"more").unwrap();
        assert_eq!(stream.written().ending(5), "xmore");
        drop(writer);
        assert_eq!(stream.written().ending(5), "xmore");
    }

    #[test]
    fn a_stream_is_read_to_its_end_while_another_looks_at_it() {
        let (stream, mut writer) = pipe();
        let reader = stream.clone();
        let reading = std::thread::spawn(move || reader.drain());
        for count in 1..=50 {
            writer.write_all(&[b'y'; 1000]).unwrap();
            assert_eq!(stream.written().total(), count * 1000, "all that was written before is there");
            std::thread::sleep(Duration::from_millis(1));
        }

        drop(writer);
        reading.join().unwrap();
        assert_eq!(stream.written().whole(), Some(vec![b'y'; 50_000]));
    }
}
