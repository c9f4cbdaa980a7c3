//! Decides what to do next.

use std::collections::BTreeSet;

use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::{CommandStep, Step, StepAction, StepId};
use switchboard_protocol::run::{
    AtCeiling, CheckAsked, Effect, EffectKey, PauseCause, RunOutcome, StepWork, StopCause,
};
use switchboard_protocol::time::Millis;

use super::RunState;
use super::confirming::Question;
use super::record::{OpenFor, Record, Waiting};
use crate::paths::ClaimIndex;

/// A worker that may start.
#[derive(Debug)]
pub struct Start<'a> {
    state: &'a RunState,
    at: usize,
    task: &'a TaskId,
    /// Position of the step in the task's way.
    step: usize,
    work: StepWork,
}

// === impl RunState ===

impl RunState {
    /// Returns all effects to carry out now, in a fixed order: those that end something (stops, captures, gates, one
    /// turn at the run's branch) come before those that start something. Repeats an effect until the event that answers
    /// it is folded; see [`Effect::key`].
    #[must_use]
    pub fn decide(&self, now: Millis) -> Vec<Effect> {
        let mut effects = self.decide_beside(now, &|_| false);
        effects.extend(self.starts().iter().map(Start::effect));
        effects
    }

    /// As [`decide`](Self::decide), without the largest effects and those that are decided most often: gates that are
    /// under way, and the starts of workers, which [`starts`](Self::starts) returns.
    #[must_use]
    pub fn decide_beside(&self, now: Millis, is_under_way: &dyn Fn(&EffectKey) -> bool) -> Vec<Effect> {
        if !self.is_open() || self.finished.is_some() {
            return Vec::new();
        }
        let due = self.queue.due().map(|at| &self.records[at]);
        let mut effects: Vec<_> = due.filter_map(|record| self.follow_up(record, is_under_way)).collect();
        let late: BTreeSet<_> = self.queue.late(now).collect();
        effects.extend(late.iter().filter_map(|at| stop(&self.records[*at], StopCause::TimedOut)));
        effects.extend(self.interrupted(&late));
        match self.pause {
            Some(PauseCause::Requested) => effects.retain(ends),
            Some(PauseCause::Disk) => effects.retain(needs_no_room),
            // Gates and merges cost nothing.
            None | Some(PauseCause::Budget | PauseCause::Plan | PauseCause::Day) => effects.extend(self.next_turn()),
        }
        if self.unsettled == 0 {
            effects.push(Effect::Finish { outcome: self.verdict() });
        }
        effects
    }

    /// Returns the effect of the task that moves the run's branch next. One task at a time has its turn, in their
    /// natural order.
    pub(super) fn next_turn(&self) -> Option<Effect> {
        let record = &self.records[self.queue.next_turn(&self.records)?];
        let OpenFor::Turn { step } = record.open_for() else { return None };
        let (task, attempt) = (record.task()?.clone(), record.attempt());
        let change = record.captured()?;
        let (commit, base) = (change.commit.clone(), change.base.clone());
        match &record.unit.way().steps()[step].does {
            StepAction::Command { kind, writes: _ } => {
                let tree_of = record.chosen.last().unwrap_or(&task).clone();
                Some(Effect::RunCommand { task, attempt, kind: *kind, commit, tree_of })
            }
            StepAction::Merge => Some(Effect::Merge { task, attempt, commit, base }),
            StepAction::Work { .. }
            | StepAction::Choose { .. }
            | StepAction::Check { .. }
            | StepAction::Ask { .. }
            | StepAction::Units { .. } => None,
        }
    }

    /// Returns the workers whose turns are cancelled because a ceiling is reached: the run's, one that it shares with
    /// other runs, or their task's. Leaves out those that are `late`, which are stopped for that.
    fn interrupted(&self, late: &BTreeSet<usize>) -> impl Iterator<Item = Effect> {
        let is_all = match self.pause {
            Some(PauseCause::Budget) => self.account.reached() == Some(AtCeiling::Pause),
            // Such a pause begins when the ceiling is reached, or while no worker is active.
            Some(PauseCause::Plan | PauseCause::Day) => true,
            Some(PauseCause::Requested | PauseCause::Disk) | None => false,
        };
        let is_dear = |at: &usize| self.records[*at].paused.is_some_and(|cause| !cause.is_requested());
        let over = self.queue.live().filter(move |at| !late.contains(at) && (is_all || is_dear(at)));
        over.filter_map(|at| stop(&self.records[at], StopCause::Budget))
    }

    /// Returns the workers that may start now, best first. A worker may have to wait for a place that the run shares
    /// with others, through any number of decisions: the effect of a start is made when it is asked for.
    #[must_use]
    pub fn starts(&self) -> Vec<Start<'_>> {
        if self.is_open() && self.finished.is_none() { self.next_starts() } else { Vec::new() }
    }

    pub(super) fn next_starts(&self) -> Vec<Start<'_>> {
        let Some(header) = &self.header else { return Vec::new() };
        if self.stopping || self.pause.is_some() {
            return Vec::new();
        }
        let free = (header.max_workers as usize).saturating_sub(self.queue.live_count());
        let free = (0..free).find(|taken| !self.account.has_room(taken + 1)).unwrap_or(free);
        let mut chosen: Vec<usize> = Vec::new();
        let mut taken = ClaimIndex::default();
        for at in self.queue.startable() {
            if chosen.len() == free || !self.may_start_alone(at, header.max_workers) {
                break;
            }
            let holder = self.records[at].parent.unwrap_or(at);
            let claims = &self.records[holder].claims;
            if taken.rivals(claims, holder).is_empty() {
                taken.insert(claims, holder);
                chosen.push(at);
            }
        }
        chosen.into_iter().filter_map(|at| self.start(at)).collect()
    }

    /// Returns true if a task may start. With one worker, a task is brought to its end before the next one begins,
    /// unless it waits for someone else.
    pub(super) fn may_start_alone(&self, at: usize, max_workers: u32) -> bool {
        let is_active = |id| self.queue.is_active(id);
        let holder = self.records[at].parent.unwrap_or(at);
        max_workers > 1
            || self.records[holder].task().is_some_and(is_active)
            || self.queue.active().all(|other| self.waits_for_others(other))
    }

    /// Returns true if a begun task and its subtasks can't continue before a person or another agent has acted: it is
    /// paused, has a question open, or its merge waits for a lease. It has no process then, unless it is paused.
    fn waits_for_others(&self, holder: usize) -> bool {
        let units = self.with_subtasks(holder).into_iter().map(|unit| &self.records[unit]);
        let mut open = units.filter(|record| !record.is_settled()).peekable();
        open.peek().is_some() && open.all(Record::waits_for_others)
    }

    fn start(&self, at: usize) -> Option<Start<'_>> {
        let record = &self.records[at];
        let OpenFor::Worker { step } = record.open_for() else { return None };
        Some(Start { state: self, at, task: record.task()?, step, work: record.step_work(step)? })
    }

    /// Returns why a task that is being stopped is stopped.
    fn stop_cause(&self, record: &Record) -> StopCause {
        let task = record.parent.or_else(|| self.find(record.task()?).ok());
        let limit = task.and_then(|task| self.limit_of_task(task));
        if self.account.reached() == Some(AtCeiling::Halt) || limit.is_some_and(|(_, at)| at == AtCeiling::Halt) {
            StopCause::Ceiling
        } else if self.is_violated {
            StopCause::Violation
        } else {
            StopCause::Requested
        }
    }

    /// Returns the next effect of a begun task that waits for no other task, unless it is gates that are under way.
    pub(super) fn follow_up(&self, record: &Record, is_under_way: &dyn Fn(&EffectKey) -> bool) -> Option<Effect> {
        let (task, attempt) = (record.task()?.clone(), record.attempt());
        if let Some(Waiting { need, .. }) = record.waiting.clone() {
            return Some(match record.stopping {
                true => Effect::WithdrawQuestion { task, need },
                false => Effect::AwaitAnswer { task, need },
            });
        }
        if let Some(worker) = record.live_worker() {
            let worker = worker.clone();
            if record.stopping {
                let (cause, grace_ms) = (self.stop_cause(record), record.grace_ms);
                return Some(Effect::StopWorker { task, worker, cause, grace_ms });
            }
            return record.rebases_now().then_some(Effect::RebaseTree { task, worker });
        }
        if let Some(step) = record.capturing_step() {
            let worker = record.workers.last()?.clone();
            if record.answers_in(step) {
                let (input, work) = (record.begun_with(step)?, record.step_work(step)?);
                let step = record.unit.way().steps()[step].id.clone();
                return Some(Effect::TakeAnswer { task, step, work, attempt, worker, input });
            }
            let carried = self.carried(record).map(|change| change.commit);
            let may_keep = record.may_keep(step);
            return Some(Effect::Capture { task, attempt, worker, carried, may_keep });
        }
        if let OpenFor::Gather { .. } = record.open_for() {
            let (commit, tree_of) = (String::new(), task.clone());
            return Some(Effect::RunCommand { task, attempt, kind: CommandStep::Gather, commit, tree_of });
        }
        let change = record.captured()?;
        let (commit, base) = (change.commit.clone(), change.base.clone());
        match record.open_for() {
            OpenFor::LintFix { .. } => Some(Effect::FixLint { task, attempt, commit, base }),
            OpenFor::Checks { .. } if is_under_way(&EffectKey::of_checks(&task, attempt)) => None,
            OpenFor::Checks { steps } => {
                let asked = |step: &usize| asked_check(record, *step, &record.unit.way().steps()[*step]);
                let checks = steps.iter().filter_map(asked).collect();
                let tree_of = record.chosen.last().unwrap_or(&task).clone();
                let declared = record.declared.clone();
                Some(Effect::RunChecks { task, attempt, commit, base, tree_of, checks, declared })
            }
            OpenFor::Person { step } => {
                let Question { question, findings, .. } = record.question(step);
                let input = record.unit.input(step);
                Some(Effect::AskPerson { task, attempt, commit, base, input, question, findings })
            }
            OpenFor::Lease => Some(Effect::AwaitLease { task, attempt, commit, base, lease: record.lease.clone()? }),
            OpenFor::Nothing
            | OpenFor::LeftOut { .. }
            | OpenFor::Worker { .. }
            | OpenFor::Choice { .. }
            | OpenFor::Gather { .. }
            | OpenFor::Turn { .. } => None,
        }
    }

    pub(super) fn verdict(&self) -> RunOutcome {
        if self.ended.blocked > 0 {
            RunOutcome::Failed
        } else if self.ended.stopped + self.ended.dep_failed > 0 {
            RunOutcome::Stopped
        } else {
            RunOutcome::Succeeded
        }
    }
}

// === impl Start ===

impl Start<'_> {
    /// Returns the task of the worker.
    #[must_use]
    pub const fn task(&self) -> &TaskId {
        self.task
    }

    /// Returns the id of the worker's step.
    #[must_use]
    pub fn step(&self) -> &StepId {
        &self.record().unit.way().steps()[self.step].id
    }

    /// Returns the work of the step.
    #[must_use]
    pub const fn work(&self) -> &StepWork {
        &self.work
    }

    /// Returns the key of [`effect`](Self::effect).
    #[must_use]
    pub fn key(&self) -> EffectKey {
        EffectKey::of_start(self.task, self.starts())
    }

    /// Makes the effect that starts the worker ([`Effect::StartWorker`]).
    #[must_use]
    pub fn effect(&self) -> Effect {
        let (record, step) = (self.record(), self.step);
        Effect::StartWorker {
            task: self.task.clone(),
            step: self.step().clone(),
            work: self.work.clone(),
            attempt: record.attempt(),
            starts: self.starts(),
            transients: record.transients,
            tried: record.tried(step),
            from: record.change_under_review(step).unwrap_or_else(|| self.state.start_from(record)),
            again: record.again.clone().filter(|_| record.answers_in(step)),
            resume: record.resume,
            refusals: record.refusals.clone(),
            note: record.note.clone(),
            answers: self.state.answers(self.at),
            by: record.hands_of(step).filter(|_| self.state.is_led).cloned(),
            declared: record.declared.clone(),
        }
    }

    /// Returns the number of the task's workers so far.
    fn starts(&self) -> u32 {
        u32::try_from(self.record().workers.len()).unwrap_or(u32::MAX)
    }

    fn record(&self) -> &Record {
        &self.state.records[self.at]
    }
}

/// Returns true if an effect ends something, rather than starting it.
const fn ends(effect: &Effect) -> bool {
    match effect {
        // A rebase was requested, and its worker waits for it.
        Effect::StopWorker { .. }
        | Effect::RebaseTree { .. }
        | Effect::Capture { .. }
        | Effect::TakeAnswer { .. }
        | Effect::AwaitAnswer { .. }
        | Effect::WithdrawQuestion { .. } => true,
        Effect::StartWorker { .. }
        | Effect::AskPerson { .. }
        | Effect::RunChecks { .. }
        | Effect::FixLint { .. }
        | Effect::RunCommand { .. }
        | Effect::Merge { .. }
        | Effect::AwaitLease { .. }
        | Effect::Finish { .. } => false,
    }
}

/// Returns true if an effect writes only to the log.
const fn needs_no_room(effect: &Effect) -> bool {
    match effect {
        Effect::StopWorker { .. } | Effect::AwaitAnswer { .. } | Effect::WithdrawQuestion { .. } => true,
        Effect::StartWorker { .. }
        | Effect::Capture { .. }
        | Effect::TakeAnswer { .. }
        | Effect::AskPerson { .. }
        | Effect::RunChecks { .. }
        | Effect::FixLint { .. }
        | Effect::RunCommand { .. }
        | Effect::RebaseTree { .. }
        | Effect::Merge { .. }
        | Effect::AwaitLease { .. }
        | Effect::Finish { .. } => false,
    }
}

fn stop(record: &Record, cause: StopCause) -> Option<Effect> {
    let worker = record.live_worker().filter(|_| !record.stopping)?.clone();
    Some(Effect::StopWorker { task: record.task()?.clone(), worker, cause, grace_ms: None })
}

fn asked_check(record: &Record, at: usize, step: &Step) -> Option<CheckAsked> {
    let gate = step.does.gate()?.to_string();
    Some(CheckAsked { gate, input: record.unit.input(at), when: step.when.clone() })
}
