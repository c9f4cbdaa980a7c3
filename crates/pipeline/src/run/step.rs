//! One transition per event.

use switchboard_protocol::id::WorkerId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{Change, GateReport, GateVerdict, RunEvent, RunOutcome, TaskState, TurnOutcome};
use switchboard_protocol::time::Millis;

use super::adding::Lists;
use super::{Header, Refused, RefusedCode, RunState};

/// What else an event made true: `TaskBlocked` and `TaskDepFailed`, to be recorded in the same transaction.
pub type Consequences = Vec<RunEvent>;

impl RunState {
    /// Folds an event, as it was recorded ([`RunEvent::fitted`]), that happened `at` a time. Consequences are folded already; they are returned so that they are recorded
    /// in the same transaction for others to see. Folding them again changes nothing.
    ///
    /// # Errors
    /// [`Refused`] when the event can't follow on what is known; the state is then as it was.
    pub fn step(&mut self, event: &RunEvent, at: Millis) -> Result<Consequences, Refused> {
        match event {
            RunEvent::RunStarted { title, plan_hash, base, parts, max_workers } => self.run_started(Header {
                title: title.clone(),
                plan_hash: plan_hash.clone(),
                base: base.clone(),
                parts: *parts,
                max_workers: *max_workers,
            }),
            RunEvent::TaskAdded { task, depends, writes, gates, timeout_ms } => {
                self.task_added(task, *timeout_ms, &Lists { depends, writes, gates })
            }
            RunEvent::TaskExtended { task, part, depends, writes, gates } => {
                self.task_extended(task, *part, &Lists { depends, writes, gates })
            }
            RunEvent::WorkerIntended { task, attempt, worker } => self.worker_intended(task, *attempt, worker),
            RunEvent::WorkerStarted { task, worker } => self.worker_started(task, worker, at),
            RunEvent::WorkerLost { task, worker, reason } => self.worker_lost(task, worker, reason),
            RunEvent::TurnEnded { task, worker, outcome, reason } => self.turn_ended(task, worker, *outcome, reason),
            RunEvent::ChangeCaptured { task, attempt, commit, tree, files_total, files: _ } => {
                let change = Change { commit: commit.clone(), tree: tree.clone(), files: *files_total };
                self.change_captured(task, *attempt, change)
            }
            RunEvent::NothingChanged { task, attempt } => self.nothing_changed(task, *attempt),
            RunEvent::GateReported { task, attempt, gate, verdict, reasons } => {
                self.gate_reported(task, *attempt, Report { gate, verdict: *verdict, reasons })
            }
            RunEvent::MergeIntended { task, attempt, commit, onto } => {
                self.merge_intended(task, *attempt, commit, onto)
            }
            RunEvent::TaskMerged { task, attempt, commit } => self.task_merged(task, *attempt, commit),
            RunEvent::MergeConflicted { task, attempt, files } => self.merge_conflicted(task, *attempt, files),
            RunEvent::TaskBlocked { task, attempt, reason } => self.task_blocked(task, *attempt, reason),
            RunEvent::TaskDepFailed { task, root } => self.task_dep_failed(task, root),
            RunEvent::TaskStopRequested { task } => self.task_stop_requested(task),
            RunEvent::RunStopRequested => self.run_stop_requested(),
            RunEvent::TaskRetryRequested { task } => self.task_retry_requested(task),
            RunEvent::RunFinished { outcome } => self.run_finished(*outcome),
        }
    }

    fn worker_intended(&mut self, id: &TaskId, attempt: u32, worker: &WorkerId) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        let record = &self.records[at];
        if record.workers.contains(worker) {
            return Ok(Vec::new());
        }
        if record.state != TaskState::Ready {
            return Err(Refused::illegal(format!("task {id} is not ready for a worker")));
        }
        self.expect_attempt(at, attempt)?;
        self.expect_room(at)?;
        self.queue.begin(at, &self.records);
        let record = &mut self.records[at];
        record.workers.push(worker.clone());
        record.state = TaskState::Starting { worker: worker.clone() };
        Ok(Vec::new())
    }

    fn worker_started(&mut self, id: &TaskId, worker: &WorkerId, at_time: Millis) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        if self.records[at].state == (TaskState::Starting { worker: worker.clone() }) {
            let record = &mut self.records[at];
            record.state = TaskState::Working { worker: worker.clone() };
            record.since = Some(at_time);
            return Ok(Vec::new());
        }
        self.expect_past_worker(at, worker)
    }

    fn worker_lost(&mut self, id: &TaskId, worker: &WorkerId, reason: &str) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        if self.records[at].live_worker() == Some(worker) {
            Ok(self.lose(at, reason))
        } else {
            self.expect_past_worker(at, worker)
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
        if self.records[at].state == (TaskState::Working { worker: worker.clone() }) {
            return Ok(self.end_turn(at, worker, outcome, reason));
        }
        self.expect_past_worker(at, worker)
    }

    fn change_captured(&mut self, id: &TaskId, attempt: u32, change: Change) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        if self.records[at].attempt == attempt && self.records[at].change() == Some(&change) {
            return Ok(Vec::new());
        }
        self.expect_capturing(at, attempt)?;
        let record = &mut self.records[at];
        let free = record.gates.is_empty();
        record.state = if free { TaskState::Passed { change } } else { TaskState::Captured { change } };
        Ok(Vec::new())
    }

    fn nothing_changed(&mut self, id: &TaskId, attempt: u32) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        self.expect_capturing(at, attempt)?;
        Ok(self.refuse_unchanged(at))
    }

    fn gate_reported(&mut self, id: &TaskId, attempt: u32, report: Report<'_>) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        self.expect_attempt(at, attempt)?;
        let record = &mut self.records[at];
        if let Some(known) = record.reports.iter().find(|known| known.gate == report.gate) {
            let same = known.verdict == report.verdict;
            let twice = || Refused::stale(format!("gate {} has given another verdict on {id} before", report.gate));
            return if same { Ok(Vec::new()) } else { Err(twice()) };
        }
        let (TaskState::Captured { change } | TaskState::Gating { change }) = &record.state else {
            return Err(Refused::illegal(format!("task {id} has no change that waits for gates")));
        };
        let change = change.clone();
        record.reports.push(GateReport {
            gate: report.gate.to_owned(),
            required: record.gates.iter().any(|gate| gate == report.gate),
            verdict: report.verdict,
            reasons: report.reasons.to_vec(),
        });
        record.state = TaskState::Gating { change };
        Ok(self.judge(at))
    }

    fn merge_intended(&mut self, id: &TaskId, attempt: u32, commit: &str, onto: &str) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        self.expect_attempt(at, attempt)?;
        let same = |change: &Change| change.commit == commit;
        let state = &self.records[at].state;
        if matches!(state, TaskState::Merging { change, onto: known } if same(change) && known == onto) {
            return Ok(Vec::new());
        }
        let TaskState::Passed { change } = state else {
            return Err(Refused::illegal(format!("task {id} has no change that has passed its gates")));
        };
        if !same(change) {
            return Err(Refused::stale(format!(
                "task {id} has passed its gates with commit {}, not {commit}",
                change.commit
            )));
        }
        if let Some(other) = self.queue.merging() {
            let why = format!("task {} is being merged", self.records[other].id);
            return Err(Refused::new(RefusedCode::Limit, why));
        }
        self.records[at].state = TaskState::Merging { change: change.clone(), onto: onto.to_owned() };
        self.queue.set_merging(Some(at));
        Ok(Vec::new())
    }

    fn task_merged(&mut self, id: &TaskId, attempt: u32, commit: &str) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        self.expect_attempt(at, attempt)?;
        if self.records[at].state == (TaskState::Merged { commit: commit.to_owned() }) {
            return Ok(Vec::new());
        }
        self.expect_merging(at)?;
        self.settle(at, TaskState::Merged { commit: commit.to_owned() });
        Ok(self.release_dependents(at))
    }

    fn merge_conflicted(&mut self, id: &TaskId, attempt: u32, files: &[String]) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        self.expect_attempt(at, attempt)?;
        self.expect_merging(at)?;
        Ok(self.refuse_conflict(at, files))
    }

    fn task_blocked(&mut self, id: &TaskId, attempt: u32, reason: &str) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        self.expect_attempt(at, attempt)?;
        let record = &self.records[at];
        if matches!(record.state, TaskState::Blocked { .. }) {
            return Ok(Vec::new());
        }
        if record.state.is_settled() || record.live_worker().is_some() || record.is_in_doubt() {
            let why = format!("task {id} is settled, or at work, or being merged");
            return Err(Refused::illegal(why).hint("stop it first"));
        }
        Ok(self.mark_blocked(at, reason.to_owned()))
    }

    fn task_dep_failed(&mut self, id: &TaskId, root: &TaskId) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        if self.records[at].state == (TaskState::DepFailed { root: root.clone() }) {
            return Ok(Vec::new());
        }
        Err(Refused::stale(format!("task {id} is not held up by {root}")))
    }

    fn task_stop_requested(&mut self, id: &TaskId) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        if self.records[at].state.is_settled() {
            return Ok(Vec::new());
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

    fn task_retry_requested(&mut self, id: &TaskId) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        let state = &self.records[at].state;
        if let TaskState::DepFailed { root } = state {
            let why = format!("task {id} was not tried: it waits for {root}");
            return Err(Refused::illegal(why).hint(format!("retry {root}")));
        }
        if !matches!(state, TaskState::Blocked { .. } | TaskState::Stopped) {
            return Err(Refused::illegal(format!("task {id} is neither blocked nor stopped")));
        }
        if self.stopping && self.finished.is_none() {
            return Err(Refused::illegal("the run is being stopped").hint("retry when it has stopped"));
        }
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

/// A gate's word.
struct Report<'a> {
    gate: &'a str,
    verdict: GateVerdict,
    reasons: &'a [String],
}
