//! The modes of a run that a team carries out: from a request or a plan to the end of its last phase.
//!
//! ```text
//! RESUME ─▶ CLARIFY ─▶ DISCOVER ─▶ REALITY ─▶ CONSULT ─▶ SPECIFY ─▶ PLAN ─▶ CRITIC-GATE ─▶ EXECUTE ─▶ PHASE-WRAP ─▶ done
//!    │                     │                                        ▲           │            ▲           │
//!    └── approved plan ────┼────────────────────────────────────────┼───────────┼────────────┘◀──────────┘ next phase
//!                          └── a plan that was given: CRITIC-GATE   └───────────┘ NEEDS_REVISION
//! ```
//!
//! [`State::step`] folds what happened, [`State::next`] says what to do about it. What comes next is worked out from what is known ([`Known`]), so a
//! mode is never skipped by an event that says so: EXECUTE has no way in but an approved plan. Every wait has a number; an event about an earlier
//! one is late. Roles are asked by the engine; where they don't answer within the limits, a person is.

mod action;
mod answer;
mod ask;
mod at;
mod known;
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
pub use question::Question;
pub use refused::{Refused, RefusedCode};
pub use seat::{Form, Seat};

/// Where a run of a team stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct State {
    /// What the run knows; `None` before it has begun.
    known: Option<Known>,
    at: At,
    /// Number of the present wait.
    step: u32,
    /// Who says what comes next.
    form: Form,
    /// The highest fence of the seat so far.
    fence: u64,
    /// Gates that holders of the seat have added.
    gates: Vec<String>,
}

// === impl State ===

impl State {
    /// A run that has not begun.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The state after recorded events.
    #[must_use]
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a ModeEvent>) -> Self {
        events.into_iter().fold(Self::new(), |state, event| state.then(event))
    }

    /// The state after a recorded event. One that the machine refuses leaves it in UNKNOWN, where a person decides.
    #[must_use]
    pub fn then(&self, event: &ModeEvent) -> Self {
        self.step(event).unwrap_or_else(|refused| self.clone().lose_track(&refused))
    }

    /// What the run is at.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.at.mode()
    }

    /// What it waits for.
    #[must_use]
    pub const fn at(&self) -> &At {
        &self.at
    }

    /// What it knows; `None` before it has begun.
    #[must_use]
    pub const fn known(&self) -> Option<&Known> {
        self.known.as_ref()
    }

    /// Number of the present wait: events about it carry this number.
    #[must_use]
    pub const fn step_number(&self) -> u32 {
        self.step
    }

    /// Whether it is over: done or stopped.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        matches!(self.at, At::Done | At::Stopped { .. })
    }

    /// Whom it waits for, if that is a person.
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
