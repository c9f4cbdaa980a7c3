//! Folds one event into what is known and what is waited for.

use switchboard_protocol::id::AgentName;
use switchboard_protocol::modes::{AnswerFacts, ModeEvent, PersonAnswer, PhaseOutcome, PlanFacts, Proceed, Setup};

use super::person::{self, Follows};
use super::refused::{Refused, RefusedCode};
use super::take::{Taken, take};
use super::{Ask, At, Check, Known, Question, State};

/// Code of a run that a person ended.
const STOPPED: &str = "dispatch.partial";

/// Code of a run that ended because a question was not answered in time.
const EXPIRED: &str = "need.expired";

/// Code of an unreadable record that names nobody to ask.
const UNREADABLE: &str = "store.corrupt";

// === impl State ===

impl State {
    /// Folds one event.
    ///
    /// # Errors
    /// When the event is impossible in this state: too early, too late, or not what is waited for.
    pub fn step(&self, event: &ModeEvent) -> Result<Self, Refused> {
        let mut next = self.clone();
        match event {
            ModeEvent::Began { setup } => next.begin(setup)?,
            ModeEvent::Stopped { by, why } => next.stop(STOPPED, &format!("{by}: {why}"))?,
            ModeEvent::Resumed { .. } => next.resume()?,
            ModeEvent::Answered { step, answer } => next.answer(*step, answer)?,
            ModeEvent::Unanswered { step, why } => next.give_up(*step, why)?,
            ModeEvent::PersonAnswered { step, by, answer } => next.person(*step, by, *answer)?,
            ModeEvent::PersonExpired { step } => next.expire(*step)?,
            ModeEvent::Checked { step, missing } => next.check(*step, missing)?,
            ModeEvent::PhaseEnded { step, phase, outcome } => next.end_phase(*step, *phase, outcome)?,
            ModeEvent::Proceeded { step, because } => next.proceed(*step, *because)?,
            ModeEvent::SeatTaken { agent, fence, lease_ms, by: _ } => next.take_seat(agent, *fence, *lease_ms)?,
            ModeEvent::SeatLost { fence } => next.lose_seat(*fence)?,
            ModeEvent::SeatLeft { fence, by: _ } => next.leave_seat(*fence)?,
            ModeEvent::StepBegun { step, fence } => next.begin_step(*step, *fence)?,
            ModeEvent::GatesAdded { gates, fence } => next.add_gates(*fence, gates)?,
        }
        // A seat event changes what decides the next action, but not what is waited for.
        if !event.is_of_seat() {
            next.step += 1;
        }
        Ok(next)
    }

    /// Returns the state after an impossible event.
    pub(super) fn into_unknown(self, refused: &Refused) -> Self {
        let why = format!("its record has an event that can't follow: {refused}");
        let at = match &self.known {
            Some(_) => At::Waiting(Question::Unknown { why }),
            None => At::Stopped { code: UNREADABLE, why, from: Box::new(At::Unbegun) },
        };
        Self { at, step: self.step + 1, ..self }
    }

    fn begin(&mut self, setup: &Setup) -> Result<(), Refused> {
        if self.known.is_some() {
            return Err(Refused::new(RefusedCode::WrongOrder, "the run has begun before", "resume it instead"));
        }
        if let Some(fault) = setup.plan.as_ref().and_then(PlanFacts::fault) {
            return Err(Refused::new(RefusedCode::BadSetup, fault, "correct the plan"));
        }
        let known = Known::new(setup.clone());
        self.at = known.needs();
        self.known = Some(known);
        Ok(())
    }

    fn stop(&mut self, code: &'static str, why: &str) -> Result<(), Refused> {
        self.known_mut()?;
        if self.is_over() {
            return Err(Refused::new(RefusedCode::WrongOrder, "the run is over", "nothing has to be stopped"));
        }
        let from = Box::new(std::mem::take(&mut self.at));
        self.at = At::Stopped { code, why: why.to_owned(), from };
        Ok(())
    }

    fn resume(&mut self) -> Result<(), Refused> {
        self.known_mut()?;
        let At::Stopped { from, .. } = std::mem::take(&mut self.at) else {
            return Err(Refused::new(RefusedCode::WrongOrder, "the run is not stopped", "it goes on by itself"));
        };
        self.at = *from;
        Ok(())
    }

    fn answer(&mut self, step: u32, answer: &AnswerFacts) -> Result<(), Refused> {
        self.is_now(step)?;
        let At::Asking { ask, .. } = &self.at else { return Err(self.unexpected("an answer of a role")) };
        let ask = ask.clone();
        match take(self.known_mut()?, &ask, answer) {
            Taken::Known => self.go_on(),
            Taken::Asks(question) => self.at = At::Waiting(question),
            Taken::Bad(why) => self.ask_again(why)?,
        }
        Ok(())
    }

    /// Asks a person in place of a role that returns no answer.
    fn give_up(&mut self, step: u32, why: &str) -> Result<(), Refused> {
        self.is_now(step)?;
        let At::Asking { ask, .. } = &self.at else { return Err(self.unexpected("no answer of a role")) };
        let ask = ask.clone();
        self.at = At::Waiting(no_answer(self.known_mut()?, ask, why.to_owned()));
        Ok(())
    }

    /// Counts a rejected answer.
    fn ask_again(&mut self, why: String) -> Result<(), Refused> {
        let limit = self.known_mut()?.setup.limits.malformed;
        let At::Asking { ask, tries, refused } = &mut self.at else {
            return Err(self.unexpected("no answer of a role"));
        };
        *tries += 1;
        if *tries <= limit {
            *refused = Some(why);
            return Ok(());
        }
        let ask = ask.clone();
        self.at = At::Waiting(no_answer(self.known_mut()?, ask, why));
        Ok(())
    }

    fn person(&mut self, step: u32, by: &AgentName, answer: PersonAnswer) -> Result<(), Refused> {
        self.is_now(step)?;
        let question = match &self.at {
            At::Waiting(question) => question.clone(),
            At::Ready { phase } => Question::NextPhase { phase: *phase },
            At::Unbegun | At::Asking { .. } | At::Checking(_) | At::Running { .. } | At::Done | At::Stopped { .. } => {
                return Err(self.unexpected("a person's answer"));
            }
        };
        match person::answered(self.known_mut()?, &question, by, answer)? {
            Follows::GoOn => self.go_on(),
            Follows::At(at) => self.at = at,
            Follows::Stop => self.stop(STOPPED, &format!("{by} ended it: {question}"))?,
        }
        Ok(())
    }

    fn expire(&mut self, step: u32) -> Result<(), Refused> {
        self.is_now(step)?;
        let Some(person) = self.waits_for().cloned() else { return Err(self.unexpected("a question that expired")) };
        self.stop(EXPIRED, &format!("{person} did not answer in time"))
    }

    fn check(&mut self, step: u32, missing: &[String]) -> Result<(), Refused> {
        self.is_now(step)?;
        let At::Checking(check) = self.at else { return Err(self.unexpected("the outcome of a check")) };
        let missing = missing.to_vec();
        match check {
            Check::Preflight { .. } if missing.is_empty() => {
                self.known_mut()?.work.is_ready = true;
                self.go_on();
            }
            Check::Evidence { phase } if missing.is_empty() => {
                self.known_mut()?.end_phase(phase);
                self.go_on();
            }
            Check::Preflight { phase } => self.at = At::Waiting(Question::Blocked { phase, missing }),
            Check::Evidence { phase } => self.at = At::Waiting(Question::EvidenceMissing { phase, missing }),
        }
        Ok(())
    }

    fn end_phase(&mut self, step: u32, phase: u64, outcome: &PhaseOutcome) -> Result<(), Refused> {
        self.is_now(step)?;
        match &self.at {
            At::Running { phase: running } if *running == phase => {}
            At::Unbegun
            | At::Asking { .. }
            | At::Waiting(_)
            | At::Checking(_)
            | At::Running { .. }
            | At::Ready { .. }
            | At::Done
            | At::Stopped { .. } => return Err(self.unexpected(&format!("the end of phase {phase}"))),
        }
        match outcome {
            PhaseOutcome::Done => {
                let known = self.known_mut()?;
                known.work.has_run = true;
                known.advice = None;
                self.go_on();
            }
            PhaseOutcome::Held { why, failed } => match self.known_mut()?.hold(phase, why.clone(), failed.clone()) {
                Some(question) => self.at = At::Waiting(question),
                None => self.go_on(),
            },
        }
        Ok(())
    }

    fn proceed(&mut self, step: u32, because: Proceed) -> Result<(), Refused> {
        self.is_now(step)?;
        let At::Ready { phase } = self.at else { return Err(self.unexpected("that the next phase begins")) };
        let known = self.known_mut()?;
        if because == Proceed::Ask || because != known.setup.proceed {
            let why = format!("phase {phase} begins when a person says so");
            return Err(Refused::new(RefusedCode::NotAllowed, why, "ask, or run with --auto"));
        }
        known.work.is_let_in = true;
        known.proceeded.insert(phase, because);
        self.go_on();
        Ok(())
    }

    /// Waits for what the run needs next.
    fn go_on(&mut self) {
        if let Some(known) = &self.known {
            self.at = known.needs();
        }
    }

    pub(super) fn is_now(&self, step: u32) -> Result<(), Refused> {
        if step == self.step && self.known.is_some() {
            return Ok(());
        }
        let why = format!("it is about step {step}, and the run is at step {}", self.step);
        Err(Refused::new(RefusedCode::Stale, why, "look at what the run waits for now"))
    }

    fn unexpected(&self, what: &str) -> Refused {
        let why = format!("{what} is not what the run waits for in {}", self.mode());
        Refused::new(RefusedCode::Unexpected, why, format!("it waits for {}", self.at))
    }

    fn known_mut(&mut self) -> Result<&mut Known, Refused> {
        let begin =
            || Refused::new(RefusedCode::WrongOrder, "the run has not begun", "begin it with a request or a plan");
        self.known.as_mut().ok_or_else(begin)
    }
}

/// Returns the question to a person about a role's missing answer. For a failed task, the person decides in the
/// architect's place.
fn no_answer(known: &mut Known, ask: Ask, why: String) -> Question {
    if let Ask::Decision { phase, .. } = ask {
        return known.give_up_task(phase, None, &format!("the architect gives no answer ({why})"));
    }
    Question::NoAnswer { ask, why }
}
