//! Numbers events and writes them to the journal before they are reported.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use switchboard_process::clock;
use switchboard_process::journal::{Durability, Journal};
use switchboard_protocol::frame::{FRAME_VERSION, Frame, MAX_FRAME_BYTES, WorkerEvent, WorkerSpec};
use switchboard_protocol::id::WorkerId;
use tokio::sync::watch;

use super::files::{ANSWER, FRAMES};
use super::redact::{RawRedactor, Redactor};
use crate::Result;
use crate::driver::ANSWER_KEPT;

/// Bytes of a turn's text that the record keeps.
const MAX_TEXT_BYTES: usize = 2 << 10;

/// File with the agent's answers.
struct Answer {
    path: PathBuf,
    /// Remaining size of the file in bytes.
    room: usize,
}

// === impl Answer ===

impl Answer {
    fn add(&mut self, text: &str) -> Result<()> {
        let is_first = self.room == ANSWER_KEPT;
        if text.is_empty() && !is_first {
            return Ok(());
        }
        let text = if is_first { text.to_owned() } else { format!("\n\n{text}") };
        let text = crate::beginning(&text, self.room);
        let at = |source| crate::Error::Io { what: format!("write {}", self.path.display()), source };
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path).map_err(at)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_data()).map_err(at)?;
        self.room -= text.len();
        Ok(())
    }
}

/// Writer of the journal.
pub(super) struct Recorder {
    journal: Journal<Frame>,
    worker: WorkerId,
    epoch: u32,
    seq: u64,
    /// Position at which this incarnation's frames begin.
    begins: u64,
    length: watch::Sender<u64>,
    redactor: Redactor,
    answer: Answer,
}

// === impl Recorder ===

impl Recorder {
    pub(super) fn open(folder: &Path, spec: &WorkerSpec, epoch: u32) -> Result<Self> {
        let journal = Journal::open(&folder.join(FRAMES), MAX_FRAME_BYTES)?;
        let begins = journal.length();
        let (length, _) = watch::channel(begins);
        let redactor = Redactor::new(spec);
        let path = folder.join(ANSWER);
        // The shim of a killed predecessor finds the agent's earlier answers.
        let said = std::fs::metadata(&path).map_or(0, |file| usize::try_from(file.len()).unwrap_or(usize::MAX));
        let answer = Answer { path, room: ANSWER_KEPT.saturating_sub(said) };
        Ok(Self { journal, worker: spec.worker.clone(), epoch, seq: 0, begins, length, redactor, answer })
    }

    /// Returns a filter that removes the worker's known secrets from raw output.
    pub(super) fn raw(&self) -> Result<RawRedactor> {
        self.redactor.raw()
    }

    /// Appends the text of a turn to the agent's answers, before the end of the turn is reported; returns the part for the record.
    pub(super) fn answer(&mut self, text: &str) -> Result<String> {
        let text = self.redactor.text(text.to_owned());
        self.answer.add(&text)?;
        Ok(crate::ending(&text, MAX_TEXT_BYTES).to_owned())
    }

    /// Writes one frame; frames on which later work depends are durable when this returns.
    pub(super) fn record(&mut self, event: WorkerEvent) -> Result<()> {
        let durability = durability(&event);
        let event = self.redactor.clean(event);
        self.seq += 1;
        let frame = Frame {
            v: FRAME_VERSION,
            worker: self.worker.clone(),
            epoch: self.epoch,
            seq: self.seq,
            ts: clock::now(),
            event,
        };
        self.journal.append(&frame, durability)?;
        self.length.send_replace(self.journal.length());
        Ok(())
    }

    pub(super) fn last(&self) -> u64 {
        self.seq
    }

    pub(super) fn epoch(&self) -> u32 {
        self.epoch
    }

    pub(super) fn begins(&self) -> u64 {
        self.begins
    }

    /// Returns a receiver of the journal's length, which is updated whenever it grows.
    pub(super) fn length(&self) -> watch::Receiver<u64> {
        self.length.subscribe()
    }
}

fn durability(event: &WorkerEvent) -> Durability {
    match event {
        WorkerEvent::SessionOpened { .. } | WorkerEvent::ToolCalled { .. } => Durability::Written,
        WorkerEvent::AgentStarted { .. }
        | WorkerEvent::TurnStarted { .. }
        | WorkerEvent::PermissionAsked { .. }
        | WorkerEvent::PermissionSettled { .. }
        | WorkerEvent::PauseChanged { .. }
        | WorkerEvent::CostReported { .. }
        | WorkerEvent::TurnEnded { .. }
        | WorkerEvent::AgentExited { .. }
        | WorkerEvent::Faulted { .. }
        | WorkerEvent::Sealed { .. } => Durability::Synced,
    }
}
