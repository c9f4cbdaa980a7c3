//! Rules for steps that judge a change, checked from events alone.
//!
//! The rules: each required step accepts the change before it is merged, and accepts it once. A new attempt must be
//! judged again, a rebase need not. An answer counts once, for the worker that was asked, about the input that it was
//! asked about. A worker that gives no usable answer, fails or is lost is replaced a few times without an attempt of
//! the maker; then a person is asked, after whom the same step continues.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_protocol::id::{Digest, NeedId, WorkerId};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::{Step, StepId, Way};
use switchboard_protocol::run::{
    MAX_ANSWERS, MAX_FAILURES, MAX_LOSSES, PauseCause, PersonAnswer, RunEvent, TurnOutcome,
};

#[derive(Default)]
pub(crate) struct Reviews {
    tasks: BTreeMap<TaskId, Judged>,
    /// Step and input that each worker was asked about.
    asked: BTreeMap<WorkerId, (StepId, Digest)>,
    /// Last offered input of each step.
    offered: BTreeMap<(TaskId, StepId), Digest>,
    answered: BTreeSet<WorkerId>,
    /// True if the run is paused because the disk is full: a worker that ends then does not count as lost.
    is_disk_full: bool,
}

/// A task with the judgements on its change.
#[derive(Default)]
struct Judged {
    /// Steps that must accept, in order.
    steps: Vec<Step>,
    /// Attempt of the current change, once there is one.
    made: Option<u32>,
    /// True if the current change is refused.
    is_refused: bool,
    /// True if a person's retry may cause a new change.
    may_begin_anew: bool,
    /// Steps that accepted the current change.
    accepted: BTreeSet<StepId>,
    /// The last worker that was asked, until it has answered or ended.
    at: Option<At>,
    /// The step that was asked last and has not judged the change.
    pending: Option<StepId>,
    /// Numbers of workers without a usable answer, by step; failed and lost workers follow below.
    unusable: BTreeMap<StepId, u32>,
    failed: BTreeMap<StepId, u32>,
    lost: BTreeMap<StepId, u32>,
    /// True if a limit is reached, so that a person must be asked next.
    is_held: bool,
    /// Step at which the task is blocked and at which it continues after a retry.
    blocked_at: Option<StepId>,
    goes_on_at: Option<StepId>,
    is_stopping: bool,
    question: Option<NeedId>,
}

struct At {
    step: StepId,
    worker: WorkerId,
    has_ended: bool,
    accepts: bool,
}

// === impl Reviews ===

impl Reviews {
    /// Adds a task with its way.
    pub(crate) fn added(&mut self, task: &TaskId, way: &Way) {
        let is_required = |step: &&Step| step.does.answer().is_some() && step.when.is_always();
        let steps = way.steps.iter().filter(is_required).cloned().collect();
        self.tasks.insert(task.clone(), Judged { steps, ..Judged::default() });
    }

    /// Records the input that a step is to judge.
    pub(crate) fn offers(&mut self, task: &TaskId, step: &StepId, input: Digest) {
        self.offered.insert((task.clone(), step.clone()), input);
    }

    /// Records the question to a worker about an input.
    pub(crate) fn asks(&mut self, worker: &WorkerId, step: &StepId, input: Digest) {
        self.asked.insert(worker.clone(), (step.clone(), input));
    }

    /// Returns true if a worker is asked about a change in this step.
    pub(crate) fn is_asking(&self, task: &TaskId, step: &StepId) -> bool {
        self.tasks[task].find(step).is_some()
    }

    /// Checks that all required steps have accepted the current change, and that nothing refuses it.
    pub(crate) fn expect_accepted(&self, task: &TaskId) {
        let judged = &self.tasks[task];
        assert!(!judged.is_refused, "{task} is merged though it was refused");
        for step in &judged.steps {
            assert!(judged.accepted.contains(&step.id), "{task} is merged, and {} has not accepted it", step.id);
        }
    }

    /// Checks that no task waits for a person who was not asked.
    pub(crate) fn expect_no_one_held(&self) {
        for (task, judged) in &self.tasks {
            assert!(!judged.is_held, "{task} has reached a limit, and no person knows");
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "most events say nothing about pauses")]
    pub(crate) fn see(&mut self, event: &RunEvent) {
        match event {
            RunEvent::RunPaused { cause: PauseCause::Disk } => self.is_disk_full = true,
            // A retry ends the pause for the disk; if the budget is short, it begins one for the budget.
            RunEvent::RunPaused { cause: PauseCause::Budget } | RunEvent::RunResumed => self.is_disk_full = false,
            _ => {}
        }
        if let RunEvent::RunStopRequested = event {
            self.tasks.values_mut().for_each(Judged::stopped);
        }
        if let RunEvent::StepAnswered { task, worker, step, input, .. } = event {
            let asked = self.asked.get(worker);
            assert_eq!(asked, Some(&(step.clone(), *input)), "{task}: {worker} answers what it was asked");
            assert!(self.answered.insert(worker.clone()), "{task}: {worker} has answered before");
        }
        if let RunEvent::StepSkipped { task, step, input, .. } = event {
            let offered = self.offered.get(&(task.clone(), step.clone()));
            assert_eq!(offered, Some(input), "{task}: {step} is skipped for what stands now");
        }
        let Some(task) = event.task() else { return };
        let Some(judged) = self.tasks.get_mut(task) else { return };
        judged.see(task, event, self.is_disk_full);
    }
}

// === impl Judged ===

impl Judged {
    #[expect(clippy::wildcard_enum_match_arm, reason = "most events say nothing about reviews")]
    fn see(&mut self, task: &TaskId, event: &RunEvent, is_disk_full: bool) {
        match event {
            RunEvent::WorkerIntended { step, attempt, worker, .. } => self.intended(task, step, *attempt, worker),
            RunEvent::ChangeCaptured { attempt, .. } => match self.at_a_step() {
                Some(at) => self.wrote(task, &at),
                None => self.is_made(task, *attempt),
            },
            RunEvent::NothingChanged { .. } => {
                if let Some(at) = self.at_a_step() {
                    self.wrote(task, &at);
                }
            }
            RunEvent::CandidateChosen { attempt, .. } => self.is_made(task, *attempt),
            RunEvent::StepAnswered { step, worker, attempt, verdict, .. } => {
                let known = self.find(step).expect("a step that answers");
                let (accepts, writes) = (known.need.accepts(*verdict), !known.does.writes().is_empty());
                assert_eq!(self.made, Some(*attempt), "{task}: the answer is about the present change");
                let at = self.at.as_mut().filter(|at| at.step == *step && at.worker == *worker && at.has_ended);
                let at = at.unwrap_or_else(|| panic!("{task}: {worker} answers for {step} unasked, or before its end"));
                at.accepts = accepts;
                if !accepts {
                    self.is_refused = true;
                    (self.at, self.pending) = (None, None);
                } else if !writes {
                    self.accepts(task, step);
                }
            }
            RunEvent::StepSkipped { step, attempt, .. } => {
                assert_eq!(self.made, Some(*attempt), "{task}: it is the present change that is skipped");
                if let Some(expected) = self.goes_on_at.take() {
                    assert_eq!(*step, expected, "{task} goes on where it was held");
                }
                self.expect_turn(task, step);
                self.accepts(task, step);
            }
            RunEvent::AnswerRefused { step, worker, .. } => {
                let at = self.at.take().filter(|at| at.step == *step && at.worker == *worker && at.has_ended);
                assert!(at.is_some_and(|at| !at.accepts), "{task}: {worker} has no answer that could be refused");
                self.is_held = count(&mut self.unusable, step) >= MAX_ANSWERS;
            }
            RunEvent::TurnEnded { worker, outcome, .. } => self.turn_ended(worker, *outcome, is_disk_full),
            RunEvent::WorkerLost { worker, .. } => self.turn_ended(worker, TurnOutcome::Stopped, is_disk_full),
            RunEvent::TreeSetupFailed { .. } | RunEvent::PersonAsked { .. } => self.at = None,
            RunEvent::GateReported { gate, verdict, .. } => {
                self.is_refused |= !super::ways::need(gate).accepts(*verdict);
            }
            RunEvent::MergeConflicted { .. } => self.is_refused = true,
            RunEvent::ConfirmationAsked { need, .. } => self.question = Some(need.clone()),
            RunEvent::PersonAnswered { need, answer, .. } => {
                let is_about_change = self.question.take_if(|asked| asked == need).is_some();
                self.is_refused |= is_about_change && *answer == PersonAnswer::Retry;
            }
            RunEvent::TaskBlocked { reason, .. } => {
                assert!(!reason.is_empty(), "{task} says what a person is to decide");
                (self.at, self.is_held) = (None, false);
                self.blocked_at = self.pending.take();
            }
            RunEvent::TaskStopRequested { .. } => self.stopped(),
            RunEvent::TaskRetryRequested { .. } => self.retried(),
            _ => {}
        }
    }

    fn intended(&mut self, task: &TaskId, step: &StepId, attempt: u32, worker: &WorkerId) {
        assert!(!self.is_held, "{task} goes on past a limit without a person");
        if let Some(expected) = self.goes_on_at.take() {
            assert_eq!(*step, expected, "{task} goes on where it was held");
        }
        if self.find(step).is_none() {
            let is_due = self.made.is_none() || self.is_refused || self.may_begin_anew;
            assert!(is_due, "{task}: attempt {attempt} begins though nothing refused the change");
            self.begins_anew();
            (self.made, self.at) = (None, None);
            return;
        }
        self.may_begin_anew = false;
        assert_eq!(self.made, Some(attempt), "{task}: {step} is asked about the present change");
        self.expect_turn(task, step);
        self.at = Some(At { step: step.clone(), worker: worker.clone(), has_ended: false, accepts: false });
        self.pending = Some(step.clone());
    }

    /// Checks that the steps before this one have accepted the change, and that this one has not.
    fn expect_turn(&self, task: &TaskId, step: &StepId) {
        assert!(!self.is_refused, "{task}: {step} is asked about a change that was refused");
        let before = self.steps.iter().map(|step| &step.id).take_while(|id| *id != step);
        let before: BTreeSet<_> = before.cloned().collect();
        assert_eq!(self.accepted, before, "{task}: {step} is asked in its turn, and once about a change");
    }

    fn is_made(&mut self, task: &TaskId, attempt: u32) {
        let is_due = self.made.is_none() || self.is_refused || self.may_begin_anew;
        assert!(is_due, "{task}: its change is replaced though nothing refused it");
        self.begins_anew();
        (self.made, self.at) = (Some(attempt), None);
    }

    /// Resets the judgements for the next change. The count of lost workers is kept until a person requests a retry.
    fn begins_anew(&mut self) {
        self.accepted.clear();
        (self.is_refused, self.may_begin_anew, self.pending) = (false, false, None);
        (self.unusable, self.failed) = (BTreeMap::new(), BTreeMap::new());
    }

    /// Records that the worker's change, or its lack of one, is captured with its answer.
    fn wrote(&mut self, task: &TaskId, step: &StepId) {
        let is_accepted = self.at.as_ref().is_some_and(|at| at.accepts);
        assert!(is_accepted, "{task}: what the worker of {step} wrote is taken without its answer");
        self.accepts(task, step);
    }

    fn accepts(&mut self, task: &TaskId, step: &StepId) {
        (self.at, self.pending) = (None, None);
        assert!(self.accepted.insert(step.clone()), "{task}: {step} accepts a change once");
    }

    fn turn_ended(&mut self, worker: &WorkerId, outcome: TurnOutcome, is_disk_full: bool) {
        let Some(at) = self.at.as_mut().filter(|at| at.worker == *worker && !at.has_ended) else { return };
        let step = at.step.clone();
        match outcome {
            TurnOutcome::Finished => return at.has_ended = true,
            _ if self.is_stopping => {}
            TurnOutcome::Failed | TurnOutcome::Refused | TurnOutcome::TimedOut => {
                self.is_held = count(&mut self.failed, &step) >= MAX_FAILURES;
            }
            TurnOutcome::Stopped if is_disk_full => {}
            TurnOutcome::Stopped => self.is_held = count(&mut self.lost, &step) >= MAX_LOSSES,
            TurnOutcome::Paused | TurnOutcome::RateLimited | TurnOutcome::ModelFailed => {}
        }
        self.at = None;
    }

    fn stopped(&mut self) {
        self.is_stopping = true;
        self.goes_on_at = None;
        // A blocked task stays blocked.
        if self.pending.take().is_some() {
            self.is_held = false;
        }
    }

    fn retried(&mut self) {
        (self.unusable, self.failed, self.lost) = Default::default();
        (self.is_held, self.is_stopping) = (false, false);
        self.goes_on_at = self.blocked_at.take();
        self.may_begin_anew = self.goes_on_at.is_none();
    }

    /// Returns the step whose worker was asked last.
    fn at_a_step(&self) -> Option<StepId> {
        self.at.as_ref().map(|at| at.step.clone())
    }

    fn find(&self, id: &StepId) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == *id)
    }
}

fn count(of: &mut BTreeMap<StepId, u32>, step: &StepId) -> u32 {
    let count = of.entry(step.clone()).or_default();
    *count += 1;
    *count
}
