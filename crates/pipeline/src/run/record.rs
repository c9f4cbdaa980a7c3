//! State of one unit: its position on its way, and the view of it for users.

use std::collections::BTreeSet;

use switchboard_protocol::id::{Digest, NeedId, WorkerId};
use switchboard_protocol::plan::{RetryFrom, TaskId};
use switchboard_protocol::run::way::{CommandStep, Join, Step, StepAction, StepId, UnitId};
use switchboard_protocol::run::{
    Change, GateReport, HeldBy, Refusal, StartFrom, StepReport, TaskPauseCause, TaskState, TaskView, Verdict,
};
use switchboard_protocol::time::Millis;

use super::attempt_end::Alike;
use super::begun::Begun;
use crate::paths::Claims;
use crate::way::{Hold, Slot, Unit};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) id: UnitId,
    /// Number of events that carried its lists.
    pub(super) parts: u32,
    /// Group that contains it, or its parent task if it is a subtask.
    pub(super) within: Option<usize>,
    /// Parent task if it is a subtask.
    pub(super) parent: Option<usize>,
    /// Indexes of its subtasks.
    pub(super) subtasks: Vec<usize>,
    /// Units that a group's members wait for.
    pub(super) barrier: Vec<usize>,
    pub(super) depends: BTreeSet<usize>,
    pub(super) dependents: Vec<usize>,
    /// Number of units that it waits for and that are not done.
    pub(super) unmet: usize,
    /// Paths that it declares to write and to read.
    pub(super) claims: Claims,
    pub(super) timeout_ms: Option<i64>,
    pub(super) unit: Unit,
    /// How it ended; `None` while it has not.
    pub(super) ending: Option<Ending>,
    /// Outcome that its end counts as for the run, once it has ended.
    pub(super) counted: Option<Counted>,
    /// Tasks whose changes it has chosen since a person last requested a retry.
    pub(super) chosen: Vec<TaskId>,
    pub(super) from: StartFrom,
    /// True if the last worker of the current attempt was interrupted or lost.
    pub(super) resume: bool,
    /// Number of waits for a rate limit in a row.
    pub(super) rate_waits: u32,
    /// Number of transient model errors of its workers in a row.
    pub(super) transients: u32,
    /// All workers so far, the current one last.
    pub(super) workers: Vec<WorkerId>,
    /// Head of the branch at the start of the merge in progress.
    pub(super) onto: Option<String>,
    /// Landing of a group that has its own branch.
    pub(super) landing: Option<usize>,
    /// Head of the group's branch according to the events, if this task is the group's landing.
    pub(super) group_head: Option<String>,
    /// Lease of another agent that its merge waits for.
    pub(super) lease: Option<HeldBy>,
    /// Question to a person that the task waits for.
    pub(super) waiting: Option<Waiting>,
    /// Ids of all questions of the task so far.
    pub(super) asked: BTreeSet<NeedId>,
    /// Digests of what a person has approved.
    pub(super) confirmed: BTreeSet<Digest>,
    pub(super) stopping: bool,
    /// Requested time for its agent to end, in milliseconds.
    pub(super) grace_ms: Option<u64>,
    /// Ceiling for its cost including its subtasks, if it has its own.
    pub(super) ceiling: Option<u64>,
    /// Highest share of its ceiling, in percent, that was reported.
    pub(super) alerted: u8,
    /// True if a rebase of its tree was requested.
    pub(super) rebase: bool,
    /// Step that the leading agent has begun.
    pub(super) begun: Option<Begun>,
    /// Files that its coder may change, if the leading agent has declared them.
    pub(super) declared: Vec<String>,
    /// Cause of its pause; `None` if it is not paused.
    pub(super) paused: Option<TaskPauseCause>,
    /// Time since which the clock of its worker is stopped.
    pub(super) clock_stopped_since: Option<Millis>,
    /// Total time in milliseconds for which the clock of its worker was stopped before.
    pub(super) clock_stopped_ms: i64,
    /// True if its unusually high cost was allowed or reported.
    pub(super) is_high_cost_allowed: bool,
    pub(super) reports: Vec<Reported>,
    /// The last answer of each answering step.
    pub(super) answers: Vec<Answer>,
    /// Error in the answer that is requested again.
    pub(super) again: Option<String>,
    pub(super) refusals: Vec<Refusal>,
    /// The last attempts, if they ended alike.
    pub(super) alike: Option<Alike>,
    /// Number of refusals before a person last requested a retry.
    pub(super) old_refusals: usize,
    /// Note for the next attempt; empty if there is none.
    pub(super) note: String,
    /// Number of retries that a person requested.
    pub(super) retries: u32,
}

/// A question to a person that a task waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) need: NeedId,
    pub(super) reason: String,
    /// Step whose verdict the answer is; `None` if its worker was denied something.
    pub(super) step: Option<usize>,
}

/// A gate's report, with the input that it judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reported {
    pub(super) input: Option<Digest>,
    pub(super) report: GateReport,
    /// True if its findings need a person's attention.
    pub(super) asks: bool,
    /// True if the run stops because of it, once the other gates have reported.
    pub(super) halts: bool,
}

/// The answer of a step's worker, with the input that it judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) step: usize,
    pub(super) attempt: u32,
    pub(super) input: Digest,
    pub(super) verdict: Verdict,
    pub(super) reasons: Vec<String>,
}

/// End of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    /// All steps passed. `commit` is the task's commit in the run's branch, or of its change if it is not merged.
    Done { commit: String },
    /// The unit waits for a person.
    Blocked { reason: String },
    /// A task that it depends on has failed.
    DepFailed { root: TaskId },
    /// The unit was stopped.
    Stopped,
}

/// Outcome that the end of a task counts as for its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    Done,
    Blocked,
    DepFailed,
    Stopped,
}

impl Ending {
    pub(super) const fn counted(&self) -> Counted {
        match self {
            Self::Done { .. } => Counted::Done,
            Self::Blocked { .. } => Counted::Blocked,
            Self::DepFailed { .. } => Counted::DepFailed,
            Self::Stopped => Counted::Stopped,
        }
    }
}

impl Record {
    pub(super) fn new(id: UnitId, within: Option<usize>, timeout_ms: Option<i64>, unit: Unit) -> Self {
        Self {
            id,
            parts: 1,
            within,
            parent: None,
            subtasks: Vec::new(),
            barrier: Vec::new(),
            depends: BTreeSet::new(),
            dependents: Vec::new(),
            unmet: 0,
            claims: Claims::default(),
            timeout_ms,
            unit,
            ending: None,
            counted: None,
            chosen: Vec::new(),
            from: StartFrom::RunHead,
            resume: false,
            rate_waits: 0,
            transients: 0,
            workers: Vec::new(),
            onto: None,
            landing: None,
            group_head: None,
            lease: None,
            waiting: None,
            asked: BTreeSet::new(),
            confirmed: BTreeSet::new(),
            stopping: false,
            grace_ms: None,
            ceiling: None,
            alerted: 0,
            rebase: false,
            begun: None,
            declared: Vec::new(),
            paused: None,
            clock_stopped_since: None,
            clock_stopped_ms: 0,
            is_high_cost_allowed: false,
            reports: Vec::new(),
            answers: Vec::new(),
            again: None,
            refusals: Vec::new(),
            alike: None,
            old_refusals: 0,
            note: String::new(),
            retries: 0,
        }
    }

    /// Returns how many attempts were refused since a person last requested a retry, and how many may be. An attempt
    /// that several gates refused counts once.
    pub(super) fn tried(&self, step: usize) -> (u32, u32) {
        let refused: BTreeSet<u32> =
            self.refusals.iter().skip(self.old_refusals).map(|refusal| refusal.attempt).collect();
        (u32::try_from(refused.len()).unwrap_or(u32::MAX), self.unit.way().steps()[step].limits.attempts)
    }

    /// Returns what the next attempt begins with if this change is refused.
    pub(super) fn retry_from(&self) -> RetryFrom {
        match self.maker() {
            Some(StepAction::Work { retry_from, .. }) => *retry_from,
            Some(_) | None => RetryFrom::Change,
        }
    }

    /// Sets the start point of the next attempt after a refusal.
    pub(super) fn begin_after_refusal(&mut self) {
        let Some(Change { commit, base, .. }) = self.unit.change().cloned() else { return };
        self.from = match self.retry_from() {
            RetryFrom::Change => StartFrom::Change { commit, base },
            RetryFrom::Clean => StartFrom::RunHead,
        };
    }

    /// Returns true if the attempt began with a refused change, and `test_integrity` refuses its result.
    pub(super) fn lost_handed_tests(&self) -> bool {
        let is_refused = |reported: &Reported| {
            let GateReport { gate, verdict, .. } = &reported.report;
            gate == crate::gate::TEST_INTEGRITY && self.is_refused_by(gate, *verdict)
        };
        matches!(self.from, StartFrom::Change { .. }) && self.reports.iter().any(is_refused)
    }

    /// Drops reports of gates on earlier inputs. A gate whose verdict still holds is not asked again, so its findings
    /// are kept.
    pub(super) fn drop_past_reports(&mut self) {
        let unit = &self.unit;
        let holds = |reported: &Reported| {
            let step = unit.way().check_of(&reported.report.gate);
            step.is_some_and(|at| unit.is_current(at) && reported.input == Some(unit.input(at)))
        };
        self.reports.retain(holds);
    }

    /// Returns the step action that makes its change or its report.
    pub(super) fn maker(&self) -> Option<&StepAction> {
        self.unit.way().maker().map(|at| &self.unit.way().steps()[at].does)
    }

    /// Returns the task whose change its tree begins with.
    pub(super) fn begins_on(&self) -> Option<&TaskId> {
        let StepAction::Work { begins_on, .. } = self.maker()? else { return None };
        begins_on.as_ref()
    }

    /// Returns the quorums that it waits for and that were not complete so far.
    pub(super) fn quorums(&self) -> impl Iterator<Item = (usize, &[TaskId], u32)> {
        let steps = self.unit.way().steps().iter().enumerate();
        steps.filter_map(|(at, step)| {
            let StepAction::Units { join: Join::Quorum { of, least } } = &step.does else { return None };
            (!self.unit.has_passed(at)).then_some((at, of.as_slice(), *least))
        })
    }

    /// Returns true if some of the units that it waits for may fail.
    pub(super) fn is_tolerant(&self) -> bool {
        let first = self.unit.way().steps().first().map(|step| &step.does);
        matches!(first, Some(StepAction::Units { join: Join::Quorum { .. } }))
    }

    /// Returns true if it ends with a merge.
    pub(super) fn merges(&self) -> bool {
        self.unit.way().steps().iter().any(|step| step.does == StepAction::Merge)
    }

    /// Returns the id of the task; `None` for a phase or a slice.
    pub(super) const fn task(&self) -> Option<&TaskId> {
        self.id.task()
    }

    /// Returns the current attempt, from 1: how often the step that makes its change was opened.
    pub(super) fn attempt(&self) -> u32 {
        self.unit.way().maker().map_or(0, |work| self.unit.salt(work)) + 1
    }

    /// Returns the number of workers lost since the last retry by a person.
    fn losses(&self) -> u32 {
        (0..self.unit.slots().len()).map(|at| self.unit.spent(at).losses).sum()
    }

    pub(super) fn view(&self) -> Option<TaskView> {
        let all = || self.reports.iter().map(|reported| reported.report.clone());
        let (required, advisory): (Vec<_>, Vec<_>) = all().partition(|report| report.required);
        Some(TaskView {
            task: self.task()?.clone(),
            state: self.state(),
            attempt: self.attempt(),
            losses: self.losses(),
            stopping: self.stopping,
            paused: self.paused,
            not_started: None,
            gates: [required, advisory].concat(),
            pending_gates: self.pending_gates(),
            steps: self.step_reports(),
            step: self.other_step(),
            refusals: self.refusals.clone(),
        })
    }

    /// Returns the answers of answering steps that apply to the current input.
    fn step_reports(&self) -> Vec<StepReport> {
        let report = |(at, step): (usize, &Step)| {
            let answer = self.answers.iter().find(|answer| answer.step == at && self.unit.is_current(at))?;
            Some(StepReport { step: step.id.clone(), verdict: answer.verdict, reasons: answer.reasons.clone() })
        };
        self.unit.way().steps().iter().enumerate().filter_map(report).collect()
    }

    /// Returns the answering step whose worker is active or needed next.
    fn other_step(&self) -> Option<StepId> {
        if self.is_settled() {
            return None;
        }
        let steps = self.unit.way().steps();
        let answers = |at: &usize| steps[*at].does.answer().is_some();
        let at_work = self.live_step().or_else(|| self.capturing_step());
        let next = || self.unit.open().first().copied();
        at_work.or_else(next).filter(answers).map(|at| steps[at].id.clone())
    }

    /// Returns the step at which the unit is held: one that has reached a limit, or the next one if it is held from
    /// outside.
    pub(super) fn held_at(&self) -> Option<usize> {
        match self.unit.held()? {
            Hold::Attempts { step, .. }
            | Hold::Repeated { step, .. }
            | Hold::Losses { step, .. }
            | Hold::Runs { step, .. }
            | Hold::Failures { step, .. }
            | Hold::Refused { step } => Some(*step),
            Hold::Asked => (0..self.unit.slots().len()).find(|at| self.unit.is_due(*at)),
        }
    }

    /// Returns true if the worker of a step answers.
    pub(super) fn answers_in(&self, step: usize) -> bool {
        self.unit.way().steps()[step].does.answer().is_some()
    }

    /// Returns the gates of its way that have not reported on the current attempt.
    fn pending_gates(&self) -> Vec<String> {
        let gate = |step: &Step| step.does.gate().map(ToString::to_string);
        let is_pending = |gate: &String| !self.reports.iter().any(|reported| reported.report.gate == *gate);
        self.unit.way().steps().iter().filter_map(gate).filter(is_pending).collect()
    }

    /// Returns the state of the task as users see it, a projection of the slots.
    pub(super) fn state(&self) -> TaskState {
        match &self.ending {
            // Without a commit there was nothing to change, and nothing was merged.
            Some(Ending::Done { commit }) if self.merges() && !commit.is_empty() => {
                return TaskState::Merged { commit: commit.clone() };
            }
            Some(Ending::Done { commit }) => return TaskState::Done { commit: commit.clone() },
            Some(Ending::Blocked { reason }) => return TaskState::Blocked { reason: reason.clone() },
            Some(Ending::DepFailed { root }) => return TaskState::DepFailed { root: root.clone() },
            Some(Ending::Stopped) => return TaskState::Stopped,
            None => {}
        }
        if self.unmet > 0 {
            return TaskState::Pending;
        }
        if let Some(Waiting { need, reason, step: _ }) = self.waiting.clone() {
            return TaskState::Waiting { need, reason };
        }
        self.at_work().unwrap_or_else(|| self.between_steps())
    }

    /// Returns the state while a step is in progress.
    fn at_work(&self) -> Option<TaskState> {
        let worker = || self.workers.last().cloned();
        let slots = self.unit.slots().iter().zip(self.unit.way().steps());
        let (slot, step) = slots.into_iter().find(|(slot, _)| slot.is_under_way())?;
        match (&step.does, slot) {
            (StepAction::Work { .. }, Slot::Intended { .. }) => Some(TaskState::Starting { worker: worker()? }),
            (StepAction::Work { .. }, Slot::Running { .. }) => Some(TaskState::Working { worker: worker()? }),
            (StepAction::Work { .. }, Slot::Ended { .. }) => Some(TaskState::Capturing { worker: worker()? }),
            (StepAction::Merge, _) => {
                Some(TaskState::Merging { change: self.unit.change()?.clone(), onto: self.onto.clone()? })
            }
            (StepAction::Work { .. }, Slot::Idle | Slot::Judged { .. })
            | (
                StepAction::Choose { .. }
                | StepAction::Check { .. }
                | StepAction::Command { .. }
                | StepAction::Ask { .. }
                | StepAction::Units { .. },
                _,
            ) => None,
        }
    }

    /// Returns the state while no step is in progress; it depends on what is open.
    fn between_steps(&self) -> TaskState {
        let steps = self.unit.way().steps();
        let Some(change) = self.unit.change().cloned() else { return TaskState::Ready };
        let open = self.unit.open();
        let is_open = |wanted: fn(&StepAction) -> bool| open.iter().any(|at| wanted(&steps[*at].does));
        if is_open(|does| matches!(does, StepAction::Work { .. })) {
            return TaskState::Ready;
        }
        if is_open(|does| matches!(does, StepAction::Check { .. })) {
            return if self.reports.is_empty() { TaskState::Captured { change } } else { TaskState::Gating { change } };
        }
        match self.lease.clone() {
            Some(lease) => TaskState::Held { change, lease },
            None => TaskState::Passed { change },
        }
    }

    /// Returns true if nothing more happens to it without a person's request.
    pub(super) const fn is_settled(&self) -> bool {
        self.ending.is_some()
    }

    pub(super) fn is_blocked(&self) -> bool {
        matches!(self.ending, Some(Ending::Blocked { .. }))
    }

    /// Returns the step whose worker's process may be running.
    pub(super) fn live_step(&self) -> Option<usize> {
        let is_work = |at: usize| matches!(self.unit.way().steps()[at].does, StepAction::Work { .. });
        let is_live = |slot: &Slot| matches!(slot, Slot::Intended { .. } | Slot::Running { .. });
        (0..self.unit.slots().len()).find(|at| is_work(*at) && is_live(&self.unit.slots()[*at]))
    }

    /// Returns the worker whose process may be running.
    pub(super) fn live_worker(&self) -> Option<&WorkerId> {
        self.live_step().and_then(|_| self.workers.last())
    }

    /// Returns true if something in progress must end before the task can stop: a process, a merge, a question to a
    /// person.
    pub(super) fn must_end_first(&self) -> bool {
        self.live_worker().is_some() || self.is_in_doubt() || self.waiting.is_some()
    }

    /// Returns true if the merge of its change is in progress.
    pub(super) fn is_merging(&self) -> bool {
        self.onto.is_some()
    }

    /// Returns true between an intent and its outcome.
    pub(super) fn is_in_doubt(&self) -> bool {
        let is_starting = self.live_step().is_some_and(|at| matches!(self.unit.slots()[at], Slot::Intended { .. }));
        is_starting || self.is_merging()
    }

    /// Returns the step whose worker has ended and whose change is to be captured.
    pub(super) fn capturing_step(&self) -> Option<usize> {
        self.unit.slots().iter().position(|slot| matches!(slot, Slot::Ended { .. }))
    }

    /// Returns true if the worker of a step may leave its tree unchanged.
    pub(super) fn may_keep(&self, step: usize) -> bool {
        matches!(self.unit.way().steps()[step].does, StepAction::Work { may_keep: true, .. })
    }

    /// Returns the captured change of the current attempt, until it is merged.
    pub(super) fn captured(&self) -> Option<&Change> {
        let maker = self.unit.way().maker()?;
        let is_captured = !self.is_settled() && self.unit.has_passed(maker);
        self.unit.change().filter(|_| is_captured)
    }

    /// Returns true if this is the change that the current attempt has produced so far.
    pub(super) fn is_made(&self, change: &Change) -> bool {
        let is_captured = self.unit.way().maker().is_some_and(|maker| self.unit.has_passed(maker));
        is_captured && self.unit.change() == Some(change)
    }

    /// Returns the time at which the worker has to be stopped; a pause delays it.
    pub(super) fn deadline(&self) -> Option<Millis> {
        if self.clock_stopped_since.is_some() {
            return None;
        }
        Some(self.running_since()?.plus(self.timeout_ms?).plus(self.clock_stopped_ms))
    }

    /// Returns the time at which the worker began.
    fn running_since(&self) -> Option<Millis> {
        match self.unit.slots().get(self.live_step()?)? {
            Slot::Running { since, .. } => Some(*since),
            Slot::Idle | Slot::Intended { .. } | Slot::Ended { .. } | Slot::Judged { .. } => None,
        }
    }

    /// Stops or restarts the clock of the worker.
    pub(super) fn stand_still(&mut self, is_paused: bool, now: Millis) {
        match (is_paused, self.clock_stopped_since) {
            (true, None) => self.clock_stopped_since = Some(now),
            (false, Some(since)) => {
                self.clock_stopped_since = None;
                self.clock_stopped_ms = self.clock_stopped_ms.saturating_add(now.since(since).max(0));
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// Returns true if it can't continue before a person, another agent or another unit has acted. A paused worker's
    /// process may be running.
    pub(super) fn waits_for_others(&self) -> bool {
        let is_asked = self.paused.is_some() || self.waiting.is_some();
        let is_idle = || !self.unit.slots().iter().any(Slot::is_under_way);
        is_asked || (is_idle() && matches!(self.open_for(), OpenFor::Nothing | OpenFor::Lease))
    }

    /// Returns what is open, by kind.
    pub(super) fn open_for(&self) -> OpenFor {
        if self.is_settled() || self.unmet > 0 || self.stopping || self.waiting.is_some() {
            return OpenFor::Nothing;
        }
        let steps = self.unit.way().steps();
        let open = self.unit.open();
        let Some(first) = open.first() else { return OpenFor::Nothing };
        match &steps[*first].does {
            StepAction::Work { .. } if !steps[*first].when.is_always() => OpenFor::LeftOut { step: *first },
            StepAction::Work { .. } => OpenFor::Worker { step: *first },
            StepAction::Choose { .. } => OpenFor::Choice { step: *first },
            StepAction::Command { kind: CommandStep::Gather, .. } => OpenFor::Gather { step: *first },
            StepAction::Command { kind: CommandStep::LintFix, .. } => OpenFor::LintFix { step: *first },
            StepAction::Check { .. } => OpenFor::Checks { steps: open },
            StepAction::Command { .. } | StepAction::Merge if self.lease.is_some() => OpenFor::Lease,
            StepAction::Command { .. } | StepAction::Merge => OpenFor::Turn { step: *first },
            StepAction::Ask { .. } => OpenFor::Person { step: *first },
            StepAction::Units { .. } => OpenFor::Nothing,
        }
    }
}

/// Next work that a unit is open for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OpenFor {
    /// Nothing: a step is in progress, or the unit waits or is settled.
    Nothing,
    /// A worker.
    Worker { step: usize },
    /// No worker: the step was left out when the way was compiled, and counts as skipped.
    LeftOut { step: usize },
    /// The choice among the changes of its subtasks.
    Choice { step: usize },
    /// The collection of its group's change, which git provides.
    Gather { step: usize },
    /// The command that fixes lint findings.
    LintFix { step: usize },
    /// Gates.
    Checks { steps: Vec<usize> },
    /// A person's approval.
    Person { step: usize },
    /// The end of another agent's lease.
    Lease,
    /// The unit's turn at the run's branch: a rebase or the merge.
    Turn { step: usize },
}
