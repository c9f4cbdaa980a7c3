//! Numbers what happened and writes it down before anybody hears of it.

use std::path::Path;

use switchboard_process::clock;
use switchboard_process::journal::{Durability, Journal};
use switchboard_protocol::frame::{FRAME_VERSION, Frame, MAX_FRAME_BYTES, WorkerEvent, WorkerSpec};
use switchboard_protocol::id::WorkerId;
use tokio::sync::watch;

use super::files::FRAMES;
use super::redact::Redactor;
use crate::Result;

/// The writing end of the journal.
pub(super) struct Recorder {
    journal: Journal<Frame>,
    worker: WorkerId,
    epoch: u32,
    seq: u64,
    /// Where this incarnation's frames begin.
    begins: u64,
    length: watch::Sender<u64>,
    redactor: Redactor,
}

// === impl Recorder ===

impl Recorder {
    pub(super) fn open(folder: &Path, spec: &WorkerSpec, epoch: u32) -> Result<Self> {
        let journal = Journal::open(&folder.join(FRAMES), MAX_FRAME_BYTES)?;
        let begins = journal.length();
        let (length, _) = watch::channel(begins);
        let redactor = Redactor::new(spec);
        Ok(Self { journal, worker: spec.worker.clone(), epoch, seq: 0, begins, length, redactor })
    }

    /// Writes one frame; what later work depends on is on the disk when this returns.
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

    /// Tells how long the journal is, whenever it grows.
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
        | WorkerEvent::CostReported { .. }
        | WorkerEvent::TurnEnded { .. }
        | WorkerEvent::AgentExited { .. }
        | WorkerEvent::Faulted { .. }
        | WorkerEvent::Sealed { .. } => Durability::Synced,
    }
}
