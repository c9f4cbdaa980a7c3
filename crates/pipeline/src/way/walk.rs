//! Events of a unit, one method each. Each method checks before it changes anything, so that a refusal leaves the unit
//! unchanged.

use switchboard_protocol::id::{Digest, WorkerId};
use switchboard_protocol::run::{Change, Verdict};
use switchboard_protocol::time::Millis;

use super::unit::{Assignee, Hold, Slot, Spent, Unit};

/// Why an event is impossible for this unit now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotNow {
    /// The step is not open.
    #[error("the step is not open")]
    NotOpen,
    /// The event is about a past input, worker or outcome.
    #[error("that is past")]
    Stale,
    /// The unit is held or done.
    #[error("the unit is held or done")]
    Over,
}

/// Result of an event for the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    /// The unit continues.
    On,
    /// A step was refused; the step that fixes it is open again.
    Back {
        /// Index of the reopened step.
        to: usize,
    },
    /// The unit waits for a person: see [`Unit::held`].
    Held,
    /// All steps have passed.
    Done,
}

/// A verdict on a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judgement {
    /// Digest of the judged input; `None` if the record lacks it, which stands for the current input.
    pub input: Option<Digest>,
    /// Verdict on the input.
    pub verdict: Verdict,
    /// Digest of what the step produced.
    pub output: Option<Digest>,
}

impl Unit {
    /// Records the intent to carry out a step.
    ///
    /// # Errors
    /// [`NotNow`] when the step is not open.
    pub fn intend(&mut self, at: usize, by: Assignee) -> Result<Moved, NotNow> {
        self.expect_open(at)?;
        self.slots[at] = Slot::Intended { input: self.input(at), by };
        self.spent[at].runs += 1;
        Ok(Moved::On)
    }

    /// Records that an intended step has begun.
    ///
    /// # Errors
    /// [`NotNow`] when the step was not intended.
    pub fn start(&mut self, at: usize, since: Millis) -> Result<Moved, NotNow> {
        let Slot::Intended { input, by } = &self.slots[at] else { return Err(NotNow::Stale) };
        self.slots[at] = Slot::Running { input: *input, by: by.clone(), since };
        Ok(Moved::On)
    }

    /// Records that the assignee was lost without an outcome. Doesn't count as an attempt, but the number of losses is
    /// limited.
    ///
    /// # Errors
    /// [`NotNow`] when the step is not in progress.
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

    /// Records an unusable answer of a step's worker: another worker is asked, unless that has happened too often.
    ///
    /// # Errors
    /// [`NotNow`] when the step is not in progress.
    pub fn ask_again(&mut self, at: usize) -> Result<Moved, NotNow> {
        self.withdraw(at)?;
        self.spent[at].attempts += 1;
        let limit = self.way.steps()[at].limits.attempts;
        if limit > 0 && self.spent[at].attempts >= limit {
            return Ok(self.hold(Hold::Attempts { step: at, limit }));
        }
        Ok(Moved::On)
    }

    /// Records that the worker of an answering step has failed: another one does the step, unless that has happened too
    /// often.
    ///
    /// # Errors
    /// [`NotNow`] when the step is not in progress.
    pub fn fail(&mut self, at: usize) -> Result<Moved, NotNow> {
        self.withdraw(at)?;
        self.spent[at].failures += 1;
        let limit = self.way.steps()[at].limits.failures;
        if limit > 0 && self.spent[at].failures >= limit {
            return Ok(self.hold(Hold::Failures { step: at, limit }));
        }
        Ok(Moved::On)
    }

    /// Cancels an intended step whose assignee will not be started. Counts neither as an attempt nor as a loss.
    ///
    /// # Errors
    /// [`NotNow`] when the step was not intended.
    pub fn take_back(&mut self, at: usize) -> Result<Moved, NotNow> {
        if !matches!(self.slots[at], Slot::Intended { .. }) {
            return Err(NotNow::Stale);
        }
        self.slots[at] = Slot::Idle;
        self.spent[at].runs = self.spent[at].runs.saturating_sub(1);
        Ok(Moved::On)
    }

    /// Records that the worker of a step was interrupted; another one resumes the step later. Counts neither as an
    /// attempt nor as a loss.
    ///
    /// # Errors
    /// [`NotNow`] when the step is not in progress.
    pub fn put_off(&mut self, at: usize) -> Result<Moved, NotNow> {
        if !self.slots[at].is_under_way() {
            return Err(NotNow::Stale);
        }
        self.slots[at] = Slot::Idle;
        self.spent[at].runs = self.spent[at].runs.saturating_sub(1);
        Ok(Moved::On)
    }

    /// Records that the work on a writing step is over; what it wrote is captured next.
    ///
    /// # Errors
    /// [`NotNow`] when the step is not in progress.
    pub fn end(&mut self, at: usize) -> Result<Moved, NotNow> {
        let Slot::Running { input, by, .. } = &self.slots[at] else { return Err(NotNow::Stale) };
        self.slots[at] = Slot::Ended { input: *input, by: by.clone() };
        Ok(Moved::On)
    }

    /// Records that a step's change was captured, so that the step has passed. The step's own input is computed after
    /// that, so that the step doesn't reopen itself.
    ///
    /// # Errors
    /// [`NotNow`] when the step neither was in progress nor could begin now.
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
        // If other inputs of the step changed while it was in progress, it stays open.
        let input = if is_as_begun { self.input(at) } else { begun };
        self.slots[at] = Slot::Judged { input, verdict: Verdict::Pass, output: Some(output) };
        Ok(self.close_spent())
    }

    /// Records the verdict of a step.
    ///
    /// # Errors
    /// [`NotNow`] when the verdict is about another input than the current one, or the step could not begin now.
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

    /// Withdraws an intent whose step has turned out to be impossible now.
    ///
    /// # Errors
    /// [`NotNow`] when the step is not in progress.
    pub fn withdraw(&mut self, at: usize) -> Result<(), NotNow> {
        if !self.slots[at].is_under_way() {
            return Err(NotNow::Stale);
        }
        self.slots[at] = Slot::Idle;
        Ok(())
    }

    /// Records a new head of the run's branch; steps that read it are open again.
    pub fn move_head(&mut self, head: &str) -> Moved {
        if self.is_done || self.held.is_some() || self.head == head {
            return Moved::On;
        }
        head.clone_into(&mut self.head);
        self.refresh();
        self.close_spent()
    }

    /// Reopens a step and the steps that depend on it. Verdicts that are still valid for their input are kept.
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

    /// Releases a held unit after a person's decision: resets all limits and reopens `again`, if given.
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

    /// Ends the unit, whatever steps are left.
    pub fn finish(&mut self) -> Moved {
        self.is_done = true;
        Moved::Done
    }

    /// Holds the unit for a person.
    pub fn hold(&mut self, why: Hold) -> Moved {
        self.held = Some(why);
        Moved::Held
    }

    /// Drops all work in progress, because no assignee is active any more.
    pub fn drop_work(&mut self) {
        for slot in self.slots.iter_mut().filter(|slot| slot.is_under_way()) {
            *slot = Slot::Idle;
        }
    }

    /// Returns the step that a worker carries out.
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

    /// Goes back if a step refuses and all others that judge the same have reported; holds the unit if a limit is
    /// reached.
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

    /// Returns a step that stops the unit, once all others that judge the same have reported.
    fn refusing(&self) -> Option<usize> {
        (0..self.slots.len()).find(|at| self.refuses(*at) && self.have_all_judged(*at))
    }

    /// Returns the input at the beginning of a step in progress.
    fn begun(&self, at: usize) -> Option<Digest> {
        match &self.slots[at] {
            Slot::Intended { input, .. } | Slot::Running { input, .. } | Slot::Ended { input, .. } => Some(*input),
            Slot::Idle | Slot::Judged { .. } => None,
        }
    }

    /// Returns true if all steps that would send the unit back to the same step have reported on the current input.
    fn have_all_judged(&self, at: usize) -> bool {
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
        // The next change is new to every step that judges it, so these steps start with full limits.
        for other in self.way.mends(to).to_vec() {
            if other != to {
                (self.spent[other].attempts, self.spent[other].failures) = (0, 0);
            }
        }
        self.refresh();
        Moved::Back { to }
    }
}
