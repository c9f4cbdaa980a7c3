//! The soft limit: between two tool calls the turn is cancelled, and the next prompt asks the agent to finish.

use std::time::Duration;

use switchboard_protocol::frame::WrapUp;
use tokio::time::Instant;

use super::{Prompt, State, Worker, later};
use crate::driver::Driver;

/// State of the request to finish.
#[derive(Debug)]
pub(super) enum WrappingUp {
    /// The agent has been asked, or never will be.
    Done,
    /// The agent is asked at this time.
    Due { at: Instant, notice: String },
    /// The turn is being cancelled for the request.
    Interrupting { notice: String },
}

// === impl WrappingUp ===

impl WrappingUp {
    pub(super) fn new(wanted: Option<WrapUp>, now: Instant) -> Self {
        match wanted {
            Some(WrapUp { after_ms, notice }) => Self::Due { at: later(now, after_ms), notice },
            None => Self::Done,
        }
    }

    /// Returns the time of the request; `None` once it has begun.
    pub(super) const fn due(&self) -> Option<Instant> {
        match self {
            Self::Due { at, .. } => Some(*at),
            Self::Done | Self::Interrupting { .. } => None,
        }
    }

    /// Postpones the request.
    pub(super) fn put_off(&mut self, by: Duration) {
        if let Self::Due { at, .. } = self {
            *at += by;
        }
    }

    /// Returns the notice for a prompt that is sent between two turns after the limit has passed.
    pub(super) fn between_turns(&mut self, now: Instant) -> Option<String> {
        if self.due().is_none_or(|at| now < at) {
            return None;
        }
        match std::mem::replace(self, Self::Done) {
            Self::Due { notice, .. } | Self::Interrupting { notice } => Some(notice),
            Self::Done => None,
        }
    }
}

// === impl Worker ===

impl Worker {
    /// Returns true if the turn can be cancelled without leaving a tool call or a question half done.
    pub(super) fn may_interrupt(&self) -> bool {
        let is_free = self.tools.is_empty() && self.asks.is_empty();
        self.state == State::Turn && is_free && self.ending.is_none() && !self.pause.is_asked()
    }

    /// Cancels the agent's turn when the request is due. A driver without further turns, as a command's, is left alone.
    pub(super) fn interrupt_to_wrap_up<D: Driver>(&mut self, driver: &mut D) {
        let is_due = self.wrap_up.due().is_some_and(|at| Instant::now() >= at);
        if !is_due || !self.may_interrupt() {
            return;
        }
        self.wrap_up = match std::mem::replace(&mut self.wrap_up, WrappingUp::Done) {
            WrappingUp::Due { notice, .. } if D::TAKES_PROMPTS => {
                driver.cancel();
                WrappingUp::Interrupting { notice }
            }
            WrappingUp::Due { .. } | WrappingUp::Done | WrappingUp::Interrupting { .. } => WrappingUp::Done,
        };
    }

    /// Returns the next turn's prompt, if the turn was cancelled for the request. An agent that finished meanwhile need not be asked.
    pub(super) fn notice_after(&mut self, stop: &str) -> Option<Prompt> {
        if !matches!(self.wrap_up, WrappingUp::Interrupting { .. }) {
            return None;
        }
        let WrappingUp::Interrupting { notice: text } = std::mem::replace(&mut self.wrap_up, WrappingUp::Done) else {
            return None;
        };
        (stop == "cancelled" && self.ending.is_none()).then_some(Prompt { text, mail: Vec::new() })
    }
}
