//! Pauses and the budget, which keep workers, gates and merges from starting.

use switchboard_protocol::id::WorkerId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{ALERTS, AtCeiling, Budget, BudgetScope, PauseCause, RunEvent, TaskPauseCause};
use switchboard_protocol::time::Millis;

use super::account::share_of;
use super::consequences::Consequences;
use super::{Refused, RefusedCode, RunState};

impl RunState {
    // === the budget ===

    /// Sets the budget. Ends a pause that the old budget caused if the new one has room.
    pub(super) fn budget_set(&mut self, budget: Option<Budget>, plan: Option<u64>, day: bool) -> Consequences {
        self.account.set(budget);
        self.account.set_shared(plan, day);
        let mut consequences = Vec::new();
        if self.pause == Some(PauseCause::Budget) && self.account.has_room(1) {
            self.pause = None;
            consequences.push(RunEvent::RunResumed);
        }
        consequences.extend(self.limit_tasks());
        consequences
    }

    pub(super) fn cost_counted(&mut self, id: &TaskId, worker: &WorkerId, total: u64) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        if !self.records[at].workers.contains(worker) {
            return Err(Refused::stale(format!("task {id} has no worker {worker}")));
        }
        Ok(self.count(at, worker, total))
    }

    /// Settles the cost of a worker that has ended. If it ran and reported no cost, its reservation counts, so that the
    /// ceiling also applies to such agents.
    pub(super) fn worker_ended(&mut self, id: &TaskId, worker: &WorkerId, has_run: bool) -> Consequences {
        let Some(total) = self.account.end(worker).filter(|_| has_run) else { return Vec::new() };
        let (task, worker) = (id.clone(), worker.clone());
        let Ok(at) = self.find(id) else { return Vec::new() };
        let mut consequences = self.count(at, &worker, total);
        consequences.insert(0, RunEvent::CostCounted { task, worker, total_micro_usd: total, estimated: true });
        consequences
    }

    fn count(&mut self, at: usize, worker: &WorkerId, total: u64) -> Consequences {
        let before = self.account.spent();
        let shares = self.account.count(worker, total);
        let spent = self.account.spent();
        if spent == before {
            // Already counted. A person may since have undone what followed from it.
            return Vec::new();
        }
        let mut consequences: Vec<_> = shares
            .into_iter()
            .map(|percent| RunEvent::BudgetAlert { percent, spent, task: None, of: BudgetScope::Run })
            .collect();
        let is_live = self.is_open() && self.finished.is_none();
        match self.account.reached().filter(|_| is_live) {
            // A run that is being stopped starts no workers, so it needs no pause.
            Some(AtCeiling::Pause) if self.pause.is_none() && !self.stopping => {
                self.pause = Some(PauseCause::Budget);
                consequences.push(RunEvent::RunPaused { cause: PauseCause::Budget });
            }
            Some(AtCeiling::Halt) => consequences.extend(self.halt()),
            Some(AtCeiling::Warn | AtCeiling::Pause) | None => {}
        }
        if is_live {
            consequences.extend(self.alert_task(self.records[at].parent.unwrap_or(at)));
        }
        consequences.extend(self.limit_task(at));
        consequences
    }

    /// Returns alerts for the shares of a task's ceiling that are newly spent.
    fn alert_task(&mut self, parent: usize) -> Consequences {
        let spent = self.cost_of_task(parent);
        let ceiling = self.account.ceiling_of_task(self.records[parent].ceiling);
        let share = ceiling.map_or(0, |ceiling| share_of(spent, ceiling));
        let record = &mut self.records[parent];
        let before = record.alerted;
        record.alerted = share.max(before);
        let Some(task) = record.task().cloned() else { return Vec::new() };
        let new = ALERTS.into_iter().filter(|percent| *percent > before && *percent <= share);
        let alert = |percent| RunEvent::BudgetAlert { percent, spent, task: Some(task.clone()), of: BudgetScope::Run };
        new.map(alert).collect()
    }

    /// Updates the reported share after a new ceiling: shares that are already spent cause no alert.
    fn forget_alerts(&mut self, at: usize) {
        let ceiling = self.account.ceiling_of_task(self.records[at].ceiling);
        self.records[at].alerted = ceiling.map_or(0, |ceiling| share_of(self.cost_of_task(at), ceiling));
    }

    /// Records that a worker begins another turn.
    pub(super) fn turn_begun(&mut self, id: &TaskId, worker: &WorkerId) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        if !self.records[at].workers.contains(worker) {
            return Err(Refused::stale(format!("task {id} has no worker {worker}")));
        }
        self.account.begin_turn(worker);
        Ok(Vec::new())
    }

    /// Returns true if an active worker may begin another turn.
    #[must_use]
    pub fn has_room_for_turn(&self, worker: &WorkerId) -> bool {
        let is_spent = matches!(self.pause, Some(PauseCause::Budget | PauseCause::Plan | PauseCause::Day));
        !is_spent && self.account.has_room_for_turn(worker)
    }

    /// Stops the run, unless it is already stopping.
    pub(super) fn halt(&mut self) -> Option<RunEvent> {
        if self.stopping || self.finished.is_some() {
            return None;
        }
        self.stopping = true;
        self.stop_all();
        Some(RunEvent::RunStopRequested)
    }

    /// Pauses a run without a live worker if no worker fits into the budget. Otherwise it would wait for ever and look
    /// active.
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
        // Applies to a stopping run as well, which has to write what its workers left.
        if cause != PauseCause::Disk || self.finished.is_some() {
            self.expect_live()?;
        }
        let holds_more = match (self.pause, cause) {
            // A full disk also holds back what other pauses allow.
            (None, _) | (_, PauseCause::Disk) => true,
            // A pause for want of budget ends by itself once there is room, a requested one only by request.
            (Some(PauseCause::Budget | PauseCause::Plan | PauseCause::Day), PauseCause::Requested) => true,
            (Some(_), PauseCause::Requested | PauseCause::Budget | PauseCause::Plan | PauseCause::Day) => false,
        };
        if holds_more {
            self.pause = Some(cause);
        }
        Ok(Vec::new())
    }

    /// Resumes the run. Waiting workers have their reservations, and gates and merges cost nothing, so it is refused
    /// only if nothing could continue.
    pub(super) fn run_resumed(&mut self) -> Result<Consequences, Refused> {
        let (was, is_short) = (self.pause, !self.account.has_room(1));
        let stays = match was {
            None => false,
            Some(PauseCause::Requested | PauseCause::Disk) => is_short && !self.can_go_on_without_room(),
            Some(PauseCause::Budget | PauseCause::Plan | PauseCause::Day) => is_short,
        };
        if stays {
            let why = match was {
                Some(PauseCause::Disk) => {
                    "the run is paused for a full disk, and what is left of its budget is less than a worker's reservation"
                }
                Some(PauseCause::Requested | PauseCause::Budget | PauseCause::Plan | PauseCause::Day) | None => {
                    "what is left of the run's budget is less than a worker's reservation"
                }
            };
            let raise = "raise the ceiling: switchboard budget RUN --budget USD";
            let hint = match was {
                Some(PauseCause::Budget) => format!("{raise}; the run goes on by itself then"),
                _ => format!("{raise}, then: switchboard resume RUN"),
            };
            return Err(Refused::new(RefusedCode::Budget, why).hint(hint));
        }
        self.pause = None;
        // A run that is over or ending stays resumed.
        let is_live = self.expect_live().is_ok();
        if is_live && was.is_some() && self.account.reached() == Some(AtCeiling::Pause) {
            self.pause = Some(PauseCause::Budget);
            return Ok(vec![RunEvent::RunPaused { cause: PauseCause::Budget }]);
        }
        Ok(Vec::new())
    }

    /// Returns true if work is left that needs no further worker.
    fn can_go_on_without_room(&self) -> bool {
        let is_due = |at| self.follow_up(&self.records[at], &|_| false).is_some();
        self.queue.live_count() > 0
            || self.next_turn().is_some()
            || self.queue.due().any(is_due)
            || self.queue.startable().next().is_none()
    }

    /// Ends a pause that a person requested or a full disk caused, for a retry. Without room in the budget, the run
    /// stays paused for that reason.
    pub(super) fn end_requested_pause(&mut self) -> Option<RunEvent> {
        if !matches!(self.pause, Some(PauseCause::Requested | PauseCause::Disk)) {
            return None;
        }
        if self.account.has_room(1) {
            self.pause = None;
            return Some(RunEvent::RunResumed);
        }
        self.pause = Some(PauseCause::Budget);
        Some(RunEvent::RunPaused { cause: PauseCause::Budget })
    }

    pub(super) fn task_paused(&mut self, id: &TaskId, cause: TaskPauseCause) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        // A pause that follows from a cost may come after the task's end, so it is not refused.
        if cause.is_requested() {
            self.expect_live()?;
            if self.records[at].is_settled() {
                return Err(Refused::illegal(format!("task {id} is settled")));
            }
        }
        self.pause_task(at, cause);
        Ok(Vec::new())
    }

    pub(super) fn task_resumed(&mut self, id: &TaskId) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        self.expect_live()?;
        let limit = self.limit_of_task(self.records[at].parent.unwrap_or(at));
        let is_over = limit == Some((TaskPauseCause::Budget, AtCeiling::Pause));
        if let Some(cause) = self.records[at].paused.filter(|_| is_over) {
            let why = format!("task {id} has cost as much as it may");
            let raise = format!("raise it: switchboard budget RUN/{id} --budget USD");
            let hint = match cause {
                TaskPauseCause::Budget => format!("{raise}; the task goes on by itself then"),
                TaskPauseCause::Requested | TaskPauseCause::Dear => {
                    format!("{raise}, then: switchboard resume RUN/{id}")
                }
            };
            return Err(Refused::new(RefusedCode::Budget, why).hint(hint));
        }
        self.resume_task(at);
        Ok(Vec::new())
    }

    fn pause_task(&mut self, at: usize, cause: TaskPauseCause) {
        for unit in self.with_subtasks(at) {
            if self.records[unit].is_settled() {
                continue;
            }
            let paused = &mut self.records[unit].paused;
            // A pause at the task's ceiling ends by itself once that is raised, a requested one only by request.
            if paused.is_none() || *paused == Some(TaskPauseCause::Budget) && cause.is_requested() {
                *paused = Some(cause);
            }
            if !self.records[unit].is_in_doubt() {
                // Other tasks may move the run's branch meanwhile.
                self.queue.leave_turn(unit);
            }
            self.reindex(unit);
        }
    }

    fn resume_task(&mut self, at: usize) {
        for unit in self.with_subtasks(at) {
            let was = self.records[unit].paused.take();
            self.records[unit].is_high_cost_allowed |= was == Some(TaskPauseCause::Dear);
            self.reindex(unit);
        }
    }

    /// Stops the clock for the time limits of paused workers, and lets it run for the others.
    pub(super) fn stop_clocks(&mut self, now: Millis) {
        let is_all = self.pauses_workers();
        for at in self.queue.live().collect::<Vec<_>>() {
            let record = &mut self.records[at];
            record.stand_still(is_all || record.paused == Some(TaskPauseCause::Requested), now);
            self.reindex(at);
        }
    }

    /// Returns true if all workers of the run wait at their next boundary.
    pub(super) fn pauses_workers(&self) -> bool {
        matches!(self.pause, Some(PauseCause::Requested | PauseCause::Disk))
    }

    pub(super) fn with_subtasks(&self, at: usize) -> Vec<usize> {
        self.records[at].subtasks.iter().copied().chain([at]).collect()
    }

    // === cost limits of tasks ===

    /// Returns the cost of a task and its subtasks.
    pub(super) fn cost_of_task(&self, at: usize) -> u64 {
        let workers = self.with_subtasks(at).into_iter().flat_map(|unit| &self.records[unit].workers);
        workers.map(|worker| self.account.cost(worker).unwrap_or(0)).fold(0, u64::saturating_add)
    }

    pub(super) fn limit_of_task(&self, at: usize) -> Option<(TaskPauseCause, AtCeiling)> {
        self.account.limit_of_task(self.records[at].ceiling, self.cost_of_task(at))
    }

    /// Pauses or stops a task whose cost has reached its limit.
    pub(super) fn limit_task(&mut self, at: usize) -> Consequences {
        let parent = self.records[at].parent.unwrap_or(at);
        // A subtask may be active again although its task is settled.
        let at = if self.records[parent].is_settled() { at } else { parent };
        let record = &self.records[at];
        let is_open = self.is_open() && self.finished.is_none() && !self.stopping && !record.is_settled();
        let is_free = is_open && record.paused.is_none() && !record.stopping;
        let Some(task) = record.task().filter(|_| is_free).cloned() else { return Vec::new() };
        let Some((cause, at_ceiling)) = self.limit_of_task(parent) else { return Vec::new() };
        let was_said = record.is_high_cost_allowed;
        if was_said && (cause == TaskPauseCause::Dear || at_ceiling == AtCeiling::Warn) {
            return Vec::new();
        }
        match at_ceiling {
            AtCeiling::Warn => {
                self.records[at].is_high_cost_allowed = true;
                Vec::new()
            }
            AtCeiling::Pause => {
                self.pause_task(at, cause);
                vec![RunEvent::TaskPaused { task, cause }]
            }
            AtCeiling::Halt => {
                let mut consequences = vec![RunEvent::TaskStopRequested { task, grace_ms: None }];
                consequences.extend(self.request_stop(at));
                consequences
            }
        }
    }

    /// Pauses a retried task whose cost has reached its limit. If the limit had stopped it, it continues until it
    /// reports a cost.
    pub(super) fn pause_at_limit(&mut self, at: usize) -> Consequences {
        let parent = self.records[at].parent.unwrap_or(at);
        let limit = self.limit_of_task(parent);
        if limit == Some((TaskPauseCause::Budget, AtCeiling::Pause)) { self.limit_task(at) } else { Vec::new() }
    }

    /// Checks all tasks after a change of the budget: the limits of some may be higher now, or lower.
    fn limit_tasks(&mut self) -> Consequences {
        let mut consequences = Vec::new();
        if self.expect_live().is_err() {
            return consequences;
        }
        for at in 0..self.records.len() {
            self.forget_alerts(at);
            consequences.extend(self.limit_anew(at));
        }
        consequences
    }

    /// Checks a task whose ceiling has changed: resumes it if it may cost more now, and limits it if not.
    fn limit_anew(&mut self, at: usize) -> Consequences {
        let parent = self.records[at].parent.unwrap_or(at);
        let was = self.records[at].paused == Some(TaskPauseCause::Budget);
        if was && self.limit_of_task(parent).is_none_or(|(cause, _)| cause != TaskPauseCause::Budget) {
            let Some(task) = self.records[at].task().cloned() else { return Vec::new() };
            self.resume_task(at);
            return vec![RunEvent::TaskResumed { task }];
        }
        self.limit_task(at)
    }

    /// Sets a task's own ceiling, which overrides the budget's ceiling for every task.
    pub(super) fn task_budget_set(&mut self, id: &TaskId, ceiling: Option<u64>) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        self.expect_live()?;
        if let Some(parent) = self.records[at].parent.and_then(|parent| self.records[parent].task()) {
            let why = format!("task {id} is part of {parent}, whose ceiling holds for it");
            return Err(Refused::illegal(why).hint(format!("set that of {parent}")));
        }
        if self.records[at].is_settled() {
            return Err(Refused::illegal(format!("task {id} is settled")));
        }
        self.records[at].ceiling = ceiling;
        self.forget_alerts(at);
        self.account.limit_units();
        Ok(self.limit_anew(at))
    }

    pub(super) fn expect_live(&self) -> Result<(), Refused> {
        if self.is_open() && self.finished.is_none() && !self.stopping {
            return Ok(());
        }
        Err(Refused::illegal("the run is over, or is being stopped"))
    }
}
