//! Pauses: a paused worker waits at its next boundary and stays alive; no process is frozen.
//!
//! The boundaries are the end of a turn, a question of the agent, which stays unanswered during the pause, and the end of a tool while no other one
//! runs, where the turn is interrupted and later continued. A command's only boundary is its end.

use switchboard_protocol::frame::WorkerEvent;
use switchboard_protocol::worker::PauseState;
use tokio::time::Instant;

use super::{Prompt, State, Worker};
use crate::Result;
use crate::driver::Driver;

/// Prompt for an agent whose turn was interrupted.
const GO_ON: &str = "You were interrupted by a pause, which is over. Go on with your task where you were.";

/// State of a pause, and the answers that wait for its end.
#[derive(Default)]
pub(super) struct Pause {
    is_asked: bool,
    /// True if the worker may wait only between two tools or two turns.
    between_tools: bool,
    /// Time since which the agent waits at a boundary. Its time limits do not run from then on.
    reached: Option<Instant>,
    /// True if the turn was cancelled for the pause and has not ended yet.
    is_interrupting: bool,
    /// Held answers to the agent's questions: question, option, rule.
    answers: Vec<(String, Option<String>, Option<String>)>,
}

// === impl Pause ===

impl Pause {
    /// Returns true if a pause is requested.
    pub(super) fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Returns true if the agent waits at a boundary.
    pub(super) fn is_reached(&self) -> bool {
        self.reached.is_some()
    }

    /// Returns true if answers to the agent's questions are held: a worker that must wait between two tools may finish the one that it asks about.
    pub(super) fn keeps_answers(&self) -> bool {
        self.is_asked && (!self.between_tools || self.is_reached())
    }

    /// Holds an answer until the pause is over.
    pub(super) fn keep(&mut self, ask: String, option: Option<String>, rule: Option<String>) {
        self.answers.push((ask, option, rule));
    }

    /// Handles the end of a turn; returns true if the pause had interrupted it.
    pub(super) fn take_interrupted(&mut self, stop: &str) -> bool {
        std::mem::take(&mut self.is_interrupting) && stop == "cancelled"
    }
}

// === impl Worker ===

impl Worker {
    /// Begins a pause, and reports it at once. Over a new connection the daemon repeats the request, and says again where the worker may wait.
    pub(super) fn pause<D: Driver>(&mut self, driver: &mut D, between_tools: bool) -> Result<()> {
        if self.ending.is_some() || self.state == State::Ended {
            return Ok(());
        }
        let is_known = std::mem::replace(&mut self.pause.is_asked, true);
        let is_same = std::mem::replace(&mut self.pause.between_tools, between_tools) == between_tools;
        if !is_known {
            self.record(WorkerEvent::PauseChanged { state: PauseState::Pausing })?;
        } else if self.pause.is_reached() && !is_same {
            return self.say_reached();
        }
        self.pause_at_boundary(driver, false)
    }

    /// Checks whether the agent is at a boundary; `after_tool` is true if a tool has just ended.
    pub(super) fn pause_at_boundary<D: Driver>(&mut self, driver: &mut D, after_tool: bool) -> Result<()> {
        if !self.pause.is_asked || self.pause.is_reached() || self.pause.is_interrupting {
            return Ok(());
        }
        let waits = !self.asks.is_empty() || !self.pause.answers.is_empty();
        match self.state {
            State::Idle { .. } => self.reach_pause(),
            State::Turn if waits && !self.pause.between_tools => self.reach_pause(),
            State::Turn if after_tool && self.tools.is_empty() && D::TAKES_PROMPTS => {
                self.pause.is_interrupting = true;
                driver.cancel();
                Ok(())
            }
            State::Opening | State::Prompted { .. } | State::Turn | State::Closing { .. } | State::Ended => Ok(()),
        }
    }

    fn reach_pause(&mut self) -> Result<()> {
        self.pause.reached = Some(Instant::now());
        self.say_reached()
    }

    /// Reports that the agent waits: `held` between two turns, when its tree may be changed.
    fn say_reached(&mut self) -> Result<()> {
        let is_held = self.pause.between_tools && matches!(self.state, State::Idle { .. });
        let state = if is_held { PauseState::Held } else { PauseState::Paused };
        self.record(WorkerEvent::PauseChanged { state })
    }

    /// Queues a prompt that continues the interrupted turn after the pause, before any other prompt.
    pub(super) fn take_up_later(&mut self) {
        self.queue.push_front(Prompt { text: GO_ON.to_owned(), mail: Vec::new() });
    }

    /// Ends a pause: the time limits continue with what was left, and held answers are sent.
    pub(super) fn resume<D: Driver>(&mut self, driver: &mut D) -> Result<()> {
        if !std::mem::take(&mut self.pause.is_asked) {
            return Ok(());
        }
        if let Some(reached) = self.pause.reached.take() {
            self.put_off_limits(reached);
        }
        self.record(WorkerEvent::PauseChanged { state: PauseState::Resumed })?;
        for (ask, option, rule) in std::mem::take(&mut self.pause.answers) {
            if driver.permit(&ask, option.as_deref()) {
                self.record(WorkerEvent::PermissionSettled { ask, option, rule })?;
            }
        }
        Ok(())
    }

    fn put_off_limits(&mut self, reached: Instant) {
        let now = Instant::now();
        let by = now - reached;
        self.wall += by;
        self.heard = now;
        self.asks.put_off(by);
        self.wrap_up.put_off(by);
        if let State::Idle { since } = &mut self.state {
            *since = now;
        }
    }

    /// Drops the pause of a worker that ends.
    pub(super) fn forget_pause(&mut self) {
        self.pause = Pause::default();
    }
}
