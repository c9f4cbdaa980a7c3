//! Pauses and the budget: what keeps workers, gates and merges from starting.

use switchboard_protocol::id::WorkerId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{AtCeiling, Budget, PauseCause, RunEvent};

use super::consequences::Consequences;
use super::{Refused, RunState};

impl RunState {
    // === the budget ===

    /// A pause for want of budget ends where the new one has room.
    pub(super) fn budget_set(&mut self, budget: Option<Budget>) -> Consequences {
        self.account.set(budget);
        if self.pause == Some(PauseCause::Budget) && self.account.has_room(1) {
            self.pause = None;
            return vec![RunEvent::RunResumed];
        }
        Vec::new()
    }

    pub(super) fn cost_counted(&mut self, id: &TaskId, worker: &WorkerId, total: u64) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        if !self.records[at].workers.contains(worker) {
            return Err(Refused::stale(format!("task {id} has no worker {worker}")));
        }
        Ok(self.count(worker, total))
    }

    /// Settles the cost of a worker that has ended. One that ran and reported no cost counts as its reservation, so that the ceiling holds for such
    /// agents, too.
    pub(super) fn worker_ended(&mut self, id: &TaskId, worker: &WorkerId, has_run: bool) -> Consequences {
        let Some(total) = self.account.end(worker).filter(|_| has_run) else { return Vec::new() };
        let (task, worker) = (id.clone(), worker.clone());
        let mut consequences = self.count(&worker, total);
        consequences.insert(0, RunEvent::CostCounted { task, worker, total_micro_usd: total, estimated: true });
        consequences
    }

    fn count(&mut self, worker: &WorkerId, total: u64) -> Consequences {
        let before = self.account.spent();
        let shares = self.account.count(worker, total);
        let spent = self.account.spent();
        if spent == before {
            // Counted before: what followed from it then may have been taken back by a person.
            return Vec::new();
        }
        let mut consequences: Vec<_> =
            shares.into_iter().map(|percent| RunEvent::BudgetAlert { percent, spent }).collect();
        let is_live = self.is_open() && self.finished.is_none();
        match self.account.reached().filter(|_| is_live) {
            Some(AtCeiling::Pause) if self.pause.is_none() => {
                self.pause = Some(PauseCause::Budget);
                consequences.push(RunEvent::RunPaused { cause: PauseCause::Budget });
            }
            Some(AtCeiling::Halt) if !self.stopping => {
                self.stopping = true;
                self.stop_all();
                consequences.push(RunEvent::RunStopRequested);
            }
            Some(AtCeiling::Warn | AtCeiling::Pause | AtCeiling::Halt) | None => {}
        }
        consequences
    }

    /// Pauses a run in which no worker is live and none fits into the budget: it would otherwise wait for ever and look as if it were at work.
    pub(super) fn pause_without_room(&mut self) -> Option<RunEvent> {
        let is_idle = self.queue.live_count() == 0 && self.queue.startable().next().is_some();
        if !self.is_open() || self.stopping || self.pause.is_some() || !is_idle || self.account.has_room(1) {
            return None;
        }
        self.pause = Some(PauseCause::Budget);
        Some(RunEvent::RunPaused { cause: PauseCause::Budget })
    }

    // === pauses ===

    pub(super) fn run_paused(&mut self, cause: PauseCause) -> Result<Consequences, Refused> {
        self.expect_live()?;
        // An earlier pause keeps its cause.
        self.pause.get_or_insert(cause);
        Ok(Vec::new())
    }

    pub(super) fn run_resumed(&mut self) -> Result<Consequences, Refused> {
        if self.pause.is_some() && !self.account.has_room(1) {
            let why = "what is left of the run's budget is less than a worker's reservation";
            return Err(Refused::illegal(why).hint("raise the ceiling: switchboard budget RUN USD"));
        }
        self.pause = None;
        Ok(Vec::new())
    }

    /// A retry ends a pause that a person asked for. Without room in the budget the run stays paused, for that reason.
    pub(super) fn end_requested_pause(&mut self) -> Option<RunEvent> {
        if self.pause != Some(PauseCause::Requested) {
            return None;
        }
        if self.account.has_room(1) {
            self.pause = None;
            return Some(RunEvent::RunResumed);
        }
        self.pause = Some(PauseCause::Budget);
        Some(RunEvent::RunPaused { cause: PauseCause::Budget })
    }

    pub(super) fn task_paused(&mut self, id: &TaskId, is_paused: bool) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        self.expect_live()?;
        if is_paused && self.records[at].is_settled() {
            return Err(Refused::illegal(format!("task {id} is settled")));
        }
        for unit in self.records[at].subtasks.clone().into_iter().chain([at]) {
            self.pause_one(unit, is_paused);
        }
        Ok(Vec::new())
    }

    fn pause_one(&mut self, at: usize, is_paused: bool) {
        if is_paused && self.records[at].is_settled() {
            return;
        }
        self.records[at].is_paused = is_paused;
        if is_paused && !self.records[at].is_in_doubt() {
            // Others may move the run's branch meanwhile.
            self.queue.leave_turn(at);
        }
        self.reindex(at);
    }

    fn expect_live(&self) -> Result<(), Refused> {
        if self.is_open() && self.finished.is_none() && !self.stopping {
            return Ok(());
        }
        Err(Refused::illegal("the run is over, or is being stopped"))
    }
}
