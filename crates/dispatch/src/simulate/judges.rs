//! Checks the invariants of workers that judge a change, from the events in the order of the log, and from the actual
//! answers of the simulated agents.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_protocol::id::WorkerId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::{Step, StepId};
use switchboard_protocol::run::{MAX_ANSWERS, MAX_FAILURES, MAX_LOSSES, PersonAnswer, RunEvent, TurnOutcome, Verdict};

/// What an agent's answer counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    Yes,
    No,
    /// It made forbidden changes, or its answer is unusable.
    Nothing,
}

#[derive(Default)]
pub(super) struct Judges {
    tasks: BTreeMap<TaskId, OfTask>,
    /// What the answer of each worker that judges counts for.
    asked: BTreeMap<WorkerId, Counts>,
    /// Workers whose answer was taken.
    heard: BTreeSet<WorkerId>,
    pub(super) answers: u64,
    pub(super) unusable: u64,
}

/// Task with the verdicts on its change.
#[derive(Default)]
struct OfTask {
    /// Steps that must accept its change, in their order.
    steps: Vec<Step>,
    /// Attempt of its change, once there is one.
    made: Option<u32>,
    /// True if a verdict refuses the change, or a person may have asked for another attempt.
    is_refused: bool,
    may_begin_anew: bool,
    /// True if it asks a role, so that there is no change to judge.
    is_ask: bool,
    accepted: BTreeSet<StepId>,
    at: Option<At>,
    spent: BTreeMap<StepId, Spent>,
}

/// Last worker that was asked.
struct At {
    step: StepId,
    worker: WorkerId,
    has_ended: bool,
}

#[derive(Default, Clone, Copy)]
struct Spent {
    unusable: u32,
    failed: u32,
    lost: u32,
}

// === impl Judges ===

impl Judges {
    /// Registers the start of a worker that judges.
    pub(super) fn add_judge(&mut self, worker: WorkerId, counts_for: Counts) {
        self.asked.insert(worker, counts_for);
    }

    /// Registers a task and its way.
    pub(super) fn walks(&mut self, task: &TaskId, steps: &[Step]) {
        let is_required = |step: &&Step| step.does.answer().is_some() && step.when.is_always();
        let of = self.tasks.entry(task.clone()).or_default();
        if of.steps.is_empty() {
            of.steps = steps.iter().filter(is_required).cloned().collect();
            of.is_ask = steps.iter().all(|step| step.does.answer().is_some());
        }
    }

    /// Begins a task: one of an earlier run may have had the same id.
    pub(super) fn begins(&mut self, task: &TaskId) {
        self.tasks.remove(task);
    }

    /// Handles an event; returns the broken invariant, if any.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most events say nothing about judging")]
    pub(super) fn see(&mut self, event: &RunEvent) -> Result<(), String> {
        let Some(task) = event.task() else { return Ok(()) };
        let of = self.tasks.entry(task.clone()).or_default();
        match event {
            RunEvent::StepAnswered { worker, verdict, .. } => {
                self.answers += 1;
                let counts_for = if *verdict == Verdict::Fail { Counts::No } else { Counts::Yes };
                let truth = self.asked.get(worker).copied();
                if truth != Some(counts_for) {
                    return Err(format!("{worker} of {task} counts for {counts_for:?}, and in truth for {truth:?}"));
                }
                if !self.heard.insert(worker.clone()) {
                    return Err(format!("the answer of {worker} of {task} counts twice"));
                }
            }
            RunEvent::AnswerRefused { .. } => self.unusable += 1,
            _ => {}
        }
        of.see(event).map_err(|broken| format!("{task}: {broken}"))
    }
}

// === impl OfTask ===

impl OfTask {
    #[expect(clippy::wildcard_enum_match_arm, reason = "most events say nothing about judging")]
    fn see(&mut self, event: &RunEvent) -> Result<(), String> {
        match event {
            RunEvent::WorkerIntended { step, attempt, worker, .. } => return self.intended(step, *attempt, worker),
            RunEvent::ChangeCaptured { attempt, .. } => match self.at.take() {
                Some(at) => return self.accepts(&at.step),
                None => return self.is_made(*attempt),
            },
            RunEvent::NothingChanged { .. } => {
                if let Some(at) = self.at.take() {
                    return self.accepts(&at.step);
                }
            }
            RunEvent::CandidateChosen { attempt, .. } => return self.is_made(*attempt),
            RunEvent::StepAnswered { step, worker, attempt, verdict, .. } => {
                let is_due = (self.is_ask || self.made == Some(*attempt)) && self.is_at(step, worker);
                if !is_due {
                    return Err(format!("{worker} answers for {step} of attempt {attempt}, which nobody waits for"));
                }
                let writes = self.steps.iter().any(|known| known.id == *step && !known.does.writes().is_empty());
                if *verdict == Verdict::Fail {
                    (self.is_refused, self.at) = (true, None);
                } else if !writes {
                    self.at = None;
                    return self.accepts(step);
                }
            }
            RunEvent::StepSkipped { step, .. } => return self.accepts(step),
            RunEvent::AnswerRefused { step, worker, .. } => {
                if !self.is_at(step, worker) {
                    return Err(format!("the answer of {worker} for {step} is refused, and nobody waits for it"));
                }
                self.at = None;
                self.spent.entry(step.clone()).or_default().unusable += 1;
            }
            RunEvent::TurnEnded { worker, outcome, .. } => self.turn_ended(worker, *outcome),
            RunEvent::WorkerLost { worker, .. } => self.turn_ended(worker, TurnOutcome::Stopped),
            RunEvent::TreeSetupFailed { .. } | RunEvent::PersonAsked { .. } | RunEvent::TaskBlocked { .. } => {
                self.at = None;
            }
            // A refusal in truth must show as another attempt; which verdicts refuse is decided by the gates.
            RunEvent::GateReported { .. } | RunEvent::MergeConflicted { .. } => self.may_begin_anew = true,
            RunEvent::PersonAnswered { answer, .. } => self.may_begin_anew |= *answer == PersonAnswer::Retry,
            RunEvent::TaskRetryRequested { .. } => {
                self.spent.clear();
                (self.at, self.may_begin_anew) = (None, true);
            }
            RunEvent::TaskMerged { .. } => {
                let open = self.steps.iter().find(|step| !self.accepted.contains(&step.id));
                if let Some(step) = open {
                    return Err(format!("it is merged, and {} has not accepted it", step.id));
                }
                if self.is_refused {
                    return Err("it is merged though it was refused".to_owned());
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn intended(&mut self, step: &StepId, attempt: u32, worker: &WorkerId) -> Result<(), String> {
        if !self.steps.iter().any(|known| known.id == *step) {
            let is_due = self.made.is_none() || self.is_refused || self.may_begin_anew;
            self.begin_anew(None);
            return if is_due {
                Ok(())
            } else {
                Err(format!("attempt {attempt} begins though nothing refused the last"))
            };
        }
        self.may_begin_anew = false;
        if !self.is_ask && (self.made != Some(attempt) || self.is_refused) {
            return Err(format!("{step} is asked about attempt {attempt}, and the change is of {:?}", self.made));
        }
        self.expect_turn(step)?;
        let Spent { unusable, failed, lost } = self.spent.get(step).copied().unwrap_or_default();
        if unusable >= MAX_ANSWERS || failed >= MAX_FAILURES || lost >= MAX_LOSSES {
            return Err(format!(
                "{step} is asked again after {unusable} bad answers, {failed} failures, {lost} losses"
            ));
        }
        self.at = Some(At { step: step.clone(), worker: worker.clone(), has_ended: false });
        Ok(())
    }

    /// Checks that the steps before this one have accepted the change, and this one has not.
    fn expect_turn(&self, step: &StepId) -> Result<(), String> {
        let before = self.steps.iter().map(|step| &step.id).take_while(|id| *id != step);
        let before: BTreeSet<_> = before.cloned().collect();
        match self.accepted == before {
            true => Ok(()),
            false => Err(format!("{step} is asked after {:?}", self.accepted)),
        }
    }

    fn is_made(&mut self, attempt: u32) -> Result<(), String> {
        let is_due = self.made.is_none() || self.is_refused || self.may_begin_anew;
        self.begin_anew(Some(attempt));
        if is_due { Ok(()) } else { Err("its change is replaced though nothing refused it".to_owned()) }
    }

    fn begin_anew(&mut self, made: Option<u32>) {
        self.accepted.clear();
        (self.made, self.at, self.is_refused, self.may_begin_anew) = (made, None, false, false);
        // Only lost workers stay counted, until a person asks for a retry.
        self.spent.values_mut().for_each(|spent| (spent.unusable, spent.failed) = (0, 0));
    }

    fn accepts(&mut self, step: &StepId) -> Result<(), String> {
        self.expect_turn(step)?;
        self.accepted.insert(step.clone());
        Ok(())
    }

    fn is_at(&self, step: &StepId, worker: &WorkerId) -> bool {
        self.at.as_ref().is_some_and(|at| at.step == *step && at.worker == *worker && at.has_ended)
    }

    fn turn_ended(&mut self, worker: &WorkerId, outcome: TurnOutcome) {
        let Some(at) = self.at.as_mut().filter(|at| at.worker == *worker && !at.has_ended) else { return };
        if outcome == TurnOutcome::Finished {
            at.has_ended = true;
            return;
        }
        let spent = self.spent.entry(at.step.clone()).or_default();
        match outcome {
            TurnOutcome::Failed | TurnOutcome::Refused | TurnOutcome::TimedOut => spent.failed += 1,
            TurnOutcome::Stopped => spent.lost += 1,
            TurnOutcome::Finished | TurnOutcome::Paused | TurnOutcome::RateLimited | TurnOutcome::ModelFailed => {}
        }
        self.at = None;
    }
}
