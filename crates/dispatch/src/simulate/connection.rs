//! Simulated connection of a shim to the present daemon: delayed, interrupted, and with repeated frames.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use switchboard_protocol::frame::{FRAME_VERSION, Frame, ShimCommand};
use switchboard_protocol::id::WorkerId;
use switchboard_protocol::wire::Hello;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};

use super::stage::Stage;
use crate::lock::lock;
use crate::port::shims::Shim;

/// How long a shim that ends waits for the last ack, in milliseconds.
const FLUSH: i64 = 5_000;

/// Interval at which the end of a frozen shim is checked.
const POLL_INTERVAL: Duration = Duration::from_secs(7);

/// Maximum number of bytes in transit.
const PIPE: usize = 64 << 10;

/// Buffer of a reader, in bytes: most lines are shorter.
const READ: usize = 1 << 10;

/// Keeps a shim connected as long as both the present life of the daemon and the shim last.
pub(super) fn keep(stage: &Arc<Stage>, folder: PathBuf) {
    tokio::spawn(connect(Arc::clone(stage), folder));
}

async fn connect(stage: Arc<Stage>, folder: PathBuf) {
    loop {
        let is_there = stage.advance(&folder, true);
        let (state, due) = match lock(&stage.shims).get(&folder) {
            Some(shim) if is_there => (shim.state, shim.due()),
            Some(_) | None => return,
        };
        match (state, due) {
            (Shim::Alive, _) if is_frozen(&stage, &folder) => until_gone(&stage, &folder).await,
            (Shim::Alive, _) => session(&stage, &folder).await,
            (Shim::NotBegun, Some(due)) => sleep_until(&stage, due).await,
            (Shim::NotBegun, None) | (Shim::Gone, _) => return,
        }
        stage.delay(100).await;
    }
}

fn is_frozen(stage: &Stage, folder: &Path) -> bool {
    lock(&stage.shims).get(folder).is_some_and(|shim| shim.is_frozen && shim.state == Shim::Alive)
}

/// Returns when a shim has ended. Polled rather than notified: a seed would not decide the order of several
/// notifications.
async fn until_gone(stage: &Stage, folder: &Path) {
    while lock(&stage.shims).get(folder).is_some_and(|shim| shim.state != Shim::Gone) {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

async fn sleep_until(stage: &Stage, due: i64) {
    let ms = u64::try_from(due - stage.clock.ms()).unwrap_or(0);
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

/// Runs one connection, until it breaks or the shim ends.
async fn session(stage: &Arc<Stage>, folder: &Path) {
    let Some(daemon) = lock(&stage.daemon).clone() else { return std::future::pending().await };
    let hello = {
        let mut shims = lock(&stage.shims);
        let Some(shim) = shims.get_mut(folder) else { return };
        if stage.chance(stage.spec.bad_frames / 4) {
            shim.reincarnate();
        }
        let token = if stage.chance(stage.spec.bad_frames / 4) { "forged".to_owned() } else { shim.spec.token.clone() };
        Hello::Shim { v: FRAME_VERSION, worker: shim.spec.worker.clone(), epoch: shim.epoch, token, beats: true }
    };
    let (ours, theirs) = tokio::io::duplex(PIPE);
    let serving = tokio::spawn(async move {
        let (read, write) = tokio::io::split(theirs);
        // A refusal closes the connection.
        drop(daemon.attach(&hello, BufReader::with_capacity(READ, read), write).await);
    });
    let (read, write) = tokio::io::split(ours);
    let mut session = Session {
        stage,
        folder,
        read: BufReader::with_capacity(READ, read),
        write,
        sent: 0,
        beats: 0,
        beat_at: None,
        exit_at: None,
    };
    session.run().await;
    if stage.chance(500) {
        // The daemon detects the end of the connection itself.
        drop(session);
        drop(serving.await);
    } else {
        serving.abort();
        drop(serving.await);
    }
}

struct Session<'a> {
    stage: &'a Arc<Stage>,
    folder: &'a Path,
    read: BufReader<ReadHalf<DuplexStream>>,
    write: WriteHalf<DuplexStream>,
    /// Number of frames of the journal sent over this connection.
    sent: usize,
    /// Number of heartbeats sent over this connection, and when the next one is due.
    beats: u64,
    beat_at: Option<i64>,
    /// When the shim ends, acked or not.
    exit_at: Option<i64>,
}

// === impl Session ===

impl Session<'_> {
    async fn run(&mut self) {
        if let Some(shim) = lock(&self.stage.shims).get_mut(self.folder) {
            self.sent = shim.acked;
            shim.beats = None;
        }
        let mut line = String::new();
        loop {
            if !self.stage.advance(self.folder, true) || !self.send().await || !self.beat().await {
                return;
            }
            if is_frozen(self.stage, self.folder) {
                return until_gone(self.stage, self.folder).await;
            }
            let Some(wake) = self.wake() else { return };
            tokio::select! {
                biased;
                got = self.read.read_line(&mut line) => {
                    if !matches!(got, Ok(1..)) {
                        return;
                    }
                    self.on_line(&line);
                    line.clear();
                }
                () = sleep_until(self.stage, wake) => {}
            }
            if self.stage.chance(self.stage.spec.bad_frames / 4) {
                return;
            }
        }
    }

    /// Returns when to check again; `None` once the shim has ended.
    fn wake(&mut self) -> Option<i64> {
        let now = self.stage.clock.ms();
        let mut shims = lock(&self.stage.shims);
        let shim = shims.get_mut(self.folder)?;
        let due = shim.due().unwrap_or(i64::MAX);
        if !shim.is_exiting() || due > now {
            return Some(due.min(self.beat_at.unwrap_or(i64::MAX)));
        }
        let exit_at = *self.exit_at.get_or_insert(now + FLUSH);
        if shim.acked == shim.journal.len() || now >= exit_at {
            self.stage.end(shim);
            return None;
        }
        Some(exit_at)
    }

    fn on_line(&self, line: &str) {
        let Ok(command) = serde_json::from_str::<ShimCommand>(line) else { return };
        let now = self.stage.clock.ms();
        if let Some(shim) = lock(&self.stage.shims).get_mut(self.folder) {
            let is_stop = matches!(command, ShimCommand::Stop { .. }) && shim.is_agent_live;
            let worker = &shim.spec.worker;
            let spec = &self.stage.spec;
            let is_kind = spec.people + spec.budgets + spec.bad_workers == 0;
            lock(&self.stage.observer)
                .insist(!(is_stop && is_kind), || format!("{worker} is told to stop though nobody asked for it"));
            shim.on_command(&command, now);
        }
    }

    /// Sends a heartbeat if one is due. Returns true if the connection is still open.
    async fn beat(&mut self) -> bool {
        let now = self.stage.clock.ms();
        let every = lock(&self.stage.shims).get(self.folder).and_then(|shim| shim.beats);
        let Some(every) = every else { return true };
        if self.beat_at.is_some_and(|at| now < at) {
            return true;
        }
        self.beat_at = Some(now + every);
        self.beats += 1;
        let line = format!("{{\"beat\":{}}}\n", self.beats);
        self.write.write_all(line.as_bytes()).await.is_ok()
    }

    /// Sends unsent frames. Sometimes it first sends a frame twice, an old one, garbage, or one of another worker.
    async fn send(&mut self) -> bool {
        let frames: Vec<Frame> = match lock(&self.stage.shims).get(self.folder) {
            Some(shim) => shim.journal.iter().skip(self.sent).cloned().collect(),
            None => return false,
        };
        for frame in frames {
            if self.stage.chance(self.stage.spec.bad_frames) && !self.misbehave(&frame).await {
                return false;
            }
            if !self.put(&frame).await {
                return false;
            }
            self.sent += 1;
        }
        true
    }

    async fn misbehave(&mut self, frame: &Frame) -> bool {
        match self.stage.below(5) {
            0 => self.put(frame).await,
            1 => {
                let old = match lock(&self.stage.shims).get(self.folder) {
                    Some(shim) => shim.journal.first().cloned(),
                    None => None,
                };
                match old {
                    Some(old) => self.put(&old).await,
                    None => true,
                }
            }
            2 => self.write.write_all(b"{\"not\": \"a frame\"}\n").await.is_ok(),
            3 => self.put(&Frame { worker: WorkerId::from_bits(1), ..frame.clone() }).await,
            _ => {
                self.stage.delay(5_000).await;
                true
            }
        }
    }

    async fn put(&mut self, frame: &Frame) -> bool {
        let Ok(mut text) = serde_json::to_vec(frame) else { return false };
        text.push(b'\n');
        self.write.write_all(&text).await.is_ok()
    }
}
