//! What is known of one unit: where it stands on its way, and what faces are shown of it.

use std::collections::BTreeSet;

use switchboard_protocol::id::{Digest, NeedId, WorkerId};
use switchboard_protocol::plan::{RetryFrom, TaskId};
use switchboard_protocol::run::way::{CommandStep, Do, Join, Step, StepId, UnitId};
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
    /// Events that brought its lists.
    pub(super) parts: u32,
    /// The group that it belongs to, or the task that it is a subtask of.
    pub(super) within: Option<usize>,
    /// The task that it is a subtask of.
    pub(super) whole: Option<usize>,
    /// Its subtasks.
    pub(super) subtasks: Vec<usize>,
    /// What a group's members wait for.
    pub(super) barrier: Vec<usize>,
    pub(super) depends: BTreeSet<usize>,
    pub(super) dependents: Vec<usize>,
    /// Units that it waits for and that are not done.
    pub(super) unmet: usize,
    /// What it declares to write and to read.
    pub(super) claims: Claims,
    pub(super) timeout_ms: Option<i64>,
    pub(super) unit: Unit,
    /// How it ended, once it has.
    pub(super) ending: Option<Ending>,
    /// What its end counts as for the run, once it has ended.
    pub(super) counted: Option<Counted>,
    /// Tasks whose changes it has chosen since a person last asked for a retry.
    pub(super) chosen: Vec<TaskId>,
    pub(super) from: StartFrom,
    /// Whether the present attempt lost a worker.
    pub(super) resume: bool,
    /// How often in a row it has waited for a rate limit.
    pub(super) rate_waits: u32,
    /// How many transient errors of models its workers had, one after the other.
    pub(super) transients: u32,
    /// All workers so far, the present one last.
    pub(super) workers: Vec<WorkerId>,
    /// The head of the branch when the merge that is under way began.
    pub(super) onto: Option<String>,
    /// The task that brings a group to the run's branch, where the group has a branch of its own.
    pub(super) landing: Option<usize>,
    /// Where the branch of the group stands that this task brings to the run's, as far as events tell.
    pub(super) group_head: Option<String>,
    /// The lease of another agent that its merge waits for.
    pub(super) lease: Option<HeldBy>,
    /// What a person is asked, while the task waits for the answer.
    pub(super) waiting: Option<Waiting>,
    /// Every question of the task so far.
    pub(super) asked: BTreeSet<NeedId>,
    /// What a person has said yes to, by its digest.
    pub(super) confirmed: BTreeSet<Digest>,
    pub(super) stopping: bool,
    /// How long its agent may take to end, where somebody said so.
    pub(super) grace_ms: Option<u64>,
    /// What it may cost with its subtasks, where somebody said so of it alone.
    pub(super) ceiling: Option<u64>,
    /// The highest share of its ceiling, in percent, that was told.
    pub(super) alerted: u8,
    /// Whether somebody wants its tree rebased.
    pub(super) rebase: bool,
    /// The step that the agent has begun which leads the run.
    pub(super) begun: Option<Begun>,
    /// The files that its coder may change, where that agent has named them.
    pub(super) declared: Vec<String>,
    /// Why it is paused, if it is.
    pub(super) paused: Option<TaskPauseCause>,
    /// Since when the time of its worker stands still.
    pub(super) still_since: Option<Millis>,
    /// How long the time of its worker has stood still before, in milliseconds.
    pub(super) still_ms: i64,
    /// What is dear about it has been allowed, or said.
    pub(super) may_be_dear: bool,
    pub(super) reports: Vec<Reported>,
    /// What workers of steps that answer have said, the last word of each.
    pub(super) answers: Vec<Answer>,
    /// What was wrong with the answer that is asked for again.
    pub(super) again: Option<String>,
    pub(super) refusals: Vec<Refusal>,
    /// How the last attempts ended, where they ended alike.
    pub(super) alike: Option<Alike>,
    /// Refusals before a person last asked for a retry.
    pub(super) old_refusals: usize,
    /// What was said to who tries it again; empty where nothing was.
    pub(super) note: String,
    /// How often a person has asked for a retry.
    pub(super) retries: u32,
}

/// A question to a person that a task waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) need: NeedId,
    pub(super) reason: String,
    /// The step of its way that the answer is the verdict of; `None` where its worker was denied something.
    pub(super) step: Option<usize>,
}

/// What a gate said, and about what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reported {
    pub(super) input: Option<Digest>,
    pub(super) report: GateReport,
    /// Whether a person should look at what it found.
    pub(super) asks: bool,
    /// Whether the run stops because of it, once the other gates have spoken.
    pub(super) halts: bool,
}

/// What the worker of a step has answered, and about what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) step: usize,
    pub(super) attempt: u32,
    pub(super) input: Digest,
    pub(super) verdict: Verdict,
    pub(super) reasons: Vec<String>,
}

/// How a unit ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    /// All its steps have passed. A task's commit in the run's branch, or of its change where that is not merged.
    Done { commit: String },
    /// It waits for a person.
    Blocked { reason: String },
    /// A task that it needs has failed.
    DepFailed { root: TaskId },
    /// It was stopped.
    Stopped,
}

/// What the end of a task counts as for its run.
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
            whole: None,
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
            still_since: None,
            still_ms: 0,
            may_be_dear: false,
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

    /// How many attempts were refused since a person last asked for a retry, by one gate or by several, and how many may be.
    pub(super) fn tried(&self, step: usize) -> (u32, u32) {
        let refused: BTreeSet<u32> =
            self.refusals.iter().skip(self.old_refusals).map(|refusal| refusal.attempt).collect();
        (u32::try_from(refused.len()).unwrap_or(u32::MAX), self.unit.way().steps()[step].limits.attempts)
    }

    /// What the next attempt begins with when this change was refused.
    pub(super) fn retry_from(&self) -> RetryFrom {
        match self.maker() {
            Some(Do::Work { retry_from, .. }) => *retry_from,
            Some(_) | None => RetryFrom::Change,
        }
    }

    /// The change was refused: says what the next attempt begins with.
    pub(super) fn begin_after_refusal(&mut self) {
        let Some(Change { commit, base, .. }) = self.unit.change().cloned() else { return };
        self.from = match self.retry_from() {
            RetryFrom::Change => StartFrom::Change { commit, base },
            RetryFrom::Clean => StartFrom::RunHead,
        };
    }

    /// Whether the attempt began with a change that others have refused, and `test_integrity` refuses what became of it.
    pub(super) fn lost_handed_tests(&self) -> bool {
        let is_refused = |reported: &Reported| {
            let GateReport { gate, verdict, .. } = &reported.report;
            gate == crate::gate::TEST_INTEGRITY && self.is_refused_by(gate, *verdict)
        };
        matches!(self.from, StartFrom::Change { .. }) && self.reports.iter().any(is_refused)
    }

    /// Drops what gates said of anything but what stands now. A verdict that still holds is not asked for again, so its findings are kept with it.
    pub(super) fn drop_past_reports(&mut self) {
        let unit = &self.unit;
        let holds = |reported: &Reported| {
            let step = unit.way().check_of(&reported.report.gate);
            step.is_some_and(|at| unit.is_current(at) && reported.input == Some(unit.input(at)))
        };
        self.reports.retain(holds);
    }

    /// What makes its change or its report.
    pub(super) fn maker(&self) -> Option<&Do> {
        self.unit.way().maker().map(|at| &self.unit.way().steps()[at].does)
    }

    /// The task whose change its tree begins with.
    pub(super) fn begins_on(&self) -> Option<&TaskId> {
        let Do::Work { begins_on, .. } = self.maker()? else { return None };
        begins_on.as_ref()
    }

    /// The quorums that it waits for and that have not been found complete.
    pub(super) fn quorums(&self) -> impl Iterator<Item = (usize, &[TaskId], u32)> {
        let steps = self.unit.way().steps().iter().enumerate();
        steps.filter_map(|(at, step)| {
            let Do::Units { join: Join::Quorum { of, least } } = &step.does else { return None };
            (!self.unit.has_passed(at)).then_some((at, of.as_slice(), *least))
        })
    }

    /// Whether some of those that it waits for may fail.
    pub(super) fn is_tolerant(&self) -> bool {
        let first = self.unit.way().steps().first().map(|step| &step.does);
        matches!(first, Some(Do::Units { join: Join::Quorum { .. } }))
    }

    /// Whether its end is a merge.
    pub(super) fn merges(&self) -> bool {
        self.unit.way().steps().iter().any(|step| step.does == Do::Merge)
    }

    /// The task; `None` for a phase or a slice.
    pub(super) const fn task(&self) -> Option<&TaskId> {
        self.id.task()
    }

    /// The present attempt, from 1: how often the step that makes its change was opened anew.
    pub(super) fn attempt(&self) -> u32 {
        self.unit.way().maker().map_or(0, |work| self.unit.salt(work)) + 1
    }

    /// Workers lost since the last retry by a person.
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

    /// What workers of steps that answer have said about what stands now.
    fn step_reports(&self) -> Vec<StepReport> {
        let steps = self.unit.way().steps();
        let is_present = |answer: &&Answer| self.unit.is_current(answer.step);
        let mut present: Vec<_> = self.answers.iter().filter(is_present).collect();
        present.sort_by_key(|answer| answer.step);
        let report = |answer: &Answer| StepReport {
            step: steps[answer.step].id.clone(),
            verdict: answer.verdict,
            reasons: answer.reasons.clone(),
        };
        present.into_iter().map(report).collect()
    }

    /// The step whose worker answers and is at work, or is needed next.
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

    /// The step at which the unit is held: one that has reached a limit, or the next one where it is held from outside.
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

    /// Whether the worker of a step answers.
    pub(super) fn answers_in(&self, step: usize) -> bool {
        self.unit.way().steps()[step].does.answer().is_some()
    }

    /// Gates of its way that have not reported on the present attempt.
    fn pending_gates(&self) -> Vec<String> {
        let gate = |step: &Step| step.does.gate().map(ToString::to_string);
        let is_pending = |gate: &String| !self.reports.iter().any(|reported| reported.report.gate == *gate);
        self.unit.way().steps().iter().filter_map(gate).filter(is_pending).collect()
    }

    /// The state of the task as faces show it: a projection of the slots.
    pub(super) fn state(&self) -> TaskState {
        match &self.ending {
            Some(Ending::Done { commit }) if self.merges() => return TaskState::Merged { commit: commit.clone() },
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

    /// The state while somebody is at a step.
    fn at_work(&self) -> Option<TaskState> {
        let worker = || self.workers.last().cloned();
        let slots = self.unit.slots().iter().zip(self.unit.way().steps());
        let (slot, step) = slots.into_iter().find(|(slot, _)| slot.is_under_way())?;
        match (&step.does, slot) {
            (Do::Work { .. }, Slot::Intended { .. }) => Some(TaskState::Starting { worker: worker()? }),
            (Do::Work { .. }, Slot::Running { .. }) => Some(TaskState::Working { worker: worker()? }),
            (Do::Work { .. }, Slot::Ended { .. }) => Some(TaskState::Capturing { worker: worker()? }),
            (Do::Merge, _) => {
                Some(TaskState::Merging { change: self.unit.change()?.clone(), onto: self.onto.clone()? })
            }
            (Do::Work { .. }, Slot::Idle | Slot::Judged { .. })
            | (Do::Choose { .. } | Do::Check { .. } | Do::Command { .. } | Do::Ask { .. } | Do::Units { .. }, _) => {
                None
            }
        }
    }

    /// The state while nobody is at a step: what is open says which.
    fn between_steps(&self) -> TaskState {
        let steps = self.unit.way().steps();
        let Some(change) = self.unit.change().cloned() else { return TaskState::Ready };
        let open = self.unit.open();
        let is_open = |wanted: fn(&Do) -> bool| open.iter().any(|at| wanted(&steps[*at].does));
        if is_open(|does| matches!(does, Do::Work { .. })) {
            return TaskState::Ready;
        }
        if is_open(|does| matches!(does, Do::Check { .. })) {
            return if self.reports.is_empty() { TaskState::Captured { change } } else { TaskState::Gating { change } };
        }
        match self.lease.clone() {
            Some(lease) => TaskState::Held { change, lease },
            None => TaskState::Passed { change },
        }
    }

    /// Whether nothing more happens to it unless a person asks for it.
    pub(super) const fn is_settled(&self) -> bool {
        self.ending.is_some()
    }

    pub(super) fn is_blocked(&self) -> bool {
        matches!(self.ending, Some(Ending::Blocked { .. }))
    }

    /// The step whose worker's process may be running.
    pub(super) fn live_step(&self) -> Option<usize> {
        let is_work = |at: usize| matches!(self.unit.way().steps()[at].does, Do::Work { .. });
        let is_live = |slot: &Slot| matches!(slot, Slot::Intended { .. } | Slot::Running { .. });
        (0..self.unit.slots().len()).find(|at| is_work(*at) && is_live(&self.unit.slots()[*at]))
    }

    /// The worker whose process may be running.
    pub(super) fn live_worker(&self) -> Option<&WorkerId> {
        self.live_step().and_then(|_| self.workers.last())
    }

    /// Whether something is under way that comes to its end before the task can stop: a process, a merge, a question to a person.
    pub(super) fn must_end_first(&self) -> bool {
        self.live_worker().is_some() || self.is_in_doubt() || self.waiting.is_some()
    }

    /// Whether the merge of its change is under way.
    pub(super) fn is_merging(&self) -> bool {
        self.onto.is_some()
    }

    /// Between an intent and its outcome.
    pub(super) fn is_in_doubt(&self) -> bool {
        let is_starting = self.live_step().is_some_and(|at| matches!(self.unit.slots()[at], Slot::Intended { .. }));
        is_starting || self.is_merging()
    }

    /// The step whose worker has ended and whose change is to be captured.
    pub(super) fn capturing_step(&self) -> Option<usize> {
        self.unit.slots().iter().position(|slot| matches!(slot, Slot::Ended { .. }))
    }

    /// The captured change of the present attempt, until it is merged.
    pub(super) fn captured(&self) -> Option<&Change> {
        let is_begun = self.live_step().is_some() || self.capturing_step().is_some();
        let maker = self.unit.way().maker()?;
        let is_captured = !is_begun && !self.is_settled() && self.unit.has_passed(maker);
        self.unit.change().filter(|_| is_captured)
    }

    /// Whether this is the change that the present attempt has come to so far.
    pub(super) fn is_made(&self, change: &Change) -> bool {
        let is_captured = self.unit.way().maker().is_some_and(|maker| self.unit.has_passed(maker));
        is_captured && self.unit.change() == Some(change)
    }

    /// When the worker has to be stopped; a pause puts it off.
    pub(super) fn deadline(&self) -> Option<Millis> {
        if self.still_since.is_some() {
            return None;
        }
        Some(self.running_since()?.plus(self.timeout_ms?).plus(self.still_ms))
    }

    /// When the worker began.
    fn running_since(&self) -> Option<Millis> {
        match self.unit.slots().get(self.live_step()?)? {
            Slot::Running { since, .. } => Some(*since),
            Slot::Idle | Slot::Intended { .. } | Slot::Ended { .. } | Slot::Judged { .. } => None,
        }
    }

    /// Lets the time of the worker stand still, or go on.
    pub(super) fn stand_still(&mut self, is_paused: bool, now: Millis) {
        match (is_paused, self.still_since) {
            (true, None) => self.still_since = Some(now),
            (false, Some(since)) => {
                self.still_since = None;
                self.still_ms = self.still_ms.saturating_add(now.since(since).max(0));
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// What is open, told by kind.
    pub(super) fn open_for(&self) -> OpenFor {
        if self.is_settled() || self.unmet > 0 || self.stopping || self.waiting.is_some() {
            return OpenFor::Nothing;
        }
        let steps = self.unit.way().steps();
        let open = self.unit.open();
        let Some(first) = open.first() else { return OpenFor::Nothing };
        match &steps[*first].does {
            Do::Work { .. } if !steps[*first].when.is_always() => OpenFor::LeftOut { step: *first },
            Do::Work { .. } => OpenFor::Worker { step: *first },
            Do::Choose { .. } => OpenFor::Choice { step: *first },
            Do::Command { kind: CommandStep::Gather, .. } => OpenFor::Gather { step: *first },
            Do::Command { kind: CommandStep::LintFix, .. } => OpenFor::LintFix { step: *first },
            Do::Check { .. } => OpenFor::Checks { steps: open },
            Do::Command { .. } | Do::Merge if self.lease.is_some() => OpenFor::Lease,
            Do::Command { .. } | Do::Merge => OpenFor::Turn { step: *first },
            Do::Ask { .. } => OpenFor::Person { step: *first },
            Do::Units { .. } => OpenFor::Nothing,
        }
    }
}

/// What a unit is open for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OpenFor {
    /// Nothing: somebody is at it, or it waits, or it is settled.
    Nothing,
    /// A worker.
    Worker { step: usize },
    /// Nobody: the step was left out when the way was compiled, and counts as skipped.
    LeftOut { step: usize },
    /// The choice among the changes of its subtasks.
    Choice { step: usize },
    /// The change of its group, which git knows.
    Gather { step: usize },
    /// The command that mends what a linter finds.
    LintFix { step: usize },
    /// Gates.
    Checks { steps: Vec<usize> },
    /// A person's yes.
    Person { step: usize },
    /// The end of another agent's lease.
    Lease,
    /// Its turn to be put on the run's branch: a rebase or the merge.
    Turn { step: usize },
}
