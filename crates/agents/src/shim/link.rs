//! The connection to the daemon: one task connects repeatedly, sends unacked frames from the journal, and receives commands.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use switchboard_process::lines::Lines;
use switchboard_process::task;
use switchboard_protocol::frame::{Beat, FRAME_VERSION, MAX_FRAME_BYTES, ShimCommand, WorkerSpec};
use switchboard_protocol::wire::{Hello, MAX_LINE_BYTES};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::files::FRAMES;
use super::recorder::Recorder;
use crate::{Error, Result};

/// Maximum number of orders that wait for the worker's loop.
const ORDERS: usize = 64;

/// Maximum number of frames in transit without an ack.
const WINDOW: usize = 256;

/// Maximum number of bytes read from the journal at once; more than the longest frame, so that one always fits.
const PIECE: usize = MAX_FRAME_BYTES + (64 << 10);

/// Pause between attempts to connect: minimum and maximum.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// How long a write to the daemon may take before the connection counts as dead.
const WRITE: Duration = Duration::from_secs(30);

/// Time after which a silent connection counts as a daemon: one that refuses the shim closes the connection sooner.
const ACCEPTED_AFTER: Duration = Duration::from_secs(2);

/// Minimum pause between two beats, whatever the daemon asks for.
const FASTEST: Duration = Duration::from_millis(50);

/// How long the shim waits for the last ack before it ends.
const FLUSH: Duration = Duration::from_secs(5);

/// How long the shim waits for a connection before it ends, if there is none.
const FLUSH_ALONE: Duration = Duration::from_secs(1);

/// An input of the worker's loop from outside.
#[derive(Debug)]
pub(super) enum Order {
    /// A daemon is connected.
    Connected,
    /// The daemon is no longer connected.
    Lost,
    /// The daemon has sent a command.
    Command(ShimCommand),
}

/// The owner's end of the task, which stops when it is dropped.
pub(super) struct Link {
    task: JoinHandle<()>,
    acked: watch::Receiver<u64>,
    connected: watch::Receiver<bool>,
}

struct Sender {
    socket: PathBuf,
    hello: Vec<u8>,
    journal: PathBuf,
    /// Position in the journal before which everything is acked.
    acked_to: u64,
    /// Number of the first frame after that position.
    first: u64,
    length: watch::Receiver<u64>,
    acked: watch::Sender<u64>,
    connected: watch::Sender<bool>,
    orders: mpsc::Sender<Order>,
}

/// Frames in transit over one connection: number and end of each frame.
struct Window {
    sent_to: u64,
    next: u64,
    open: VecDeque<(u64, u64)>,
}

/// Heartbeats of one connection, once the daemon has asked for them.
#[derive(Default)]
struct Pulse {
    every: Option<Duration>,
    /// Time at which the next beat is due.
    due: Option<Instant>,
    count: u64,
}

/// Starts the task.
pub(super) fn start(folder: &Path, spec: &WorkerSpec, recorder: &Recorder) -> Result<(Link, mpsc::Receiver<Order>)> {
    let hello = Hello::Shim {
        v: FRAME_VERSION,
        worker: spec.worker.clone(),
        epoch: recorder.epoch(),
        token: spec.token.clone(),
        beats: true,
    };
    let mut hello = serde_json::to_vec(&hello).map_err(|e| Error::io("write a hello")(e.into()))?;
    hello.push(b'\n');
    let (orders, receiver) = mpsc::channel(ORDERS);
    let (acked, acked_receiver) = watch::channel(0);
    let (connected, connected_receiver) = watch::channel(false);
    let sender = Sender {
        socket: PathBuf::from(&spec.socket),
        hello,
        journal: folder.join(FRAMES),
        acked_to: recorder.begins(),
        first: 1,
        length: recorder.length(),
        acked,
        connected,
        orders,
    };
    let task = task::spawn(sender.run());
    Ok((Link { task, acked: acked_receiver, connected: connected_receiver }, receiver))
}

// === impl Link ===

impl Link {
    /// Waits briefly until the daemon has acked the last frame. Unacked frames stay on disk for a later daemon.
    pub(super) async fn flush(mut self, last: u64) {
        // The guard that the wait returns is dropped at once, because the sender's task writes the value that it guards.
        let is_there = matches!(timeout(FLUSH_ALONE, self.connected.wait_for(|is| *is)).await, Ok(Ok(_)));
        if is_there {
            // Without the ack nothing is lost: the frames are on disk.
            let _ = timeout(FLUSH, self.acked.wait_for(|acked| *acked >= last)).await;
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

// === impl Sender ===

impl Sender {
    async fn run(mut self) {
        let mut pause = PAUSE.0;
        loop {
            match UnixStream::connect(&self.socket).await {
                Ok(stream) => {
                    let was_trusted = self.serve(stream).await;
                    if self.connected.send_replace(false) && self.orders.send(Order::Lost).await.is_err() {
                        return;
                    }
                    pause = if was_trusted { PAUSE.0 } else { (pause * 2).min(PAUSE.1) };
                }
                Err(_) => pause = (pause * 2).min(PAUSE.1),
            }
            sleep(pause).await;
        }
    }

    /// Serves one connection to its end. Returns true if it was a daemon's.
    async fn serve(&mut self, stream: UnixStream) -> bool {
        let (mut read, mut write) = stream.into_split();
        if !put(&mut write, &self.hello).await {
            return false;
        }
        let mut window = Window { sent_to: self.acked_to, next: self.first, open: VecDeque::new() };
        let mut lines = Lines::new(MAX_LINE_BYTES);
        let mut buffer = vec![0; 16 << 10];
        let trusted_at = Instant::now() + ACCEPTED_AFTER;
        let mut pulse = Pulse::default();
        loop {
            let is_trusted = *self.connected.borrow();
            let length = *self.length.borrow_and_update();
            if window.has_room() && window.sent_to < length {
                if !self.send(&mut window, length, &mut write).await {
                    return is_trusted;
                }
                pulse.rest();
                continue;
            }
            tokio::select! {
                got = read.read(&mut buffer) => {
                    let Ok(n @ 1..) = got else { return is_trusted };
                    if !self.hear(&mut window, &mut pulse, lines.push_all(&buffer[..n])).await || lines.skipped() > 0 {
                        return is_trusted;
                    }
                }
                changed = self.length.changed() => if changed.is_err() {
                    return is_trusted;
                },
                () = pulse.is_due() => if !put(&mut write, &pulse.beat()).await {
                    return is_trusted;
                },
                () = sleep_until(trusted_at), if !is_trusted => if !self.trust().await {
                    return true;
                },
            }
        }
    }

    /// Sends the next frames as they are in the journal.
    async fn send(&self, window: &mut Window, length: u64, write: &mut OwnedWriteHalf) -> bool {
        let piece = match read_piece(&self.journal, window.sent_to, length) {
            Ok(piece) => piece,
            Err(error) => {
                tracing::error!(%error, "the journal can't be read back");
                return false;
            }
        };
        let frames = window.take(&piece);
        !frames.is_empty() && put(write, frames).await
    }

    async fn hear(&mut self, window: &mut Window, pulse: &mut Pulse, lines: Vec<Vec<u8>>) -> bool {
        for line in lines {
            let Ok(command) = serde_json::from_slice::<ShimCommand>(&line) else {
                tracing::warn!("a line of the daemon is no command; it is skipped");
                continue;
            };
            if !self.trust().await {
                return false;
            }
            match command {
                ShimCommand::Ack { seq } => self.acked(window, seq),
                ShimCommand::Beat { every_ms } => pulse.ask(Duration::from_millis(every_ms)),
                command @ (ShimCommand::Prompt { .. }
                | ShimCommand::Permit { .. }
                | ShimCommand::Finish
                | ShimCommand::Pause { .. }
                | ShimCommand::Resume
                | ShimCommand::Stop { .. }) => {
                    if self.orders.send(Order::Command(command)).await.is_err() {
                        return false;
                    }
                }
            }
        }
        true
    }

    async fn trust(&self) -> bool {
        self.connected.send_replace(true) || self.orders.send(Order::Connected).await.is_ok()
    }

    fn acked(&mut self, window: &mut Window, seq: u64) {
        while let Some((number, end)) = window.open.front().copied().filter(|(number, _)| *number <= seq) {
            window.open.pop_front();
            self.acked_to = end;
            self.first = number + 1;
            self.acked.send_replace(number);
        }
    }
}

// === impl Pulse ===

impl Pulse {
    /// Sets the interval; the next beat is due at once.
    fn ask(&mut self, every: Duration) {
        self.every = Some(every.max(FASTEST));
        self.due = Some(Instant::now());
    }

    /// Postpones the next beat, because other output has shown that the shim is alive.
    fn rest(&mut self) {
        self.due = self.every.map(|every| Instant::now() + every);
    }

    async fn is_due(&self) {
        match self.due {
            Some(due) => sleep_until(due).await,
            None => std::future::pending().await,
        }
    }

    fn beat(&mut self) -> Vec<u8> {
        self.count += 1;
        self.rest();
        let mut line = serde_json::to_vec(&Beat { beat: self.count }).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

// === impl Window ===

impl Window {
    fn has_room(&self) -> bool {
        self.open.len() < WINDOW
    }

    /// Adds the whole frames at the beginning of `piece` to the window, as many as fit, and returns their bytes.
    fn take<'a>(&mut self, piece: &'a [u8]) -> &'a [u8] {
        let mut used = 0;
        for line in piece.split_inclusive(|b| *b == b'\n') {
            if !line.ends_with(b"\n") || !self.has_room() {
                break;
            }
            used += line.len();
            self.sent_to += line.len() as u64;
            self.open.push_back((self.next, self.sent_to));
            self.next += 1;
        }
        &piece[..used]
    }
}

fn read_piece(path: &Path, from: u64, to: u64) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut piece = Vec::new();
    file.take((to - from).min(PIECE as u64)).read_to_end(&mut piece)?;
    Ok(piece)
}

async fn put(write: &mut OwnedWriteHalf, bytes: &[u8]) -> bool {
    matches!(timeout(WRITE, write.write_all(bytes)).await, Ok(Ok(())))
}
