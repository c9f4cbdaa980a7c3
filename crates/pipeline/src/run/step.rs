//! Folds each event into the state.

use switchboard_protocol::id::WorkerId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::StepId;
use switchboard_protocol::run::{Change, RunEvent, RunOutcome, TurnOutcome};
use switchboard_protocol::time::Millis;

use super::adding::{Added, Part};
use super::answering::Answered;
use super::consequences::Consequences;
use super::judging::Report;
use super::record::{Ending, OpenFor};
use super::{Header, Refused, RunState};
use crate::way::{Assignee, Hold, Slot};

impl RunState {
    /// Folds an event, as it was recorded ([`RunEvent::fitted`]), that happened at the time `at`. Consequences are
    /// already folded; they are returned so that they are recorded in the same transaction. Folding them again changes
    /// nothing.
    ///
    /// # Errors
    /// [`Refused`] when the event is impossible in this state, which then stays unchanged.
    pub fn step(&mut self, event: &RunEvent, at: Millis) -> Result<Consequences, Refused> {
        let mut consequences = self.transition(event, at)?;
        consequences.extend(self.decide_more());
        if changes_pauses(event) {
            self.stop_clocks(at);
        }
        Ok(consequences)
    }

    /// Decides what follows from the state without another event. Once decided, nothing more follows.
    pub(super) fn decide_more(&mut self) -> Consequences {
        let mut consequences = self.decide_waiting();
        self.update_next_turn(&mut consequences);
        consequences.extend(self.pause_without_room());
        consequences
    }

    /// Carries out decisions that need no event: a choice among changes, the pass of an unnecessary question to a
    /// person, and the skip of a step that was left out.
    fn decide_waiting(&mut self) -> Consequences {
        let mut consequences = Vec::new();
        while let Some(at) = self.queue.next_deciding() {
            self.queue.set_deciding(at, false);
            consequences.extend(match self.records[at].open_for() {
                OpenFor::Choice { step } => self.choose(at, step),
                OpenFor::Person { step } => self.pass_unasked(at, step),
                OpenFor::LeftOut { step } => self.pass_left_out(at, step),
                OpenFor::Nothing
                | OpenFor::Worker { .. }
                | OpenFor::Gather { .. }
                | OpenFor::LintFix { .. }
                | OpenFor::Checks { .. }
                | OpenFor::Lease
                | OpenFor::Turn { .. } => Vec::new(),
            });
        }
        consequences
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each event")]
    fn transition(&mut self, event: &RunEvent, at: Millis) -> Result<Consequences, Refused> {
        match event {
            RunEvent::RunStarted { title, plan_hash, base, parts, max_workers } => self.run_started(Header {
                title: title.clone(),
                plan_hash: plan_hash.clone(),
                base: base.clone(),
                parts: *parts,
                max_workers: *max_workers,
            }),
            RunEvent::PlanRecorded { part, of, text: _ } => self.plan_recorded(*part, *of),
            RunEvent::WayRecorded { way, part, of, text } => {
                self.way_recorded(*way, &Part { part: *part, of: *of, text })
            }
            RunEvent::UnitAdded { unit, within, way, after, writes, reads, timeout_ms } => {
                let added = Added { unit, within: within.as_ref(), way: *way, timeout_ms: *timeout_ms };
                self.unit_added(&added, after, (writes, reads))
            }
            RunEvent::UnitExtended { unit, part, after, writes, reads } => {
                self.unit_extended(unit, *part, after, (writes, reads))
            }
            RunEvent::WorkerIntended { task, step, attempt, worker } => {
                self.worker_intended(task, step, *attempt, worker)
            }
            RunEvent::WorkerStarted { task, worker } => self.worker_started(task, worker, at),
            RunEvent::WorkerLost { task, worker, reason } => self.worker_lost(task, worker, reason),
            RunEvent::TreeSetupFailed { task, worker, reason } => self.tree_setup_failed(task, worker, reason),
            RunEvent::PersonAsked { task, worker, need, reason } => self.person_asked(task, worker, need, reason),
            RunEvent::ConfirmationAsked { task, attempt, need, input, reason } => {
                self.confirmation_asked(task, *attempt, need, (*input, reason))
            }
            RunEvent::PersonAnswered { task, need, answer, note } => self.person_answered(task, need, *answer, note),
            RunEvent::TurnEnded { task, worker, outcome, reason } => self.turn_ended(task, worker, *outcome, reason),
            RunEvent::ChangeCaptured { task, attempt, left_out, .. } if !left_out.is_empty() => {
                self.change_incomplete(task, *attempt, left_out)
            }
            RunEvent::ChangeCaptured { task, attempt, commit, tree, base, files_total, lines, .. } => {
                let (commit, tree, base) = (commit.clone(), tree.clone(), base.clone());
                self.change_captured(task, *attempt, Change { commit, tree, base, files: *files_total, lines: *lines })
            }
            RunEvent::StepAnswered { task, step, attempt, worker, input, verdict, reasons, change } => {
                let (attempt, input, verdict, change) = (*attempt, *input, *verdict, change.as_ref());
                self.step_answered(task, &Answered { step, attempt, worker, input, verdict, reasons, change })
            }
            RunEvent::AnswerRefused { task, step, attempt, worker, reason } => {
                self.answer_refused(task, (step, *attempt), worker, reason)
            }
            RunEvent::StepSkipped { task, step, attempt, input, reason } => {
                self.step_skipped(task, (step, *attempt), *input, reason)
            }
            RunEvent::TurnOmitted { task, step, attempt } => self.turn_omitted(task, step, *attempt),
            RunEvent::NothingChanged { task, attempt, why, .. } => self.nothing_changed(task, *attempt, why),
            RunEvent::GateReported { task, attempt, gate, input, verdict, asks, halts, reasons } => self.gate_reported(
                task,
                *attempt,
                Report { gate, input: *input, verdict: *verdict, asks: *asks, halts: *halts, reasons },
            ),
            RunEvent::ChangeFixed { task, attempt, commit, tree, files: _, files_total: _, told: _ } => {
                self.change_fixed(task, *attempt, commit, tree)
            }
            RunEvent::ChangeRebased { task, attempt, commit, tree, onto } => {
                self.change_rebased(task, *attempt, (commit, tree), onto)
            }
            RunEvent::BranchMoved { task, from, head } => self.branch_moved(task, from, head),
            RunEvent::MergeIntended { task, attempt, commit, onto } => {
                self.merge_intended(task, *attempt, commit, onto)
            }
            RunEvent::MergeHeld { task, attempt, lease } => self.merge_held(task, *attempt, lease),
            RunEvent::MergeReleased { task, attempt } => self.merge_released(task, *attempt),
            RunEvent::TaskMerged { task, attempt, commit } => self.task_merged(task, *attempt, commit),
            RunEvent::TaskDone { task, attempt: _, of: _ } => self.task_done(task),
            RunEvent::CandidateChosen { task, candidate, .. } => self.candidate_chosen(task, candidate),
            RunEvent::MergeConflicted { task, attempt, files } => self.merge_conflicted(task, *attempt, files),
            RunEvent::TaskBlocked { task, attempt, retries, reason } => {
                self.task_blocked(task, (*attempt, *retries), reason)
            }
            RunEvent::TaskDepFailed { task, root } => self.task_dep_failed(task, root),
            RunEvent::TaskStopRequested { task, grace_ms } => self.task_stop_requested(task, *grace_ms),
            RunEvent::TaskRebaseRequested { task } => self.rebase_requested(task),
            RunEvent::TreeRebased { task, worker, onto: _, start: _ }
            | RunEvent::TreeNotRebased { task, worker, onto: _, files: _ } => self.tree_rebased(task, worker),
            RunEvent::TaskBudgetSet { task, ceiling } => self.task_budget_set(task, *ceiling),
            RunEvent::BudgetSet { budget, plan, day } => Ok(self.budget_set(*budget, *plan, *day)),
            RunEvent::CostCounted { task, worker, total_micro_usd, estimated: _ } => {
                self.cost_counted(task, worker, *total_micro_usd)
            }
            RunEvent::TurnBegun { task, worker, turn: _ } => self.turn_begun(task, worker),
            RunEvent::RunPaused { cause } => self.run_paused(*cause),
            RunEvent::RunResumed => self.run_resumed(),
            RunEvent::TaskPaused { task, cause } => self.task_paused(task, *cause),
            RunEvent::LedSet { is_led } => Ok(self.led_set(*is_led)),
            RunEvent::StepBegun { task, step, attempt, by } => self.step_begun(task, step, *attempt, by.as_ref()),
            RunEvent::ScopeDeclared { task, files } => self.scope_declared(task, files),
            RunEvent::TaskResumed { task } => self.task_resumed(task),
            RunEvent::BudgetAlert { .. }
            | RunEvent::RunConfigured { .. }
            | RunEvent::SetupChosen { .. }
            | RunEvent::LoopTurned { .. }
            | RunEvent::RunMergeIntended { .. }
            | RunEvent::RunMerged { .. }
            | RunEvent::RunCleanIntended { .. }
            | RunEvent::RunCleaned { .. }
            | RunEvent::RunCleanAbandoned { .. }
            | RunEvent::RunMergeUndone { .. }
            | RunEvent::RunMergeAbandoned { .. } => Ok(Vec::new()),
            RunEvent::RunStopRequested => self.run_stop_requested(),
            RunEvent::TaskRetryRequested { task, note } => self.task_retry_requested(task, note),
            RunEvent::RunFinished { outcome } => self.run_finished(*outcome),
        }
    }

    // === workers ===

    fn worker_intended(
        &mut self,
        id: &TaskId,
        step: &StepId,
        attempt: u32,
        worker: &WorkerId,
    ) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        let record = &self.records[at];
        if record.workers.contains(worker) {
            return Ok(Vec::new());
        }
        let wanted = record.unit.way().find(step).map(|step| OpenFor::Worker { step });
        if wanted.as_ref() != Some(&record.open_for()) {
            return Err(Refused::illegal(format!("step {step} of task {id} is not ready for a worker")));
        }
        self.expect_begun(at, step)?;
        self.expect_attempt(at, attempt)?;
        self.expect_room(at)?;
        let step = self.records[at].unit.way().find(step);
        let step = step.ok_or_else(|| Refused::illegal(format!("task {id} has no such step")))?;
        let intended = self.records[at].unit.intend(step, Assignee::Worker(worker.clone()));
        intended.map_err(|why| Refused::illegal(format!("task {id}: {why}")))?;
        self.queue.begin(at, &self.records);
        let record = &mut self.records[at];
        record.workers.push(worker.clone());
        record.resume = false;
        // The answer of an earlier worker of the step doesn't apply to this one.
        record.answers.retain(|known| known.step != step);
        self.account.begin(worker);
        // The previous worker may have ended during a pause.
        (self.records[at].clock_stopped_since, self.records[at].clock_stopped_ms) = (None, 0);
        self.reindex(at);
        Ok(Vec::new())
    }

    fn worker_started(&mut self, id: &TaskId, worker: &WorkerId, since: Millis) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        let Some(step) = self.step_of_worker(at, worker, |slot| matches!(slot, Slot::Intended { .. })) else {
            return self.expect_past_worker(at, worker);
        };
        let started = self.records[at].unit.start(step, since);
        started.map_err(|why| Refused::stale(format!("task {id}: {why}")))?;
        (self.records[at].clock_stopped_since, self.records[at].clock_stopped_ms) = (None, 0);
        // The lists are updated with its clock, which a pause may stop.
        Ok(Vec::new())
    }

    fn worker_lost(&mut self, id: &TaskId, worker: &WorkerId, reason: &str) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        match self.step_of_worker(at, worker, |slot| !matches!(slot, Slot::Ended { .. })) {
            Some(step) => {
                let has_run = matches!(self.records[at].unit.slots()[step], Slot::Running { .. });
                let mut consequences = self.worker_ended(id, worker, has_run);
                consequences.extend(self.lose(at, step, reason));
                Ok(consequences)
            }
            None => self.expect_past_worker(at, worker),
        }
    }

    fn tree_setup_failed(&mut self, id: &TaskId, worker: &WorkerId, reason: &str) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        match self.step_of_worker(at, worker, |slot| matches!(slot, Slot::Intended { .. })) {
            Some(step) => {
                let mut consequences = self.worker_ended(id, worker, false);
                consequences.extend(self.give_up_start(at, step, reason));
                Ok(consequences)
            }
            None => self.expect_past_worker(at, worker),
        }
    }

    fn turn_ended(
        &mut self,
        id: &TaskId,
        worker: &WorkerId,
        outcome: TurnOutcome,
        reason: &str,
    ) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        match self.step_of_worker(at, worker, |slot| matches!(slot, Slot::Running { .. })) {
            Some(step) => {
                let mut consequences = self.worker_ended(id, worker, true);
                consequences.extend(self.end_turn(at, step, outcome, reason));
                Ok(consequences)
            }
            None => self.expect_past_worker(at, worker),
        }
    }

    /// Returns true if a worker of a task has begun and has not ended.
    #[must_use]
    pub fn is_live(&self, id: &TaskId, worker: &WorkerId) -> bool {
        let is_open = |slot: &Slot| !matches!(slot, Slot::Ended { .. });
        self.find(id).is_ok_and(|at| self.step_of_worker(at, worker, is_open).is_some())
    }

    /// Returns the step of the worker if its slot `fits`.
    fn step_of_worker(&self, at: usize, worker: &WorkerId, fits: impl Fn(&Slot) -> bool) -> Option<usize> {
        let unit = &self.records[at].unit;
        unit.step_of(worker).filter(|step| fits(&unit.slots()[*step]))
    }

    // === decisions of people and others ===

    fn task_blocked(
        &mut self,
        id: &TaskId,
        (attempt, retries): (u32, Option<u32>),
        reason: &str,
    ) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        self.expect_attempt(at, attempt)?;
        if retries.is_some_and(|retries| retries != self.records[at].retries) {
            return Err(Refused::stale(format!("task {id} was tried again since")));
        }
        let record = &mut self.records[at];
        if record.is_blocked() {
            return Ok(Vec::new());
        }
        if record.is_settled() || record.live_worker().is_some() || record.is_in_doubt() {
            let why = format!("task {id} is settled, or at work, or being merged");
            return Err(Refused::illegal(why).hint("stop it first"));
        }
        record.unit.hold(Hold::Asked);
        Ok(self.mark_blocked(at, reason.to_owned()))
    }

    fn task_dep_failed(&mut self, id: &TaskId, root: &TaskId) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        if self.records[at].ending == Some(Ending::DepFailed { root: root.clone() }) {
            return Ok(Vec::new());
        }
        Err(Refused::stale(format!("task {id} is not held up by {root}")))
    }

    fn task_stop_requested(&mut self, id: &TaskId, grace_ms: Option<u64>) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        if self.records[at].is_settled() {
            return Ok(Vec::new());
        }
        for unit in self.with_subtasks(at) {
            self.records[unit].grace_ms = grace_ms;
        }
        Ok(self.request_stop(at))
    }

    fn run_stop_requested(&mut self) -> Result<Consequences, Refused> {
        if self.finished.is_none() {
            self.stopping = true;
            self.stop_all();
        }
        Ok(Vec::new())
    }

    fn task_retry_requested(&mut self, id: &TaskId, note: &str) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        match &self.records[at].ending {
            Some(Ending::Blocked { .. } | Ending::Stopped) => {}
            Some(Ending::DepFailed { root }) => {
                let why = format!("task {id} was not tried: it waits for {root}");
                return Err(Refused::illegal(why).hint(format!("retry {root}")));
            }
            Some(Ending::Done { .. }) | None => {
                return Err(Refused::illegal(format!("task {id} is neither blocked nor stopped")));
            }
        }
        if self.stopping && self.finished.is_none() {
            return Err(Refused::illegal("the run is being stopped").hint("retry when it has stopped"));
        }
        note.clone_into(&mut self.records[at].note);
        Ok(self.retry(at))
    }

    fn run_finished(&mut self, outcome: RunOutcome) -> Result<Consequences, Refused> {
        if self.finished == Some(outcome) {
            return Ok(Vec::new());
        }
        if !self.is_open() || self.unsettled > 0 || self.finished.is_some() || self.verdict() != outcome {
            return Err(Refused::illegal("the run has work left, or ends in another way"));
        }
        self.finished = Some(outcome);
        Ok(Vec::new())
    }
}

/// Returns true if an event may begin or end a pause of an active or starting worker.
const fn changes_pauses(event: &RunEvent) -> bool {
    matches!(
        event,
        RunEvent::RunPaused { .. }
            | RunEvent::RunResumed
            | RunEvent::TaskPaused { .. }
            | RunEvent::TaskResumed { .. }
            | RunEvent::TaskRetryRequested { .. }
            | RunEvent::BudgetSet { .. }
            | RunEvent::TaskBudgetSet { .. }
            | RunEvent::CostCounted { .. }
            | RunEvent::WorkerStarted { .. }
    )
}
