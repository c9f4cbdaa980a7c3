//! The modes of a run that a team carries out, from a request or a plan to the end of its last phase.
//!
//! ```text
//! RESUME ─▶ CLARIFY ─▶ DISCOVER ─▶ REALITY ─▶ CONSULT ─▶ SPECIFY ─▶ PLAN ─▶ CRITIC-GATE ─▶ EXECUTE ─▶ PHASE-WRAP ─▶ done
//!    │                     │                                        ▲           │            ▲           │
//!    └── approved plan ────┼────────────────────────────────────────┼───────────┼────────────┘◀──────────┘ next phase
//!                          └── a plan that was given: CRITIC-GATE   └───────────┘ NEEDS_REVISION
//! ```
//!
//! [`State::step`] folds events, [`State::next`] returns what to do about them. The next mode is computed from what is
//! known ([`Known`]), so no event can skip a mode: only an approved plan leads to EXECUTE. Every wait has a number; an
//! event with an earlier number is late. The engine asks the roles; if they don't answer within the limits, it asks a
//! person.

mod action;
mod answer;
mod ask;
mod at;
mod known;
mod lowering;
mod person;
mod question;
mod refused;
mod seat;
mod step;
mod take;

use switchboard_protocol::id::AgentName;
use switchboard_protocol::modes::{Mode, ModeEvent};

pub use action::{Action, ModeInput};
pub use answer::{NoModeAnswer, facts_of, facts_of_plan, fault_of};
pub use ask::Ask;
pub use at::{At, Check};
pub use known::{Approval, Approver, Known, PhaseWork};
pub use lowering::lowering_of;
pub use question::Question;
pub use refused::{Refused, RefusedCode};
pub use seat::{Form, Seat};

/// State of a team's run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct State {
    /// What is known about the run; `None` before it begins.
    known: Option<Known>,
    at: At,
    /// Number of the current wait.
    step: u32,
    /// What decides the next mode.
    form: Form,
    /// The highest fence of the seat so far.
    fence: u64,
    /// Gates that holders of the seat added.
    gates: Vec<String>,
}

// === impl State ===

impl State {
    /// Returns the state of a run that has not begun.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the state after recorded events.
    #[must_use]
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a ModeEvent>) -> Self {
        events.into_iter().fold(Self::new(), |state, event| state.then(event))
    }

    /// Returns the state after a recorded event. An event that the machine refuses leads to UNKNOWN, where a person
    /// decides.
    #[must_use]
    pub fn then(&self, event: &ModeEvent) -> Self {
        self.step(event).unwrap_or_else(|refused| self.clone().into_unknown(&refused))
    }

    /// Returns the current mode of the run.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.at.mode()
    }

    /// Returns what the run waits for.
    #[must_use]
    pub const fn at(&self) -> &At {
        &self.at
    }

    /// Returns what is known about the run; `None` before it begins.
    #[must_use]
    pub const fn known(&self) -> Option<&Known> {
        self.known.as_ref()
    }

    /// Returns the number of the current wait, which events about it carry.
    #[must_use]
    pub const fn step_number(&self) -> u32 {
        self.step
    }

    /// Returns true if the run is over: done or stopped.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        matches!(self.at, At::Done | At::Stopped { .. })
    }

    /// Returns the person that the run waits for, if any.
    #[must_use]
    pub fn waits_for(&self) -> Option<&AgentName> {
        match self.next() {
            Action::AskPerson { .. } | Action::FillSeat { .. } => self.known.as_ref().map(|known| &known.setup.person),
            Action::Begin
            | Action::AskRole { .. }
            | Action::Check { .. }
            | Action::RunPhase { .. }
            | Action::Proceed { .. }
            | Action::AwaitSeat { .. }
            | Action::Done { .. }
            | Action::Stop { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests;
