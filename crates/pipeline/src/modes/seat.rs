//! The architect's seat: a run is driven by the engine, or led by an agent that has the seat.
//!
//! ```text
//!              SeatTaken (a fence higher than all before)
//!   driven ──────────────────────────────────▶ led ──▶ SeatLost ──▶ vacant
//!     ▲                                         │                     │
//!     └───────────────── SeatLeft ◀─────────────┴─────────────────────┘ SeatTaken ▶ led
//! ```
//!
//! The holder of the seat answers in the architect's place, and begins the steps of the other roles; none of these
//! happens without it. Checks, decisions of a person and work in progress continue as usual. A person decides about a
//! vacant seat: another agent takes it, the engine drives the run, or the run ends. Events of the seat carry its fence;
//! those of a former holder are refused.

use std::fmt;

use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::role::RoleName;

use super::action::Action;
use super::refused::{Refused, RefusedCode};
use super::{At, State};

/// Maximum number of gates that holders of the seat may add.
const MOST_GATES: usize = 32;

/// What decides the next action.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Form {
    /// The engine.
    #[default]
    Driven,
    /// The agent that holds the seat.
    Led(Seat),
    /// Nothing, since the agent lost the seat; a person decides.
    Vacant(Seat),
}

/// The seat of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    /// Agent that holds the seat, or held it last.
    pub agent: AgentName,
    /// Fencing number of this holder; higher than all before.
    pub fence: u64,
    /// How long the seat lasts without a call of the agent, in milliseconds.
    pub lease_ms: u64,
    /// The step that the agent began last.
    begun: Option<u32>,
}

// === impl State ===

impl State {
    /// Returns what decides the next action.
    #[must_use]
    pub const fn form(&self) -> &Form {
        &self.form
    }

    /// Returns the fence of the next holder of the seat.
    #[must_use]
    pub const fn next_fence(&self) -> u64 {
        self.fence + 1
    }

    /// Returns the gates that holders of the seat added to those of the plan.
    #[must_use]
    pub fn gates(&self) -> &[String] {
        &self.gates
    }

    /// Adapts the next action to the form of the run.
    pub(super) fn by_form(&self, driven: Action) -> Action {
        let (step, seat) = (self.step, self.form.seat());
        let wants_seat = match &driven {
            Action::AskRole { role, .. } => {
                *role == RoleName::Architect.id() || seat.is_none_or(|seat| seat.begun != Some(step))
            }
            Action::RunPhase { .. } => matches!(self.form, Form::Vacant(_)),
            Action::Begin
            | Action::AskPerson { .. }
            | Action::Check { .. }
            | Action::Proceed { .. }
            | Action::AwaitSeat { .. }
            | Action::FillSeat { .. }
            | Action::Done { .. }
            | Action::Stop { .. } => false,
        };
        match (&self.form, &self.known) {
            (Form::Led(_), _) if wants_seat => Action::AwaitSeat { step },
            (Form::Vacant(seat), Some(known)) if wants_seat => Action::FillSeat {
                step,
                person: known.setup.person.clone(),
                agent: seat.agent.clone(),
                fence: seat.fence,
            },
            (Form::Driven | Form::Led(_) | Form::Vacant(_), _) => driven,
        }
    }

    pub(super) fn take_seat(&mut self, agent: &AgentName, fence: u64, lease_ms: u64) -> Result<(), Refused> {
        self.expect_live()?;
        if let Form::Led(seat) = &self.form
            && seat.agent != *agent
        {
            let why = format!("{} has the architect's seat", seat.agent);
            let hint = "wait until it leaves the seat, or a person takes it back: switchboard lead RUN --end";
            return Err(Refused::new(RefusedCode::NotAllowed, why, hint));
        }
        if fence != self.next_fence() {
            return Err(stale(fence, self.fence));
        }
        let begun = self.form.seat().and_then(|seat| seat.begun);
        self.fence = fence;
        self.form = Form::Led(Seat { agent: agent.clone(), fence, lease_ms, begun });
        Ok(())
    }

    pub(super) fn lose_seat(&mut self, fence: u64) -> Result<(), Refused> {
        self.expect_live()?;
        let seat = self.expect_seat(fence)?.clone();
        self.form = Form::Vacant(seat);
        Ok(())
    }

    /// Returns control of the run to the engine.
    pub(super) fn leave_seat(&mut self, fence: u64) -> Result<(), Refused> {
        match &self.form {
            Form::Led(seat) | Form::Vacant(seat) if seat.fence == fence => self.form = Form::Driven,
            Form::Led(_) | Form::Vacant(_) => return Err(stale(fence, self.fence)),
            Form::Driven => return Err(nobody()),
        }
        Ok(())
    }

    /// Begins the step of a role.
    pub(super) fn begin_step(&mut self, step: u32, fence: u64) -> Result<(), Refused> {
        self.expect_live()?;
        self.expect_seat(fence)?;
        self.is_now(step)?;
        match &self.at {
            At::Asking { ask, .. } if ask.role() != RoleName::Architect => {}
            At::Asking { ask, .. } => {
                let why = format!("only the architect answers `{}`", ask.answer());
                return Err(Refused::new(RefusedCode::Unexpected, why, self.remedy()));
            }
            At::Unbegun
            | At::Waiting(_)
            | At::Checking(_)
            | At::Running { .. }
            | At::Ready { .. }
            | At::Done
            | At::Stopped { .. } => {
                let why = format!("the run waits for {}", self.at);
                return Err(Refused::new(RefusedCode::Unexpected, why, self.remedy()));
            }
        }
        if let Form::Led(seat) = &mut self.form {
            seat.begun = Some(step);
        }
        Ok(())
    }

    pub(super) fn add_gates(&mut self, fence: u64, gates: &[String]) -> Result<(), Refused> {
        self.expect_live()?;
        self.expect_seat(fence)?;
        let new = gates.iter().filter(|gate| !self.gates.contains(gate)).cloned().collect::<Vec<_>>();
        if self.gates.len() + new.len() > MOST_GATES {
            let why = format!("a run has at most {MOST_GATES} gates beside its plan's");
            return Err(Refused::new(RefusedCode::NotAllowed, why, "add fewer"));
        }
        self.gates.extend(new);
        Ok(())
    }

    /// Returns the seat if this fence is its current one.
    ///
    /// # Errors
    /// When the seat is not held, or its holder has another fence.
    pub fn expect_seat(&self, fence: u64) -> Result<&Seat, Refused> {
        match &self.form {
            Form::Led(seat) if seat.fence == fence => Ok(seat),
            Form::Vacant(seat) if seat.fence == fence => Err(lost(seat)),
            Form::Led(_) | Form::Vacant(_) => Err(stale(fence, self.fence)),
            Form::Driven => Err(nobody()),
        }
    }

    /// Returns what the holder of the seat has to do next, as text.
    #[must_use]
    pub fn remedy(&self) -> String {
        match &self.at {
            At::Asking { ask, .. } if ask.answer() == AnswerKind::PlanDraft => "answer with save_plan".to_owned(),
            At::Asking { ask, .. } if ask.role() == RoleName::Architect => {
                format!(
                    "answer with report_step: `state` is done, `note` a word about it, `answer` the {}",
                    ask.answer()
                )
            }
            At::Asking { ask, .. } => format!("begin_step: the {} gives its {} then", ask.role(), ask.answer()),
            At::Running { phase } => {
                format!("begin_step with a task of phase {phase}; seat_status lists those that are open")
            }
            At::Waiting(_) => "a person answers: switchboard needs".to_owned(),
            At::Checking(_) | At::Unbegun => "seat_status with wait_ms says when there is something to do".to_owned(),
            At::Ready { phase } => format!("phase {phase} begins when a person says so, or by a setting"),
            At::Done => "nothing is left to do".to_owned(),
            At::Stopped { .. } => "a person lets it go on: switchboard run --resume RUN".to_owned(),
        }
    }

    /// Returns what the run waits for, as text.
    #[must_use]
    pub fn now(&self) -> String {
        match self.next() {
            Action::AwaitSeat { .. } => match self.form.seat() {
                Some(seat) => format!("{}, which leads it: {}", seat.agent, self.at),
                None => self.at.to_string(),
            },
            Action::FillSeat { agent, .. } => format!("a person: {agent} has lost the architect's seat"),
            Action::Begin
            | Action::AskRole { .. }
            | Action::AskPerson { .. }
            | Action::Check { .. }
            | Action::RunPhase { .. }
            | Action::Proceed { .. }
            | Action::Done { .. }
            | Action::Stop { .. } => self.at.to_string(),
        }
    }

    fn expect_live(&mut self) -> Result<(), Refused> {
        if self.known.is_none() || self.is_over() {
            return Err(Refused::new(RefusedCode::WrongOrder, "the run is over, or has not begun", self.remedy()));
        }
        Ok(())
    }
}

// === impl Form ===

impl Form {
    /// Returns the seat if it is held or vacant.
    #[must_use]
    pub const fn seat(&self) -> Option<&Seat> {
        match self {
            Self::Driven => None,
            Self::Led(seat) | Self::Vacant(seat) => Some(seat),
        }
    }

    /// Returns true if an agent leads the run or its seat is vacant; the engine then begins nothing by itself.
    #[must_use]
    pub const fn is_led(&self) -> bool {
        matches!(self, Self::Led(_) | Self::Vacant(_))
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Driven => f.write_str("driven"),
            Self::Led(seat) => write!(f, "led by {}", seat.agent),
            Self::Vacant(seat) => write!(f, "vacant since {} lost the seat", seat.agent),
        }
    }
}

fn stale(fence: u64, now: u64) -> Refused {
    let why = format!("the seat was taken with fence {now}, and {fence} is not that one");
    Refused::new(RefusedCode::Stale, why, "seat_status says the present fence to who has the seat")
}

fn lost(seat: &Seat) -> Refused {
    let why = format!("{} has lost the seat: nothing was heard of it in its lease", seat.agent);
    Refused::new(RefusedCode::Stale, why, "a person gives an agent the seat: switchboard lead RUN AGENT")
}

fn nobody() -> Refused {
    let hint = "a person gives an agent the seat: switchboard lead RUN AGENT";
    Refused::new(RefusedCode::WrongOrder, "the engine drives the run: nobody has the architect's seat", hint)
}
