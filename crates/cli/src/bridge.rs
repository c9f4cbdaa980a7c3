//! `switchboard mcp`: carries MCP lines between standard input and output and the daemon's socket.
//!
//! It forwards bytes. It keeps only what a new daemon must be sent again: the handshake, and the unanswered lines
//! with the client's ids.

mod memory;
mod pump;

#[cfg(test)]
mod tests;

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use switchboard_protocol::error::Failure;

use memory::Memory;
use pump::Event;

/// How long a lost daemon is looked for before pending requests are answered with an error.
const RECONNECT_LIMIT: Duration = Duration::from_secs(60);

/// Pause between two attempts to reach the daemon.
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);

/// How long to wait for the last answers after the client has closed its end.
const DRAIN_LIMIT: Duration = Duration::from_secs(10);

/// How long a write to the daemon may take before the daemon counts as lost.
const WRITE_LIMIT: Duration = Duration::from_secs(60);

/// Maximum number of events queued between the threads.
const QUEUE: usize = 256;

/// Carries lines until the client is gone. `connect` opens a connection that has sent [`switchboard_protocol::wire::Hello::Mcp`].
///
/// # Errors
/// The reason why the daemon could not be reached; all pending requests have then been answered with it.
pub(crate) fn carry<W: Write>(
    input: impl Read + Send + 'static,
    output: W,
    connect: impl FnMut() -> Result<UnixStream, Failure>,
) -> Result<(), Failure> {
    let (sender, events) = sync_channel(QUEUE);
    pump::read_input(input, sender.clone());
    let mut bridge = Bridge { output, connect, events, sender, memory: Memory::default(), link: None, generation: 0 };
    bridge.run()
}

struct Bridge<W, C> {
    output: W,
    connect: C,
    events: Receiver<Event>,
    sender: SyncSender<Event>,
    memory: Memory,
    link: Option<UnixStream>,
    generation: u64,
}

/// What the bridge does after an event.
enum Next {
    GoOn,
    InputEnded,
    ClientGone,
}

// === impl Bridge ===

impl<W: Write, C: FnMut() -> Result<UnixStream, Failure>> Bridge<W, C> {
    fn run(&mut self) -> Result<(), Failure> {
        self.link_up()?;
        while let Ok(event) = self.events.recv() {
            match self.step(event)? {
                Next::GoOn => {}
                Next::InputEnded => return self.drain(),
                Next::ClientGone => break,
            }
        }
        Ok(())
    }

    fn step(&mut self, event: Event) -> Result<Next, Failure> {
        match event {
            Event::Input(line) => self.take_input(&line),
            Event::InputTooLong => Ok(self.answer(&memory::too_long())),
            Event::InputEnd => Ok(Next::InputEnded),
            Event::Output(generation, line) if generation == self.generation => {
                if let Some(failure) = memory::refusal(&line) {
                    return self.give_up(failure);
                }
                Ok(if self.memory.hear_answer(&line) { self.answer(&line) } else { Next::GoOn })
            }
            Event::Lost(generation) if generation == self.generation => {
                self.link = None;
                self.link_up().map(|()| Next::GoOn)
            }
            Event::Output(..) | Event::Lost(_) => Ok(Next::GoOn),
        }
    }

    fn take_input(&mut self, line: &[u8]) -> Result<Next, Failure> {
        if let Some(refusal) = self.memory.hear_client(line) {
            return Ok(self.answer(&refusal));
        }
        if self.send(line).is_err() {
            self.link = None;
            self.link_up()?;
        }
        Ok(Next::GoOn)
    }

    /// Waits for pending answers after the client has closed its input.
    fn drain(&mut self) -> Result<(), Failure> {
        let deadline = Instant::now() + DRAIN_LIMIT;
        while self.memory.has_waiting() {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left) {
                Ok(event) => {
                    if matches!(self.step(event)?, Next::ClientGone) {
                        break;
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(())
    }

    /// Connects, replays the handshake and the pending requests, and starts reading.
    fn link_up(&mut self) -> Result<(), Failure> {
        let deadline = Instant::now() + RECONNECT_LIMIT;
        loop {
            match self.try_link() {
                Ok(()) => return Ok(()),
                Err(failure) if !is_passing(&failure) || Instant::now() >= deadline => return self.give_up(failure),
                Err(_) => std::thread::sleep(RECONNECT_PAUSE),
            }
        }
    }

    /// Answers all pending requests with the failure, and returns it.
    fn give_up<T>(&mut self, failure: Failure) -> Result<T, Failure> {
        for line in self.memory.refuse_all(&failure) {
            self.answer(&line);
        }
        Err(failure)
    }

    fn try_link(&mut self) -> Result<(), Failure> {
        let stream = (self.connect)()?;
        let broke = |error: io::Error| Failure::new("daemon.unreachable", "the daemon hung up").because(&error);
        stream.set_write_timeout(Some(WRITE_LIMIT)).map_err(broke)?;
        self.generation += 1;
        pump::read_daemon(stream.try_clone().map_err(broke)?, self.generation, self.sender.clone());
        self.link = Some(stream);
        for line in self.memory.replay() {
            self.send(&line).map_err(broke)?;
        }
        Ok(())
    }

    fn send(&mut self, line: &[u8]) -> io::Result<()> {
        let Some(link) = &mut self.link else { return Err(io::ErrorKind::NotConnected.into()) };
        let mut bytes = Vec::with_capacity(line.len() + 1);
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
        link.write_all(&bytes)
    }

    fn answer(&mut self, line: &[u8]) -> Next {
        let mut bytes = line.to_vec();
        bytes.push(b'\n');
        match self.output.write_all(&bytes).and_then(|()| self.output.flush()) {
            Ok(()) => Next::GoOn,
            Err(_) => Next::ClientGone,
        }
    }
}

/// Returns true if trying again may help: a daemon may come back, but a folder that is no repository stays one.
fn is_passing(failure: &Failure) -> bool {
    matches!(failure.code.as_str(), "daemon.not-running" | "daemon.unreachable")
}
