//! Numbers events and writes them to the journal before they are reported.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use switchboard_process::clock;
use switchboard_process::journal::{Durability, Journal};
use switchboard_protocol::frame::{FRAME_VERSION, Frame, MAX_FRAME_BYTES, WorkerEvent, WorkerSpec};
use switchboard_protocol::id::WorkerId;
use switchboard_protocol::text::{MAX_NOTE_BYTES, shortened};
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
        let apart = if is_first { text.to_owned() } else { format!("\n\n{text}") };
        // The last turn counts: where there is no room left for it, it takes the place of the earlier ones. Its end is
        // kept as well as its beginning: there an answer stands.
        let starts_over = apart.len() > self.room;
        let kept = if starts_over { shortened(text, ANSWER_KEPT - MAX_NOTE_BYTES).0 } else { apart };
        let at = |source| crate::Error::Io { what: format!("write {}", self.path.display()), source };
        let mut options = OpenOptions::new();
        options.create(true).mode(0o600).write(true).append(!starts_over).truncate(starts_over);
        let mut file = options.open(&self.path).map_err(at)?;
        file.write_all(kept.as_bytes()).and_then(|()| file.sync_data()).map_err(at)?;
        self.room = if starts_over { ANSWER_KEPT } else { self.room } - kept.len();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_answer_is_kept_and_the_last_turn_in_any_case() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(ANSWER);
        let mut answer = Answer { path: path.clone(), room: ANSWER_KEPT };
        let read = || std::fs::read_to_string(&path).unwrap();

        answer.add(&format!("first {}\n```json\n{{}}\n```", "x".repeat(ANSWER_KEPT))).unwrap();
        assert!(read().len() <= ANSWER_KEPT && read().starts_with("first") && read().ends_with("\n```json\n{}\n```"));
        answer.add("second").unwrap();
        assert!(read().ends_with("second"));
        answer.add(&"y".repeat(ANSWER_KEPT)).unwrap();
        assert!(read().len() <= ANSWER_KEPT && !read().contains("second") && read().ends_with("yy"));
    }
}
