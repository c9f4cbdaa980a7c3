//! Tests what a run records of the ceilings that it shares with other runs: alerts, pauses, stops, and that it goes on.

use switchboard_protocol::run::{AtCeiling, Budget};

use super::super::spec::COST;
use super::at_work::{LOOKS, plan_of_slices};
use super::boot::next_daemon;
use super::*;

/// Run of the plan with slices, one task at a time, with a ceiling for all runs of a day.
struct Limited<'a> {
    stage: &'a Arc<Stage>,
    daemon: &'a Dispatch,
    run: RunId,
}

// === impl Limited ===

impl Limited<'_> {
    /// Returns what the run has recorded of ceilings so far, and its merges, in order.
    fn recorded(&self) -> Vec<String> {
        let events = self.daemon.world.store.events_of(&history::subject(&self.run), 0, 10_000).unwrap();
        let said = events.iter().filter_map(|event| {
            let fact = |name: &str| event.facts.field(name).to_string().replace('"', "");
            match event.kind.as_str() {
                "budget_set" => Some(format!("set, plan {}, day {}", fact("plan"), fact("day"))),
                "budget_alert" => Some(format!("{} {} % at {}", fact("of"), fact("percent"), fact("spent"))),
                "run_paused" => Some(format!("paused: {}", fact("cause"))),
                "run_resumed" => Some("resumed".to_owned()),
                "run_stop_requested" => Some("stop".to_owned()),
                "run_finished" => Some(fact("outcome")),
                "task_merged" => Some(format!("merged {}", fact("task"))),
                _ => None,
            }
        });
        said.collect()
    }

    /// Waits until this is recorded.
    async fn up_to(&self, wanted: &str) {
        for _ in 0..LOOKS {
            if self.recorded().iter().any(|said| said == wanted) {
                return;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        panic!("not {wanted}: {:?}", self.recorded());
    }

    async fn limit_day(&self, day: Option<u64>, at_ceiling: AtCeiling) {
        {
            let mut limits = lock(&self.stage.limits);
            (limits.day, limits.at_ceiling) = (day, at_ceiling);
        }
        self.daemon.world.read_limits().await.unwrap();
    }
}

/// Runs a test with a run that is limited by a ceiling for the day and one for its plan.
fn with_limits(
    (day, plan_budget, at_ceiling): (Option<u64>, Option<u64>, AtCeiling),
    reserve: u64,
    test: impl AsyncFn(Limited<'_>),
) {
    with_workers(1, (day, plan_budget, at_ceiling), reserve, test);
}

/// Same with at most this many workers at work.
fn with_workers(
    max_workers: u32,
    (day, plan_budget, at_ceiling): (Option<u64>, Option<u64>, AtCeiling),
    reserve: u64,
    test: impl AsyncFn(Limited<'_>),
) {
    let spec = SimSpec { max_workers: Some(max_workers), ..SimSpec::kind() };
    with_stage(spec, async |stage, daemon, request| {
        {
            let mut limits = lock(&stage.limits);
            (limits.day, limits.at_ceiling) = (day, at_ceiling);
        }
        let budget = Some(Budget { ceiling: 1_000, task: None, reserve: Some(reserve), at_ceiling });
        let request = StartRunRequest { plan: plan_of_slices(), plan_budget, budget, merge: false, ..request };
        let run = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap();
        test(Limited { stage, daemon, run }).await;
    });
}

#[test]
fn a_run_pauses_at_the_ceiling_of_the_day_and_goes_on_by_itself_once_it_is_raised() {
    with_limits((Some(2 * COST), None, AtCeiling::Pause), 0, async |at| {
        at.up_to("paused: day").await;
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        let before = at.recorded();
        at.limit_day(Some(10 * COST), AtCeiling::Pause).await;
        at.up_to("succeeded").await;

        let (before, after) = (before.join("\n"), at.recorded()[before.len()..].join("\n"));
        insta::assert_snapshot!(format!("{before}\n--- raised\n{after}"));
    });
}

#[test]
fn a_run_stops_at_a_ceiling_that_halts_and_goes_on_at_one_that_only_warns() {
    for (at_ceiling, last) in [(AtCeiling::Halt, "stopped"), (AtCeiling::Warn, "succeeded")] {
        for (day, plan) in [(Some(2 * COST), None), (None, Some(2 * COST))] {
            with_limits((day, plan, at_ceiling), 0, async |at| {
                at.up_to(last).await;

                let name = format!("{at_ceiling:?}_{}", if day.is_some() { "day" } else { "plan" });
                insta::assert_snapshot!(name, at.recorded().join("\n"));
            });
        }
    }
}

#[test]
fn a_run_pauses_when_what_is_left_of_the_plan_is_less_than_it_reserves_for_a_worker() {
    with_limits((None, Some(4 * COST), AtCeiling::Pause), 3 * COST, async |at| {
        at.up_to("paused: plan").await;
        tokio::time::sleep(Duration::from_secs(3_600)).await;

        insta::assert_snapshot!(at.recorded().join("\n"));
    });
}

#[test]
fn a_run_does_not_pause_for_want_of_room_while_one_of_its_workers_is_at_work() {
    with_workers(2, (None, Some(4 * COST), AtCeiling::Pause), 3 * COST, async |at| {
        at.up_to("paused: plan").await;

        insta::assert_snapshot!(at.recorded().join("\n"));
    });
}

#[test]
fn a_ceiling_of_the_day_that_is_set_while_a_run_works_is_recorded_and_holds() {
    with_limits((None, None, AtCeiling::Pause), 0, async |at| {
        at.up_to("merged 1.1").await;
        at.limit_day(Some(2 * COST), AtCeiling::Pause).await;
        at.up_to("paused: day").await;
        at.limit_day(None, AtCeiling::Pause).await;
        at.up_to("succeeded").await;

        insta::assert_snapshot!(at.recorded().join("\n"));
    });
}

#[test]
fn the_ceiling_of_a_plan_counts_what_runs_have_cost_that_earlier_daemons_carried_out() {
    let spec = SimSpec { max_workers: Some(1), ..SimSpec::kind() };
    for (ceiling, expected) in [(3 * COST, "paused: plan"), (9 * COST, "succeeded")] {
        with_stage(spec, async |stage, daemon, request| {
            let request = StartRunRequest { plan: plan_of_slices(), merge: false, ..request };
            daemon.start_run(request.clone(), &people::ann().unwrap(), None).await.unwrap();
            daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
            daemon.world.stop.cancel();
            let next = next_daemon(stage, &daemon.world.store).await;

            let budget = Some(Budget { ceiling: 1_000, task: None, reserve: Some(0), at_ceiling: AtCeiling::Pause });
            let request = StartRunRequest { plan_budget: Some(ceiling), budget, ..request };
            let run = next.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap();

            let at = Limited { stage, daemon: &next, run };
            at.up_to(expected).await;
            let merged = at.recorded().iter().filter(|said| said.starts_with("merged")).count();
            assert_eq!(merged, if expected == "succeeded" { 3 } else { 0 }, "{:?}", at.recorded());
        });
    }
}

#[test]
fn a_run_that_waits_for_a_place_starts_as_soon_as_another_run_has_left_one() {
    with_stage(SimSpec { workers: Some(1), ..SimSpec::kind() }, async |_, daemon, request| {
        let other = StartRunRequest { plan: plan_of_slices(), ..request.clone() };
        for request in [request, other] {
            daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap();
        }

        let mut live = daemon.live_runs();
        let over = tokio::time::timeout(Duration::from_secs(3_600), live.wait_for(|live| *live == 0)).await;

        assert!(over.is_ok(), "one of them waits for nothing");
        let states = daemon.runs(10).unwrap().into_iter().map(|run| run.state).collect::<Vec<_>>();
        assert_eq!(states, ["succeeded", "succeeded"]);
    });
}

#[test]
fn the_cost_of_a_plan_is_that_of_the_workers_of_its_runs() {
    with_limits((None, None, AtCeiling::Warn), 0, async |at| {
        at.up_to("succeeded").await;
        let store = &at.daemon.world.store;
        let row = store.get(RUNS, &[at.run.as_str().into()]).unwrap().unwrap();
        let workers = store.read(&Query::table(crate::work::WORKERS)).unwrap().len() as u64;

        let spent = |hash: &str| crate::shared::spent_by_plan(store, hash).unwrap();

        assert_eq!((workers, spent(row.get_text("plan_hash").unwrap())), (3, workers * COST));
        assert_eq!(spent("another"), 0);
    });
}
