//! What happens to a unit: one method per event. Each checks first and then changes, so that a refusal leaves the unit as it was.

use switchboard_protocol::id::{Digest, WorkerId};
use switchboard_protocol::run::{Change, Verdict};
use switchboard_protocol::time::Millis;

use super::unit::{Assignee, Hold, Slot, Spent, Unit};

/// Why an event can't be about this unit now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotNow {
    /// The step is not open.
    #[error("the step is not open")]
    NotOpen,
    /// It is about an input, a worker or an outcome of the past.
    #[error("that is past")]
    Stale,
    /// The unit is held or done.
    #[error("the unit is held or done")]
    Over,
}

/// Where an event has left the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    /// It goes on.
    On,
    /// A step was refused; the step that mends it is open again.
    Back {
        /// The step that is open again.
        to: usize,
    },
    /// It waits for a person: see [`Unit::held`].
    Held,
    /// All steps have passed.
    Done,
}

/// A verdict on a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judgement {
    /// What was judged; `None` where the record doesn't say, then the present input.
    pub input: Option<Digest>,
    /// The verdict.
    pub verdict: Verdict,
    /// What the step produced.
    pub output: Option<Digest>,
}

impl Unit {
    /// Somebody is about to do a step.
    ///
    /// # Errors
    /// [`NotNow`] when it is not open.
    pub fn intend(&mut self, at: usize, by: Assignee) -> Result<Moved, NotNow> {
        self.expect_open(at)?;
        self.slots[at] = Slot::Intended { input: self.input(at), by };
        self.spent[at].runs += 1;
        Ok(Moved::On)
    }

    /// Whoever was to do it is at work.
    ///
    /// # Errors
    /// [`NotNow`] when it was not intended.
    pub fn start(&mut self, at: usize, since: Millis) -> Result<Moved, NotNow> {
        let Slot::Intended { input, by } = &self.slots[at] else { return Err(NotNow::Stale) };
        self.slots[at] = Slot::Running { input: *input, by: by.clone(), since };
        Ok(Moved::On)
    }

    /// Whoever was at work is gone without an outcome: no attempt, but the losses are limited.
    ///
    /// # Errors
    /// [`NotNow`] when nobody is at it.
    pub fn lose(&mut self, at: usize) -> Result<Moved, NotNow> {
        if !self.slots[at].is_under_way() {
            return Err(NotNow::Stale);
        }
        self.slots[at] = Slot::Idle;
        self.spent[at].losses += 1;
        let limit = self.way.steps()[at].limits.losses;
        if limit > 0 && self.spent[at].losses >= limit {
            return Ok(self.hold(Hold::Losses { step: at, limit }));
        }
        Ok(Moved::On)
    }

    /// The answer of a step's worker can't be used: another worker is asked, unless that has happened too often.
    ///
    /// # Errors
    /// [`NotNow`] when nobody is at it.
    pub fn ask_again(&mut self, at: usize) -> Result<Moved, NotNow> {
        self.withdraw(at)?;
        self.spent[at].attempts += 1;
        let limit = self.way.steps()[at].limits.attempts;
        if limit > 0 && self.spent[at].attempts >= limit {
            return Ok(self.hold(Hold::Attempts { step: at, limit }));
        }
        Ok(Moved::On)
    }

    /// The worker of a step that answers has failed: another one does the step, unless that has happened too often.
    ///
    /// # Errors
    /// [`NotNow`] when nobody is at it.
    pub fn fail(&mut self, at: usize) -> Result<Moved, NotNow> {
        self.withdraw(at)?;
        self.spent[at].failures += 1;
        let limit = self.way.steps()[at].limits.failures;
        if limit > 0 && self.spent[at].failures >= limit {
            return Ok(self.hold(Hold::Failures { step: at, limit }));
        }
        Ok(Moved::On)
    }

    /// Whoever was to do the step will not be started. Neither an attempt nor a loss.
    ///
    /// # Errors
    /// [`NotNow`] when it was not intended.
    pub fn take_back(&mut self, at: usize) -> Result<Moved, NotNow> {
        if !matches!(self.slots[at], Slot::Intended { .. }) {
            return Err(NotNow::Stale);
        }
        self.slots[at] = Slot::Idle;
        self.spent[at].runs = self.spent[at].runs.saturating_sub(1);
        Ok(Moved::On)
    }

    /// The worker of a step was interrupted, and another one resumes the step later. Counts neither as an attempt nor as a loss.
    ///
    /// # Errors
    /// [`NotNow`] when nobody is at it.
    pub fn put_off(&mut self, at: usize) -> Result<Moved, NotNow> {
        if !self.slots[at].is_under_way() {
            return Err(NotNow::Stale);
        }
        self.slots[at] = Slot::Idle;
        self.spent[at].runs = self.spent[at].runs.saturating_sub(1);
        Ok(Moved::On)
    }

    /// The work on a step that writes is over; what it wrote is to be captured.
    ///
    /// # Errors
    /// [`NotNow`] when nobody is at work on it.
    pub fn end(&mut self, at: usize) -> Result<Moved, NotNow> {
        let Slot::Running { input, by, .. } = &self.slots[at] else { return Err(NotNow::Stale) };
        self.slots[at] = Slot::Ended { input: *input, by: by.clone() };
        Ok(Moved::On)
    }

    /// What a step wrote is captured, and the step has passed. Its own input is taken after that, so that it doesn't chase
    /// itself.
    ///
    /// # Errors
    /// [`NotNow`] when the step neither was at work nor could be done now.
    pub fn capture(&mut self, at: usize, change: Change) -> Result<Moved, NotNow> {
        let writes = !self.way.steps()[at].does.writes().is_empty();
        if !writes || !(self.slots[at].is_under_way() || self.open().contains(&at)) {
            return Err(NotNow::NotOpen);
        }
        if !self.slots[at].is_under_way() {
            self.spent[at].runs += 1;
        }
        let begun = self.begun(at).unwrap_or(self.input(at));
        let is_as_begun = begun == self.input(at);
        let output = self.take_change(at, change);
        self.slots[at] = Slot::Judged { input: begun, verdict: Verdict::Pass, output: Some(output) };
        self.refresh();
        // What else it reads may have changed while it was at work: then it is open again.
        let input = if is_as_begun { self.input(at) } else { begun };
        self.slots[at] = Slot::Judged { input, verdict: Verdict::Pass, output: Some(output) };
        Ok(self.close_spent())
    }

    /// A step has a verdict.
    ///
    /// # Errors
    /// [`NotNow`] when it judged something else than what stands now, or could not be done now.
    pub fn judge(&mut self, at: usize, judgement: Judgement) -> Result<Moved, NotNow> {
        let Judgement { input, verdict, output } = judgement;
        let begun = self.begun(at);
        if begun.is_none() {
            self.expect_open(at)?;
        }
        let judged = begun.unwrap_or(self.input(at));
        if input.is_some_and(|input| input != judged) {
            return Err(NotNow::Stale);
        }
        if begun.is_none() {
            self.spent[at].runs += 1;
        }
        self.slots[at] = Slot::Judged { input: judged, verdict, output };
        self.refresh_outputs();
        Ok(self.close_spent())
    }

    /// Takes back an intent whose step turned out not to be possible now.
    ///
    /// # Errors
    /// [`NotNow`] when nobody is at it.
    pub fn withdraw(&mut self, at: usize) -> Result<(), NotNow> {
        if !self.slots[at].is_under_way() {
            return Err(NotNow::Stale);
        }
        self.slots[at] = Slot::Idle;
        Ok(())
    }

    /// The run's branch has another head: what reads it is open again.
    pub fn move_head(&mut self, head: &str) -> Moved {
        if self.is_done || self.held.is_some() || self.head == head {
            return Moved::On;
        }
        head.clone_into(&mut self.head);
        self.refresh();
        self.close_spent()
    }

    /// Opens a step anew, and with it what depends on it. What still holds for its input is not done again.
    ///
    /// # Errors
    /// [`NotNow::Over`] when the unit is done.
    pub fn resume_at(&mut self, at: usize) -> Result<Moved, NotNow> {
        if self.is_done {
            return Err(NotNow::Over);
        }
        self.salt[at] += 1;
        self.refresh();
        Ok(Moved::Back { to: at })
    }

    /// A person lets the unit go on: all limits count anew, and `again`, if named, is opened.
    pub fn release(&mut self, again: Option<usize>) {
        self.held = None;
        self.spent.fill(Spent::default());
        if let Some(at) = again {
            self.salt[at] += 1;
        }
        self.refresh();
        while let Some(at) = self.refusing() {
            self.salt[self.way.back(at).unwrap_or(at)] += 1;
            self.refresh();
        }
    }

    /// Holds the unit for a person.
    pub fn hold(&mut self, why: Hold) -> Moved {
        self.held = Some(why);
        Moved::Held
    }

    /// Nobody is at work on any step any more; what they had begun is forgotten.
    pub fn drop_work(&mut self) {
        for slot in self.slots.iter_mut().filter(|slot| slot.is_under_way()) {
            *slot = Slot::Idle;
        }
    }

    /// The step that a worker is at.
    #[must_use]
    pub fn step_of(&self, worker: &WorkerId) -> Option<usize> {
        let is_theirs = |slot: &Slot| slot.assignee() == Some(&Assignee::Worker(worker.clone()));
        self.slots.iter().position(is_theirs)
    }

    fn expect_open(&self, at: usize) -> Result<(), NotNow> {
        if self.held.is_some() || self.is_done {
            return Err(NotNow::Over);
        }
        if self.open().contains(&at) { Ok(()) } else { Err(NotNow::NotOpen) }
    }

    /// Goes back where a step refuses and all that judge the same have been heard; holds the unit where a limit is reached.
    fn close_spent(&mut self) -> Moved {
        if (0..self.slots.len()).all(|at| self.has_passed(at)) {
            self.is_done = true;
            return Moved::Done;
        }
        if let Some(at) = self.refusing() {
            return self.go_back(at);
        }
        let spent = |at: &usize| {
            let limit = self.way.steps()[*at].limits.runs;
            limit > 0 && self.spent[*at].runs >= limit && self.is_due(*at)
        };
        match (0..self.slots.len()).find(spent) {
            Some(step) => self.hold(Hold::Runs { step, limit: self.way.steps()[step].limits.runs }),
            None => Moved::On,
        }
    }

    /// A step that stops the unit, once nobody else has a say on the same.
    fn refusing(&self) -> Option<usize> {
        (0..self.slots.len()).find(|at| self.refuses(*at) && self.is_heard(*at))
    }

    /// The input that whoever is at the step began with.
    fn begun(&self, at: usize) -> Option<Digest> {
        match &self.slots[at] {
            Slot::Intended { input, .. } | Slot::Running { input, .. } | Slot::Ended { input, .. } => Some(*input),
            Slot::Idle | Slot::Judged { .. } => None,
        }
    }

    /// Whether every step that would send the unit back to the same place has spoken on what stands now.
    fn is_heard(&self, at: usize) -> bool {
        let Some(back) = self.way.back(at) else { return true };
        let silent = |other: &usize| self.slots[*other].is_under_way() || self.is_due(*other);
        !self.way.mends(back).iter().filter(|other| **other != back).any(silent)
    }

    fn go_back(&mut self, at: usize) -> Moved {
        let Some(to) = self.way.back(at) else { return self.hold(Hold::Refused { step: at }) };
        self.spent[to].attempts += 1;
        let limit = self.way.steps()[to].limits.attempts;
        if limit > 0 && self.spent[to].attempts >= limit {
            return self.hold(Hold::Attempts { step: to, limit });
        }
        self.salt[to] += 1;
        self.spent.iter_mut().for_each(|spent| spent.runs = 0);
        // The next change is new to every step that judges it, so these start with full limits.
        for other in self.way.mends(to).to_vec() {
            if other != to {
                (self.spent[other].attempts, self.spent[other].failures) = (0, 0);
            }
        }
        self.refresh();
        Moved::Back { to }
    }
}
