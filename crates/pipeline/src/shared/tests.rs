//! Runs that share a ceiling, a number of workers and an account.

use super::*;

fn run(n: u64) -> RunId {
    RunId::from_bits(n)
}

fn task(n: u64) -> TaskId {
    TaskId::new(format!("1.{n}")).unwrap()
}

fn wanted(task: &TaskId, reserve: u64) -> WorkerRequest<'_> {
    WorkerRequest { task, account: "a", is_scripted: false, reserve }
}

fn shared(limits: Limits) -> Shared {
    let mut shared = Shared::new(8);
    shared.set_limits(Some(limits));
    for n in 0..4 {
        shared.open(&run(n), if n < 2 { "p" } else { "q" }, 0);
    }
    shared
}

fn day(ceiling: u64) -> Limits {
    Limits { day: Some(ceiling), ..Limits::default() }
}

const NOW: Millis = Millis(5 * DAY_MS + 1000);

fn update(shared: &mut Shared, of: u64, spent: u64, live: &[(u64, u64)]) -> Vec<(BudgetScope, u8)> {
    let live = live.iter().map(|(n, left)| (task(*n), *left)).collect();
    let ceiling = shared.runs[&run(of)].ceiling;
    let (alerts, _) = shared.update(&run(of), ceiling, spent, (&live, &BTreeSet::new()), NOW);
    alerts.iter().map(|alert| (alert.of, alert.percent)).collect()
}

#[test]
fn two_runs_start_only_what_fits_below_the_ceiling_of_the_day_and_a_new_day_begins_at_nothing() {
    let mut shared = shared(day(1000));

    assert_eq!(shared.start(&run(0), wanted(&task(1), 600), NOW), Ok(()));
    let no_room = Err(Wait::Budget { of: BudgetScope::Day });
    assert_eq!(shared.start(&run(2), wanted(&task(1), 600), NOW), no_room);
    assert_eq!(shared.standing(&run(2), 600, NOW), Standing::Free, "the other's end may make room");
    assert_eq!(update(&mut shared, 0, 500, &[]), []);
    assert_eq!(shared.standing(&run(2), 600, NOW), Standing::NoRoom(BudgetScope::Day));
    assert_eq!(shared.start(&run(2), wanted(&task(1), 500), NOW), Ok(()));
    assert_eq!(update(&mut shared, 2, 500, &[(1, 0)]), [75, 80, 90, 100].map(|percent| (BudgetScope::Day, percent)));
    assert_eq!(update(&mut shared, 2, 501, &[(1, 0)]), [], "each is said once");
    assert_eq!(shared.standing(&run(3), 1, NOW), Standing::Reached(BudgetScope::Day, AtCeiling::Pause));
    let midnight = shared.next_change(NOW).unwrap();
    assert_eq!((midnight, shared.standing(&run(3), 1, midnight)), (Millis(6 * DAY_MS), Standing::Free));
    assert_eq!(shared.start(&run(3), wanted(&task(1), 1000), midnight), Ok(()));
}

#[test]
fn a_run_waits_for_the_end_of_a_worker_that_has_used_up_its_reservation() {
    let mut shared = shared(day(1000));
    assert_eq!(shared.start(&run(0), wanted(&task(1), 600), NOW), Ok(()));

    update(&mut shared, 0, 700, &[(1, 0)]);
    assert_eq!(shared.standing(&run(0), 600, NOW), Standing::Free);
    update(&mut shared, 0, 700, &[]);
    assert_eq!(shared.standing(&run(0), 600, NOW), Standing::NoRoom(BudgetScope::Day));
}

#[test]
fn the_ceiling_of_a_plan_is_for_its_runs_only() {
    let mut shared = shared(Limits::default());
    let none = (BTreeMap::new(), BTreeSet::new());
    shared.update(&run(0), None, 100, (&none.0, &none.1), NOW);
    assert!(!shared.knows_plan("p"), "only what was spent since is counted");
    shared.set_plan("p", 600);
    assert!(shared.knows_plan("p"));
    for n in 0..4 {
        let ceiling = (n != 3).then_some((1000, AtCeiling::Halt));
        shared.update(&run(n), ceiling, 0, (&none.0, &none.1), NOW);
    }
    assert!(shared.ceilings_at(&run(1), NOW).iter().all(|ceiling| ceiling.spent == 700));

    assert_eq!(shared.start(&run(0), wanted(&task(1), 400), NOW), Err(Wait::Budget { of: BudgetScope::Plan }));
    assert_eq!(shared.start(&run(0), wanted(&task(1), 300), NOW), Ok(()));
    assert_eq!(shared.start(&run(1), wanted(&task(1), 1), NOW), Err(Wait::Budget { of: BudgetScope::Plan }));
    assert_eq!(shared.start(&run(2), wanted(&task(1), 400), NOW), Ok(()));
    update(&mut shared, 0, 400, &[]);
    assert_eq!(shared.standing(&run(1), 1, NOW), Standing::Reached(BudgetScope::Plan, AtCeiling::Halt));
    assert_eq!(shared.standing(&run(2), 400, NOW), Standing::Free);
}

#[test]
fn an_account_waits_as_a_whole_and_no_more_workers_live_than_may() {
    let mut shared = shared(Limits { workers: Some(2), ..Limits::default() });
    let later = Millis(NOW.0 + 60_000);
    assert!(shared.limit_account("a", later) && !shared.limit_account("a", NOW));

    assert_eq!(shared.start(&run(0), wanted(&task(1), 0), NOW), Err(Wait::RateLimit { until: later }));
    let (one, two) = (task(1), task(2));
    assert_eq!(shared.wait_of(&run(0), &one), Some(Wait::RateLimit { until: later }));
    assert_eq!(shared.start(&run(0), WorkerRequest { account: "b", ..wanted(&one, 0) }, NOW), Ok(()));
    assert_eq!(shared.wait_of(&run(0), &one), None);
    assert_eq!(shared.next_change(NOW), Some(later));
    assert_eq!(shared.start(&run(2), wanted(&one, 0), later), Ok(()));
    assert_eq!(shared.start(&run(3), wanted(&two, 0), later), Err(Wait::Workers { most: 2 }));
    assert!(shared.close(&run(0)));
    assert_eq!(shared.start(&run(3), wanted(&two, 0), later), Ok(()));
    shared.set_limits(None);
    assert_eq!(shared.start(&run(3), wanted(&one, 0), later), Err(Wait::Settings));
}

#[test]
fn scripts_count_only_where_the_settings_name_a_number() {
    let mut shared = shared(Limits::default());
    for n in 0..20 {
        assert_eq!(shared.start(&run(0), WorkerRequest { is_scripted: true, ..wanted(&task(n), 0) }, NOW), Ok(()));
    }

    let started = (0..20).filter(|n| shared.start(&run(1), wanted(&task(*n), 0), NOW).is_ok()).count();

    assert_eq!(started, 8);
}

/// Runs start workers at random, with random costs. Together they exceed the ceiling by at most what their workers
/// exceed their reservations.
#[test]
fn runs_together_exceed_a_ceiling_only_by_what_workers_exceed_their_reservations() {
    for seed in 0..300 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let ceiling = rng.u64(100..2000);
        let mut shared = shared(day(ceiling));
        let (mut spent, mut excess) = ([0_u64; 4], 0);
        let mut live: [BTreeMap<TaskId, (u64, u64)>; 4] = Default::default();
        for step in 0..400 {
            let of = rng.usize(..4);
            let at = run(of as u64);
            match rng.u8(..3) {
                0 => {
                    let (task, reserve) = (task(step), rng.u64(..300).min(ceiling));
                    if shared.start(&at, wanted(&task, reserve), NOW).is_ok() {
                        assert!(shared.day.1 < ceiling, "seed {seed}: a worker starts at the ceiling");
                        live[of].insert(task, (reserve, 0));
                    }
                }
                1 => {
                    if let Some(cost) = live[of].values_mut().next() {
                        let more = rng.u64(..200);
                        let over = |(reserve, cost): (u64, u64)| cost.saturating_sub(reserve);
                        let before = over(*cost);
                        cost.1 += more;
                        spent[of] += more;
                        excess += over(*cost) - before;
                    }
                }
                _ => drop(live[of].pop_first()),
            }
            let left = live[of].iter().map(|(task, (reserve, cost))| (task.clone(), reserve.saturating_sub(*cost)));
            let left = left.collect();
            shared.update(&at, None, spent[of], (&left, &BTreeSet::new()), NOW);
            let all: u64 = spent.iter().sum();
            assert!(all <= ceiling + excess, "seed {seed}: {all} of {ceiling} spent, {excess} beyond reservations");
        }
    }
}
