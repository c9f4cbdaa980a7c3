//! State that all runs of a record share: spending per day and per plan, the limit of live workers, and the rate limits
//! of accounts.
//!
//! A run asks before it starts a worker ([`Shared::start`]), and reports its spending and what its workers may still
//! cost ([`Shared::update`]). At a start, spending plus reservations never exceed a ceiling. All runs together
//! therefore exceed it by no more than their workers exceed their reservations.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_protocol::id::RunId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{ALERTS, AtCeiling, BudgetScope, Ceiling, Limits, Wait};
use switchboard_protocol::time::Millis;

/// Milliseconds of a day.
const DAY_MS: i64 = 24 * 60 * 60_000;

/// State that all runs of a record share. Amounts are millionths of a US dollar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shared {
    /// Limits from the settings; `None` while these can't be read, so that nothing starts.
    limits: Option<Limits>,
    /// Default maximum number of workers whose agents are not scripts.
    usual_workers: u32,
    runs: BTreeMap<RunId, Share>,
    /// Number of the day since 1970 (UTC), and the spending on it.
    day: (i64, u64),
    /// Spending of all runs of a plan, by the plan's hash.
    plans: BTreeMap<String, PlanSpending>,
    /// Time until which the workers of an account wait, by account.
    accounts: BTreeMap<String, Millis>,
}

/// Spending of all runs of a plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct PlanSpending {
    /// Spending from before this state began to count; `None` if it was not read yet.
    before: Option<u64>,
    /// Spending since.
    since: u64,
}

/// Share of one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Share {
    plan: String,
    ceiling: Option<(u64, AtCeiling)>,
    spent: u64,
    /// Unspent reservations of its workers.
    live: BTreeMap<TaskId, WorkerSlot>,
    waits: BTreeMap<TaskId, Wait>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WorkerSlot {
    reserved: u64,
    is_scripted: bool,
}

/// A worker that a run wants to start.
#[derive(Debug, Clone, Copy)]
pub struct WorkerRequest<'a> {
    /// Task of the worker.
    pub task: &'a TaskId,
    /// Account of the worker's agent.
    pub account: &'a str,
    /// True if the agent is a script.
    pub is_scripted: bool,
    /// Amount to reserve for the worker.
    pub reserve: u64,
}

/// A notice that a share of a ceiling is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alert {
    /// Scope of the ceiling.
    pub of: BudgetScope,
    /// Spent share of the ceiling in percent.
    pub percent: u8,
    /// Amount spent.
    pub spent: u64,
}

/// Standing of a run at the ceilings that it shares with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// A ceiling is reached; the second field is the consequence.
    Reached(BudgetScope, AtCeiling),
    /// The remainder is less than the run's reservation, and no worker is left whose end could change that.
    NoRoom(BudgetScope),
    /// No ceiling prevents its workers from starting.
    Free,
}

// === impl Shared ===

impl Shared {
    /// Makes an empty state. No worker may start before [`set_limits`](Self::set_limits).
    #[must_use]
    pub const fn new(usual_workers: u32) -> Self {
        Self {
            limits: None,
            usual_workers,
            runs: BTreeMap::new(),
            day: (0, 0),
            plans: BTreeMap::new(),
            accounts: BTreeMap::new(),
        }
    }

    /// Sets the limits from the settings; `None` if these can't be read. Returns true if anything changed.
    pub fn set_limits(&mut self, limits: Option<Limits>) -> bool {
        std::mem::replace(&mut self.limits, limits) != limits
    }

    /// Returns true if there is a ceiling for all runs of a day.
    #[must_use]
    pub fn has_day(&self) -> bool {
        self.limits.is_some_and(|limits| limits.day.is_some())
    }

    /// Adds spending on the day of `now` from before this state began to count.
    pub fn add_to_day(&mut self, spent: u64, now: Millis) {
        self.turn_day(now);
        self.day.1 = self.day.1.saturating_add(spent);
    }

    /// Returns true if the spending of a plan's runs from before this state began to count is known.
    #[must_use]
    pub fn knows_plan(&self, plan: &str) -> bool {
        self.plans.get(plan).is_some_and(|spending| spending.before.is_some())
    }

    /// Sets the spending of a plan's runs from before this state began to count.
    pub fn set_plan(&mut self, plan: &str, spent: u64) {
        self.plans.entry(plan.to_owned()).or_default().before = Some(spent);
    }

    /// Adds a run whose spending so far is already counted.
    pub fn open(&mut self, run: &RunId, plan: &str, spent: u64) {
        self.runs.insert(run.clone(), Share { plan: plan.to_owned(), spent, ..Share::default() });
    }

    /// Removes a run that has ended. Returns true if that makes room for others.
    pub fn close(&mut self, run: &RunId) -> bool {
        self.runs.remove(run).is_some_and(|share| !share.live.is_empty())
    }

    /// Updates a run's total spending and its tasks with workers, each with the rest of its reservation. Tasks in
    /// `starting` keep the reservation of their start. Returns the shares of ceilings that are newly spent, and whether
    /// other runs may have more room, or less than none.
    pub fn update(
        &mut self,
        run: &RunId,
        ceiling: Option<(u64, AtCeiling)>,
        spent: u64,
        (live, starting): (&BTreeMap<TaskId, u64>, &BTreeSet<TaskId>),
        now: Millis,
    ) -> (Vec<Alert>, bool) {
        self.turn_day(now);
        let before = self.ceilings_of(run);
        let Some(share) = self.runs.get_mut(run) else { return (Vec::new(), false) };
        let had = share.live.len();
        let more = spent.saturating_sub(share.spent);
        share.spent = share.spent.max(spent);
        let changed = share.ceiling != ceiling;
        share.ceiling = ceiling;
        share.live.retain(|task, _| live.contains_key(task) || starting.contains(task));
        for (task, reserved) in live {
            let known =
                share.live.entry(task.clone()).or_insert(WorkerSlot { reserved: *reserved, is_scripted: false });
            known.reserved = *reserved;
        }
        let has_left = share.live.len() < had;
        let plan = share.plan.clone();
        self.day.1 = self.day.1.saturating_add(more);
        let of_plan = self.plans.entry(plan).or_default();
        of_plan.since = of_plan.since.saturating_add(more);
        let after = self.ceilings_of(run);
        let is_reached = |all: &[Ceiling]| all.iter().any(Ceiling::is_reached);
        let turned = is_reached(&before) != is_reached(&after);
        (if changed { Vec::new() } else { alerts(&before, &after) }, has_left || turned || changed)
    }

    /// Reserves a place for a worker, if it may start.
    ///
    /// # Errors
    /// What the worker has to wait for.
    pub fn start(&mut self, run: &RunId, wanted: WorkerRequest<'_>, now: Millis) -> Result<(), Wait> {
        self.turn_day(now);
        let waits = self.wait_for(run, wanted, now);
        let Some(share) = self.runs.get_mut(run) else { return Ok(()) };
        if let Some(wait) = waits {
            match share.waits.get_mut(wanted.task) {
                Some(known) => *known = wait,
                None => drop(share.waits.insert(wanted.task.clone(), wait)),
            }
            return Err(wait);
        }
        share.waits.remove(wanted.task);
        let place = WorkerSlot { reserved: wanted.reserve, is_scripted: wanted.is_scripted };
        share.live.insert(wanted.task.clone(), place);
        Ok(())
    }

    /// Keeps the waits of tasks that still wait at [`start`](Self::start), and removes those of all other tasks of the
    /// run.
    pub fn keep_waits(&mut self, run: &RunId, is_waiting: impl Fn(&TaskId) -> bool) {
        if let Some(share) = self.runs.get_mut(run) {
            share.waits.retain(|task, _| is_waiting(task));
        }
    }

    /// Returns what a task waits for.
    #[must_use]
    pub fn wait_of(&self, run: &RunId, task: &TaskId) -> Option<Wait> {
        self.runs.get(run)?.waits.get(task).copied()
    }

    /// Records that an account's service wants its clients to wait. Returns true if that is new.
    pub fn limit_account(&mut self, account: &str, until: Millis) -> bool {
        let known = self.accounts.entry(account.to_owned()).or_insert(Millis(0));
        let is_later = until > *known;
        *known = until.max(*known);
        is_later
    }

    /// Returns the standing of a run whose next worker has this reservation.
    #[must_use]
    pub fn standing(&self, run: &RunId, reserve: u64, now: Millis) -> Standing {
        let all = self.ceilings_at(run, now);
        let reached = all.iter().find(|ceiling| ceiling.is_reached() && ceiling.at_ceiling != AtCeiling::Warn);
        if let Some(ceiling) = reached {
            return Standing::Reached(ceiling.of, ceiling.at_ceiling);
        }
        // A worker that ends may leave some of its reservation.
        let is_full = |ceiling: &&Ceiling| {
            self.places(run, ceiling.of).next().is_none() && self.lacks_room(run, ceiling, reserve)
        };
        let full = all.iter().find(is_full);
        full.map_or(Standing::Free, |ceiling| Standing::NoRoom(ceiling.of))
    }

    /// Returns the next time at which something changes without a call: an account's wait ends, or the day does.
    #[must_use]
    pub fn next_change(&self, now: Millis) -> Option<Millis> {
        let waits = self.accounts.values().copied().filter(|until| *until > now);
        let midnight = self.has_day().then_some(Millis((day_of(now) + 1) * DAY_MS));
        waits.chain(midnight).min()
    }

    /// Returns the ceilings that a run shares with others.
    #[must_use]
    pub fn ceilings_at(&self, run: &RunId, now: Millis) -> Vec<Ceiling> {
        let mut all = self.ceilings_of(run);
        if self.day.0 != day_of(now) {
            all.iter_mut().filter(|ceiling| ceiling.of == BudgetScope::Day).for_each(|ceiling| ceiling.spent = 0);
        }
        all
    }

    /// Returns the ceiling for all runs of a day and the spending on that day, if there is one.
    #[must_use]
    pub fn day_at(&self, now: Millis) -> Option<Ceiling> {
        let limits = self.limits?;
        let spent = if self.day.0 == day_of(now) { self.day.1 } else { 0 };
        Some(Ceiling { of: BudgetScope::Day, ceiling: limits.day?, spent, at_ceiling: limits.at_ceiling })
    }

    fn turn_day(&mut self, now: Millis) {
        if self.day.0 != day_of(now) {
            self.day = (day_of(now), 0);
        }
    }

    fn ceilings_of(&self, run: &RunId) -> Vec<Ceiling> {
        let (number, spent) = self.day;
        let day = self.day_at(Millis(number * DAY_MS)).map(|ceiling| Ceiling { spent, ..ceiling });
        let plan = self.runs.get(run).and_then(|share| {
            let (ceiling, at_ceiling) = share.ceiling?;
            let spending = self.plans.get(&share.plan).copied().unwrap_or_default();
            let spent = spending.before.unwrap_or(0).saturating_add(spending.since);
            Some(Ceiling { of: BudgetScope::Plan, ceiling, spent, at_ceiling })
        });
        plan.into_iter().chain(day).collect()
    }

    fn wait_for(&self, run: &RunId, wanted: WorkerRequest<'_>, now: Millis) -> Option<Wait> {
        let Some(limits) = self.limits else { return Some(Wait::Settings) };
        if let Some(until) = self.accounts.get(wanted.account).filter(|until| **until > now) {
            return Some(Wait::RateLimit { until: *until });
        }
        let places = self.runs.values().flat_map(|share| share.live.values());
        let (most, alive) = match limits.workers {
            Some(most) => (most, places.count()),
            None if wanted.is_scripted => (u32::MAX, 0),
            None => (self.usual_workers, places.filter(|place| !place.is_scripted).count()),
        };
        if alive >= most as usize {
            return Some(Wait::Workers { most });
        }
        let ceilings = self.ceilings_of(run);
        let full = ceilings.iter().find(|ceiling| self.lacks_room(run, ceiling, wanted.reserve));
        full.map(|ceiling| Wait::Budget { of: ceiling.of })
    }

    fn lacks_room(&self, run: &RunId, ceiling: &Ceiling, reserve: u64) -> bool {
        let taken = ceiling.spent.saturating_add(self.set_aside(run, ceiling.of));
        // A reservation is at most the whole ceiling.
        let taken = taken.saturating_add(reserve.min(ceiling.ceiling));
        ceiling.at_ceiling != AtCeiling::Warn && (taken > ceiling.ceiling || ceiling.is_reached())
    }

    /// Returns the sum of the reservations of all workers whose cost counts towards a ceiling.
    fn set_aside(&self, run: &RunId, of: BudgetScope) -> u64 {
        self.places(run, of).map(|place| place.reserved).fold(0, u64::saturating_add)
    }

    /// Returns the places of all workers whose cost counts towards a ceiling.
    fn places(&self, run: &RunId, of: BudgetScope) -> impl Iterator<Item = &WorkerSlot> {
        let plan = self.runs.get(run).map(|share| share.plan.as_str());
        let counts = move |share: &&Share| match of {
            BudgetScope::Plan => Some(share.plan.as_str()) == plan,
            BudgetScope::Day => true,
            BudgetScope::Run => false,
        };
        self.runs.values().filter(counts).flat_map(|share| share.live.values())
    }
}

/// Returns the shares of ceilings that are spent now and were not before, each once.
fn alerts(before: &[Ceiling], after: &[Ceiling]) -> Vec<Alert> {
    let is_spent = |ceiling: &Ceiling, percent: u8| {
        u128::from(ceiling.spent) * 100 >= u128::from(ceiling.ceiling) * u128::from(percent)
    };
    let of = |ceiling: &Ceiling| {
        let was = before.iter().find(|was| was.of == ceiling.of).copied();
        let ceiling = *ceiling;
        let is_new =
            move |percent: &u8| is_spent(&ceiling, *percent) && was.is_some_and(|was| !is_spent(&was, *percent));
        ALERTS.into_iter().filter(is_new).map(move |percent| Alert { of: ceiling.of, percent, spent: ceiling.spent })
    };
    after.iter().flat_map(of).collect()
}

const fn day_of(at: Millis) -> i64 {
    at.0.div_euclid(DAY_MS)
}

#[cfg(test)]
mod tests;
