//! Simulated shim and its agent: past acts, planned acts, and its answers to the daemon.

use std::collections::VecDeque;

use switchboard_protocol::frame::{FRAME_VERSION, Frame, ShimCommand, WorkerEvent, WorkerSpec};
use switchboard_protocol::time::Millis;
use switchboard_protocol::worker::PauseState;

use crate::port::shims::Shim;

/// Text contained in a bad change.
pub(super) const BAD: &str = "wrong";

/// How long an agent that hangs does so, in milliseconds.
pub(super) const FOR_EVER: i64 = 365 * 24 * 3_600_000;

/// Act of a shim or its agent.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// The shim takes its lock.
    Begin,
    /// The shim writes a frame.
    Say(WorkerEvent),
    /// The agent changes files.
    Write { is_bad: bool },
    /// An agent that judges adds a test, or makes a forbidden change.
    Touch { path: String, is_commit: bool },
    /// The agent says its answer.
    Answer { text: String },
    /// The shim is killed, and leaves its agent behind.
    Vanish,
    /// The shim is frozen: its process exists but does not run any more.
    Freeze,
    /// The shim ends.
    Exit,
}

/// Shim with its agent.
pub(super) struct SimShim {
    pub(super) spec: WorkerSpec,
    pub(super) state: Shim,
    pub(super) journal: Vec<Frame>,
    /// Number of acknowledged frames of the journal.
    pub(super) acked: usize,
    pub(super) epoch: u32,
    /// Number of frames of the journal from earlier incarnations.
    pub(super) begins: usize,
    pub(super) acts: VecDeque<(i64, Act)>,
    pub(super) is_deaf: bool,
    pub(super) is_frozen: bool,
    /// Heartbeat interval while connected, in milliseconds.
    pub(super) beats: Option<i64>,
    pub(super) is_agent_live: bool,
    /// True once it has written its last frame.
    pub(super) is_sealed: bool,
    pub(super) has_leftovers: bool,
    pub(super) turn: u32,
    /// Time since when it is paused.
    pub(super) paused_at: Option<i64>,
    /// True if it is paused so that its tree can be rebased.
    pub(super) is_held: bool,
}

// === impl SimShim ===

impl SimShim {
    /// Returns the time of the next act; `None` while it is paused.
    pub(super) fn due(&self) -> Option<i64> {
        if self.paused_at.is_some() { None } else { self.next_act() }
    }

    /// Returns true if it, its agent, or a process left by them still exists.
    pub(super) fn is_here(&self) -> bool {
        self.state != Shim::Gone || self.is_agent_live || self.has_leftovers
    }

    fn next_act(&self) -> Option<i64> {
        self.acts.front().map(|(at, _)| *at)
    }

    /// Returns true if only the last act remains.
    pub(super) fn is_exiting(&self) -> bool {
        matches!(self.acts.front(), Some((_, Act::Exit)))
    }

    pub(super) fn say(&mut self, now: i64, event: WorkerEvent) {
        match &event {
            WorkerEvent::AgentStarted { .. } => self.is_agent_live = true,
            WorkerEvent::AgentExited { .. } => self.is_agent_live = false,
            WorkerEvent::TurnStarted { turn, .. } => self.turn = *turn,
            WorkerEvent::Sealed { .. } => self.is_sealed = true,
            WorkerEvent::SessionOpened { .. }
            | WorkerEvent::ToolCalled { .. }
            | WorkerEvent::PermissionAsked { .. }
            | WorkerEvent::PermissionSettled { .. }
            | WorkerEvent::PauseChanged { .. }
            | WorkerEvent::CostReported { .. }
            | WorkerEvent::TurnEnded { .. }
            | WorkerEvent::Faulted { .. } => {}
        }
        let seq = (self.journal.len() - self.begins) as u64 + 1;
        let (worker, ts) = (self.spec.worker.clone(), Millis(now));
        self.journal.push(Frame { v: FRAME_VERSION, worker, epoch: self.epoch, seq, ts, event });
    }

    /// Starts a new incarnation, as after a restart of the shim: its frames are numbered anew.
    pub(super) fn reincarnate(&mut self) {
        self.epoch += 1;
        self.begins = self.journal.len();
        self.acked = self.begins;
    }

    fn end_soon(&mut self, now: i64, code: Option<i32>, signal: Option<i32>) {
        self.acts.clear();
        self.paused_at = None;
        if self.is_agent_live {
            self.acts.push_back((now + 5, Act::Say(exited(code, signal))));
        }
        if !self.is_sealed {
            self.acts.push_back((now + 8, Act::Say(sealed())));
        }
        self.acts.push_back((now + 10, Act::Exit));
    }

    /// Handles a command of the daemon.
    pub(super) fn on_command(&mut self, command: &ShimCommand, now: i64) {
        match command {
            ShimCommand::Ack { seq } => {
                let seq = usize::try_from(*seq).unwrap_or(usize::MAX);
                self.acked = self.acked.max(self.begins + seq).min(self.journal.len());
            }
            ShimCommand::Beat { every_ms } => self.beats = i64::try_from(*every_ms).ok(),
            ShimCommand::Stop { .. } if self.is_deaf => {}
            ShimCommand::Stop { .. } => self.end_soon(now, None, Some(15)),
            ShimCommand::Pause { between_tools } => self.pause(now, *between_tools),
            ShimCommand::Resume => self.resume(now),
            ShimCommand::Finish | ShimCommand::Permit { .. } => self.hurry(now),
            ShimCommand::Prompt { mail, .. } => {
                let turn = self.turn + 1;
                self.acts.push_front((now + 30, Act::Say(turn_ended(turn, "end_turn", "that is that"))));
                let started = WorkerEvent::TurnStarted { turn, mail: mail.clone() };
                self.acts.push_front((now + 10, Act::Say(started)));
                self.turn = turn;
                // The planned acts come after that.
                for (at, _) in self.acts.iter_mut().skip(2) {
                    *at = (*at).max(now + 100);
                }
            }
        }
    }

    fn pause(&mut self, now: i64, between_tools: bool) {
        if !self.is_agent_live || (self.paused_at.is_some() && self.is_held == between_tools) {
            return;
        }
        if self.paused_at.is_none() {
            self.say(now, WorkerEvent::PauseChanged { state: PauseState::Pausing });
            self.paused_at = Some(now);
        }
        self.is_held = between_tools;
        let state = if between_tools { PauseState::Held } else { PauseState::Paused };
        self.say(now, WorkerEvent::PauseChanged { state });
    }

    fn resume(&mut self, now: i64) {
        let Some(since) = self.paused_at.take() else { return };
        self.say(now, WorkerEvent::PauseChanged { state: PauseState::Resumed });
        self.acts.iter_mut().for_each(|(at, _)| *at += now - since);
    }

    /// Continues an agent once what it waited for has arrived.
    fn hurry(&mut self, now: i64) {
        let Some(due) = self.next_act() else { return };
        let ahead = (due - now - 5).max(0);
        if ahead < FOR_EVER / 2 {
            for (at, _) in &mut self.acts {
                *at -= ahead;
            }
        }
    }
}

pub(super) fn exited(code: Option<i32>, signal: Option<i32>) -> WorkerEvent {
    WorkerEvent::AgentExited { code, signal, stderr: String::new(), by_us: false }
}

pub(super) fn sealed() -> WorkerEvent {
    WorkerEvent::Sealed { bytes: 1, dropped: 0, digest: "0".repeat(64) }
}

pub(super) fn turn_ended(turn: u32, stop: &str, text: &str) -> WorkerEvent {
    WorkerEvent::TurnEnded { turn, stop: stop.to_owned(), text: text.to_owned() }
}
