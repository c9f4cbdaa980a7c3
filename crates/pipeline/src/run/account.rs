//! The cost of a run so far, the possible further cost of its workers, and whether another worker fits below the
//! ceiling.
//!
//! Before a turn of a worker begins, its reservation is set aside. At that time, spending plus reservations never
//! exceed the ceiling. A run can therefore exceed it only by what turns cost beyond their reservations; at the ceiling,
//! turns are cancelled.

use std::collections::{BTreeMap, VecDeque};

use switchboard_protocol::id::WorkerId;
use switchboard_protocol::run::{
    ALERTS, AVERAGE_WINDOW_TASKS, AtCeiling, Budget, DEFAULT_RESERVE, EXPENSIVE_FACTOR, MIN_TASKS_FOR_AVERAGE,
    MIN_TURNS_FOR_RESERVE, TaskPauseCause,
};

/// The account of one run, in millionths of a US dollar.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Account {
    budget: Option<Budget>,
    /// Ceiling for all runs of its plan.
    plan: Option<u64>,
    /// True if there is a ceiling for all runs of a day.
    day: bool,
    /// True if a task has had a ceiling of its own.
    units: bool,
    spent: u64,
    /// Highest share, in percent, that an alert has reported.
    alerted: u8,
    /// Active workers, each with its cost at the beginning of its current turn.
    live: BTreeMap<WorkerId, u64>,
    /// Total cost of each worker, as reported or estimated.
    costs: BTreeMap<WorkerId, u64>,
    /// Costs of completed turns, as far as reported, in ascending order.
    turns: Vec<u64>,
    /// Costs of the most recently completed tasks, the newest last.
    done: VecDeque<u64>,
}

// === impl Account ===

impl Account {
    /// Returns the budget, if there is one.
    pub(super) const fn budget(&self) -> Option<&Budget> {
        self.budget.as_ref()
    }

    pub(super) const fn spent(&self) -> u64 {
        self.spent
    }

    pub(super) const fn plan(&self) -> Option<u64> {
        self.plan
    }

    pub(super) const fn has_day(&self) -> bool {
        self.day
    }

    /// Sets the ceilings that the run shares with other runs.
    pub(super) const fn set_shared(&mut self, plan: Option<u64>, day: bool) {
        (self.plan, self.day) = (plan, day);
    }

    /// Records that a task has its own ceiling, so that workers without a reported cost count as their reservations.
    pub(super) const fn limit_units(&mut self) {
        self.units = true;
    }

    /// Replaces the budget. Shares of the new ceiling that are already spent cause no alert.
    pub(super) fn set(&mut self, budget: Option<Budget>) {
        self.budget = budget;
        self.alerted = self.share().unwrap_or(0);
    }

    /// Returns the consequence of the ceiling if it is reached.
    pub(super) fn reached(&self) -> Option<AtCeiling> {
        self.budget.filter(|budget| self.spent >= budget.ceiling).map(|budget| budget.at_ceiling)
    }

    /// Returns true if this many more workers fit below the ceiling.
    pub(super) fn has_room(&self, workers: usize) -> bool {
        let Some(budget) = self.budget.filter(|budget| budget.at_ceiling != AtCeiling::Warn) else { return true };
        let reserve = self.reservation();
        let left: u64 = self.live.keys().map(|worker| self.left_of(worker)).sum();
        let more = reserve.saturating_mul(u64::try_from(workers).unwrap_or(u64::MAX));
        let taken = self.spent.saturating_add(left).saturating_add(more);
        // With a reservation of zero, the check is whether the ceiling itself is reached.
        taken <= budget.ceiling && self.spent < budget.ceiling
    }

    /// Returns the rest of an active worker's reservation.
    pub(super) fn left_of(&self, worker: &WorkerId) -> u64 {
        let begun_at = self.live.get(worker).copied().unwrap_or(0);
        self.reservation().saturating_sub(self.cost(worker).map_or(0, |cost| cost.saturating_sub(begun_at)))
    }

    /// Returns true if an active worker may begin another turn: the rest of its last reservation is free.
    pub(super) fn has_room_for_turn(&self, worker: &WorkerId) -> bool {
        let Some(budget) = self.budget.filter(|budget| budget.at_ceiling != AtCeiling::Warn) else { return true };
        let others = self.live.keys().filter(|other| *other != worker).map(|other| self.left_of(other));
        let taken = others.fold(self.spent.saturating_add(self.reservation()), u64::saturating_add);
        taken <= budget.ceiling && self.spent < budget.ceiling
    }

    /// Begins another turn of an active worker.
    pub(super) fn begin_turn(&mut self, worker: &WorkerId) {
        let cost = self.cost(worker).unwrap_or(0);
        let Some(begun_at) = self.live.get_mut(worker) else { return };
        let begun_at = std::mem::replace(begun_at, cost);
        self.turn_ended(worker, begun_at);
    }

    /// Counts the cost of a worker's turn that began at this total, if the worker reports its cost.
    fn turn_ended(&mut self, worker: &WorkerId, begun_at: u64) {
        let Some(cost) = self.cost(worker).map(|cost| cost.saturating_sub(begun_at)) else { return };
        let place = self.turns.partition_point(|known| *known <= cost);
        self.turns.insert(place, cost);
    }

    /// Returns the reservation for a turn.
    pub(super) fn reservation(&self) -> u64 {
        let (ceiling, task) = self.budget.map_or((None, None), |budget| (Some(budget.ceiling), budget.task));
        let lowest = [ceiling, task, self.plan].into_iter().flatten().min().unwrap_or(u64::MAX);
        self.budget.and_then(|budget| budget.reserve).unwrap_or_else(|| match self.turns.len() {
            0..MIN_TURNS_FOR_RESERVE => DEFAULT_RESERVE.min(lowest),
            // Nearest rank: the smallest cost that 95 % of the turns did not exceed.
            known => self.turns[(known * 95).div_ceil(100) - 1],
        })
    }

    pub(super) fn begin(&mut self, worker: &WorkerId) {
        self.live.entry(worker.clone()).or_insert(0);
    }

    /// Sets a worker's total cost; returns the shares of the ceiling, in percent, that are newly spent. A total that is
    /// not above the known one changes nothing.
    pub(super) fn count(&mut self, worker: &WorkerId, total: u64) -> Vec<u8> {
        let known = self.costs.entry(worker.clone()).or_default();
        self.spent = self.spent.saturating_add(total.saturating_sub(*known));
        *known = total.max(*known);
        let before = self.alerted;
        self.alerted = self.share().map_or(before, |share| share.max(before));
        ALERTS.into_iter().filter(|share| *share > before && *share <= self.alerted).collect()
    }

    /// Ends a worker; returns its estimated cost if it reported none and there is a ceiling.
    pub(super) fn end(&mut self, worker: &WorkerId) -> Option<u64> {
        let begun_at = self.live.remove(worker)?;
        let is_limited = self.budget.is_some() || self.plan.is_some() || self.day || self.units;
        self.turn_ended(worker, begun_at);
        match self.cost(worker) {
            Some(_) => None,
            None => Some(self.reservation()).filter(|estimate| is_limited && *estimate > 0),
        }
    }

    /// Records the total cost of a completed task.
    pub(super) fn task_done(&mut self, cost: u64) {
        if self.done.len() == AVERAGE_WINDOW_TASKS {
            self.done.pop_front();
        }
        self.done.push_back(cost);
    }

    /// Returns the effective ceiling of a task; `own` is its own ceiling.
    pub(super) fn ceiling_of_task(&self, own: Option<u64>) -> Option<u64> {
        own.or_else(|| self.budget?.task)
    }

    /// Returns the pause and consequence for a task with this cost, if any; `own` is its own ceiling.
    pub(super) fn limit_of_task(&self, own: Option<u64>, cost: u64) -> Option<(TaskPauseCause, AtCeiling)> {
        let at_ceiling = self.budget.map_or(AtCeiling::default(), |budget| budget.at_ceiling);
        if self.ceiling_of_task(own).is_some_and(|ceiling| cost >= ceiling) {
            return Some((TaskPauseCause::Budget, at_ceiling));
        }
        let budget = self.budget?;
        let (sum, known) = (self.done.iter().map(|cost| u128::from(*cost)).sum::<u128>(), self.done.len());
        let is_dear =
            known >= MIN_TASKS_FOR_AVERAGE && u128::from(cost) * known as u128 > u128::from(EXPENSIVE_FACTOR) * sum;
        (is_dear && budget.at_ceiling == AtCeiling::Pause).then_some((TaskPauseCause::Dear, AtCeiling::Pause))
    }

    /// Returns the cost of a worker, as far as known.
    pub(super) fn cost(&self, worker: &WorkerId) -> Option<u64> {
        self.costs.get(worker).copied()
    }

    /// Returns the highest of [`ALERTS`] that is spent, 0 below all of them.
    fn share(&self) -> Option<u8> {
        Some(share_of(self.spent, self.budget?.ceiling))
    }
}

/// Returns the highest of [`ALERTS`] that the spending has reached of a ceiling, 0 below all of them.
pub(super) fn share_of(spent: u64, ceiling: u64) -> u8 {
    let is_spent = |share: &u8| u128::from(spent) * 100 >= u128::from(ceiling) * u128::from(*share);
    ALERTS.into_iter().rev().find(is_spent).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(n: u64) -> WorkerId {
        WorkerId::from_bits(n)
    }

    fn of(ceiling: u64, reserve: Option<u64>, at_ceiling: AtCeiling) -> Account {
        let mut account = Account::default();
        account.set(Some(Budget { ceiling, task: None, reserve, at_ceiling }));
        account
    }

    #[test]
    fn a_worker_starts_only_where_its_reservation_fits_beside_those_of_the_others() {
        let mut account = of(1_000, Some(400), AtCeiling::Pause);
        assert!(account.has_room(2) && !account.has_room(3));

        account.begin(&worker(1));
        account.begin(&worker(2));
        assert!(!account.has_room(1));
        account.count(&worker(1), 100);
        assert!(!account.has_room(1), "what a worker has cost is part of its reservation");
        account.end(&worker(1));
        assert!(account.has_room(1), "100 spent, 400 set aside");
        account.count(&worker(2), 450);
        account.end(&worker(2));
        assert!(account.has_room(1));
        account.count(&worker(2), 501);
        assert!(!account.has_room(1));
    }

    #[test]
    fn without_reservations_workers_and_turns_begin_below_the_ceiling_and_not_at_it() {
        let mut account = of(1_000, Some(0), AtCeiling::Pause);
        account.begin(&worker(1));

        account.count(&worker(1), 999);
        assert_eq!((account.has_room(1), account.has_room_for_turn(&worker(1))), (true, true));
        account.count(&worker(1), 1_000);
        assert_eq!((account.has_room(1), account.has_room_for_turn(&worker(1))), (false, false));
    }

    #[test]
    fn each_share_of_the_ceiling_is_announced_once() {
        let mut account = of(1_000, Some(0), AtCeiling::Pause);

        assert_eq!(account.count(&worker(1), 749), [0u8; 0]);
        assert_eq!(account.count(&worker(1), 750), [75]);
        assert_eq!(account.count(&worker(1), 750), [0u8; 0], "told again");
        assert_eq!(account.count(&worker(2), 200), [80, 90]);
        assert_eq!((account.reached(), account.has_room(1)), (None, true));
        assert_eq!(account.count(&worker(1), 800), [100]);
        assert_eq!((account.reached(), account.has_room(1)), (Some(AtCeiling::Pause), false));
        assert_eq!(account.count(&worker(1), 850), [0u8; 0]);
        account.set(Some(Budget { ceiling: 2_000, task: None, reserve: None, at_ceiling: AtCeiling::Pause }));
        assert_eq!(account.count(&worker(1), 1_300), [75]);
    }

    #[test]
    fn the_reservation_follows_what_workers_cost_once_enough_have_ended() {
        let mut account = of(10_000_000, None, AtCeiling::Pause);
        for n in 1..=20_u64 {
            let expected = if n <= 5 { DEFAULT_RESERVE } else { ((n - 1) * 95).div_ceil(100) * 10 };
            assert_eq!(account.reservation(), expected, "{n}");
            account.begin(&worker(n));
            account.count(&worker(n), n * 10);
            assert_eq!(account.end(&worker(n)), None);
        }
        assert_eq!(account.reservation(), 190, "19 of 20 cost no more");
        assert_eq!(of(300, None, AtCeiling::Pause).reservation(), 300);
    }

    #[test]
    fn each_turn_has_a_reservation_which_follows_what_turns_cost() {
        let mut account = of(10_000_000, None, AtCeiling::Pause);
        account.begin(&worker(1));
        for turn in 1..=5_u64 {
            account.count(&worker(1), turn * 100);
            account.begin_turn(&worker(1));
        }
        assert_eq!(account.reservation(), 100, "five turns of 100, not one worker of 500");

        account.set(Some(Budget { ceiling: 700, task: None, reserve: None, at_ceiling: AtCeiling::Pause }));
        assert_eq!(account.left_of(&worker(1)), 100, "set aside anew with each turn");
        account.count(&worker(1), 540);
        assert_eq!((account.left_of(&worker(1)), account.has_room(1)), (60, true));
        account.begin(&worker(2));
        assert!(!account.has_room(1));
        account.count(&worker(2), 80);
        assert!(!account.has_room_for_turn(&worker(1)), "620 spent, 20 aside for the other");
        account.end(&worker(2));
        assert_eq!(account.reservation(), 100);
        account.count(&worker(1), 520);
        assert!(!account.has_room_for_turn(&worker(1)), "620 spent and 100 wanted of 700");
        account.set(Some(Budget { ceiling: 720, task: None, reserve: None, at_ceiling: AtCeiling::Pause }));
        assert!(account.has_room_for_turn(&worker(1)));
    }

    #[test]
    fn a_worker_that_reports_no_cost_counts_as_its_reservation() {
        let mut account = of(1_000, Some(400), AtCeiling::Halt);
        account.begin(&worker(1));
        account.begin(&worker(2));
        account.count(&worker(2), 0);

        assert_eq!(account.end(&worker(1)), Some(400));
        assert_eq!(account.end(&worker(2)), None, "it said that it cost nothing");
        assert_eq!(account.end(&worker(2)), None);
        let mut free = Account::default();
        free.begin(&worker(1));
        assert_eq!(free.end(&worker(1)), None);
    }

    #[test]
    fn a_task_is_limited_by_its_ceiling_and_by_what_others_have_cost() {
        let mut account = of(10_000, None, AtCeiling::Pause);
        let limit = |account: &Account, cost| account.limit_of_task(None, cost).map(|(cause, _)| cause);
        assert_eq!(limit(&account, 10_000), None);
        account.set(Some(Budget { ceiling: 10_000, task: Some(500), reserve: None, at_ceiling: AtCeiling::Pause }));
        assert_eq!((limit(&account, 499), limit(&account, 500)), (None, Some(TaskPauseCause::Budget)));

        // The last 20 tasks cost 100 each on average.
        for cost in [9_000].into_iter().chain([50, 150].repeat(10)) {
            account.task_done(cost);
        }
        assert_eq!((limit(&account, 300), limit(&account, 301)), (None, Some(TaskPauseCause::Dear)));
        account.set(Some(Budget { ceiling: 10_000, task: None, reserve: None, at_ceiling: AtCeiling::Halt }));
        assert_eq!(limit(&account, 301), None, "what is only dear is stopped by nobody");
        account.set(None);
        assert_eq!(limit(&account, 9_999), None);
        assert_eq!(
            account.limit_of_task(Some(9_999), 9_999),
            Some((TaskPauseCause::Budget, AtCeiling::Pause)),
            "a task's own ceiling holds without a budget"
        );
    }

    #[test]
    fn with_warnings_only_nothing_is_held_back() {
        let mut account = of(100, None, AtCeiling::Warn);

        assert_eq!(account.count(&worker(1), 500), [75, 80, 90, 100]);

        assert_eq!((account.reached(), account.has_room(64)), (Some(AtCeiling::Warn), true));
    }
}
