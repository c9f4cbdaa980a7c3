//! Tests which runs a daemon takes up at its start.

use switchboard_protocol::modes::{Mode, ModeEvent, ModeFact};
use switchboard_protocol::run::RunOutcome;

use super::at_work::{at_work, plan_of_slices, slow};
use super::merges::{over, record, world};
use super::seat::{LOOKS, with_seat};
use super::*;

#[tokio::test(start_paused = true)]
async fn a_run_that_can_not_be_taken_up_at_the_start_is_shown_with_the_reason_and_keeps_no_other_from_it() {
    let stage = Arc::new(Stage::new(1, SimSpec::kind()));
    let (store, world) = world(&stage);
    let run = RunId::from_bits(7);
    let batch = older_run(&run, json!({ "gates": [] })).into_iter().fold(Batch::synced(), Batch::event);
    store.commit(batch).await.unwrap();
    let daemon = Dispatch::with(world);

    daemon.boot().await.unwrap();

    assert_eq!(daemon.world.troubles.of(&run).unwrap().code, "dispatch.older-run");
    assert!(daemon.engine(&run).is_none() && daemon.world.booted.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_run_that_can_not_be_taken_up_claims_no_units_of_its_plan() {
    let stage = Arc::new(Stage::new(1, SimSpec::kind()));
    let (store, world) = world(&stage);
    let mut events = older_run(&RunId::from_bits(7), json!({ "gates": [] }));
    let mut facts = events[0].facts.to_value().unwrap();
    facts["plan_key"] = json!("k");
    events[0].facts = facts.into();
    store.commit(events.into_iter().fold(Batch::synced(), Batch::event)).await.unwrap();
    let wanted = BTreeSet::from([TaskId::new("1.1").unwrap()]);

    let claimed = Dispatch::with(world).claimed("k", &wanted, None).await.unwrap();

    assert!(claimed.is_empty());
}

#[test]
fn the_units_of_a_job_are_claimed_by_nobody_else() {
    with_stage(slow(), async |_, daemon, request| {
        let job = serde_json::from_value(json!({ "tasks": [{ "task": "look" }] })).unwrap();
        let request = StartRunRequest { plan: String::new(), job: Some(job), ..request };
        let run = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap();
        let wanted: BTreeSet<_> = daemon.views(&run).await.unwrap().into_iter().map(|view| view.task).collect();

        assert!(!wanted.is_empty() && daemon.claimed("", &wanted, None).await.unwrap().is_empty());
    });
}

/// Day after the one on which a history begins.
const DAY_MS: i64 = 24 * 3_600_000;

#[tokio::test(start_paused = true)]
async fn a_daemon_counts_once_what_was_spent_on_the_day_before_it_started() {
    let stage = Arc::new(Stage::new(1, SimSpec::kind()));
    let (store, _) = world(&stage);
    let (live, ended) = (RunId::from_bits(1), RunId::from_bits(2));
    let cost = |worker: u64, total: u64| {
        json!({ "kind": "cost_counted", "facts": { "task": "1.1", "worker": WorkerId::from_bits(worker),
            "total_micro_usd": total, "estimated": false } })
    };
    for run in [&live, &ended] {
        let [configured, finished] = over(run, &"1".repeat(40));
        record(&store, &[configured, cost(1, 5)], run).await;
        if run == &ended {
            record(&store, &[finished], run).await;
        }
    }
    stage.clock.pass(DAY_MS);
    record(&store, &[cost(1, 8), cost(2, 4), cost(2, 6)], &live).await;

    for (day, expected) in [(Some(100), Some(9)), (None, None)] {
        lock(&stage.limits).day = day;
        let ports = ports::ports(&stage, &store);
        let world = World::new(store.clone(), config(&stage), ports, CancellationToken::new());
        for _ in 0..2 {
            world.read_limits().await.unwrap();
            lock(&stage.limits).workers = Some(7);
            let spent = world.shared.state().day_at(store.now()).map(|ceiling| ceiling.spent);
            assert_eq!(spent, expected);
        }
    }
}

#[test]
fn a_run_whose_engine_panics_after_its_end_is_merged_and_over() {
    with_daemon(async |daemon, request| {
        let (store, has_panicked) = (daemon.world.store.clone(), Arc::new(AtomicBool::new(false)));
        let once = Arc::clone(&has_panicked);
        daemon.world.set_panics(move || {
            let rows = store.read(&Query::table(RUNS).eq("state", "succeeded")).unwrap();
            !rows.is_empty() && !once.swap(true, Ordering::Relaxed)
        });
        let request = StartRunRequest { merge: true, ..request };
        let run = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap();

        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();

        assert!(has_panicked.load(Ordering::Relaxed));
        let row = daemon.world.store.get(RUNS, &[run.as_str().into()]).unwrap().unwrap();
        assert!(row.get_bool("is_merged"));
        assert!(daemon.world.troubles.of(&run).is_none() && !daemon.world.is_assigned_in(&run, "ann"));
    });
}

/// Starts the daemon that follows one that has ended.
pub(super) async fn next_daemon(stage: &Arc<Stage>, store: &Store) -> Dispatch {
    let ports = ports::ports(stage, store);
    let next = Dispatch::with(World::new(store.clone(), config(stage), ports, CancellationToken::new()));
    *lock(&stage.daemon) = Some(next.clone());
    next.boot().await.unwrap();
    next
}

#[test]
fn the_parts_of_a_run_that_was_stopped_while_they_were_live_are_stopped_at_the_next_start_and_no_others() {
    for is_stopped in [true, false] {
        next_start_after(is_stopped);
    }
}

/// Starts a daemon after one that has died while a part of a led run was live.
fn next_start_after(is_stopped: bool) {
    with_seat(async |led| {
        led.up_to_step("work").await;
        let store = &led.daemon.world.store;
        let live = || store.read(&Query::table(RUNS).eq("state", "running").eq("part_of", led.run.as_str())).unwrap();
        assert_eq!(live().len(), 1);
        led.daemon.world.stop.cancel();
        let event = ModeEvent::Stopped { by: people::ann().unwrap().name, why: "stopped".to_owned() };
        let (mode, outcome) = (Mode::Execute, Some(RunOutcome::Stopped));
        let stopped = ModeFact::ModeStepped { event, mode, now: String::new(), refused: None, outcome };
        let event = NewEvent::of(&stopped, format!("modes/{}", led.run), "ann").unwrap();
        if is_stopped {
            store.commit(Batch::synced().event(event)).await.unwrap();
        }

        next_daemon(led.stage, store).await;

        for _ in 0..LOOKS {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(live().is_empty(), is_stopped, "{:?}", live());
        assert_eq!(led.events("run_stop_requested").len(), usize::from(is_stopped));
    });
}

#[test]
fn the_names_of_workers_are_on_the_roster_again_after_a_restart() {
    let spec = SimSpec { max_workers: Some(2), ..slow() };
    with_stage(spec, async |stage, daemon, request| {
        let request = StartRunRequest { plan: plan_of_slices(), merge: false, ..request };
        let at = at_work(stage, daemon, request).await;
        tokio::time::sleep(Duration::from_secs(10)).await;
        let (store, run) = (&daemon.world.store, &at.run);
        let joined = store.events(0, &Filter::kinds(["agent_joined".to_owned()]), 100).unwrap();
        let names: Vec<_> = joined.iter().map(|event| event.facts.field("name").as_str().unwrap().to_owned()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        daemon.world.stop.cancel();

        let next = next_daemon(stage, store).await;

        let missing: Vec<_> = names.iter().filter(|name| !next.world.is_assigned_in(run, name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    });
}

#[test]
fn the_plan_of_a_live_run_is_in_memory_once_and_a_trouble_of_it_is_shown_with_its_hint_if_there_is_one() {
    with_stage(slow(), async |_, daemon, request| {
        let run = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap();
        let world = &daemon.world;
        let plan = || history::plan(world, &run).unwrap();
        assert!(Arc::ptr_eq(&plan(), &plan()) && world.plans.of_live(&run).is_some());

        for (hint, expected) in [("", "no way [io.denied]"), ("look", "no way [io.denied]; look")] {
            world.troubles.failed(&run, Failure::new("io.denied", "no way").hint(hint));
            let shown = GetRunRequest { run: Some(run.to_string()), diff: false, sizes: false };
            let notes = daemon.get_run(&shown).await.unwrap().notes;
            assert_eq!(notes, [format!("the run does not go on now: {expected}")]);
        }
    });
}
