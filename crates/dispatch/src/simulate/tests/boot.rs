//! Tests which runs a daemon takes up at its start.

use super::merges::world;
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
    events[0].facts["plan_key"] = json!("k");
    store.commit(events.into_iter().fold(Batch::synced(), Batch::event)).await.unwrap();
    let wanted = BTreeSet::from([TaskId::new("1.1").unwrap()]);

    let claimed = Dispatch::with(world).claimed("k", &wanted, None).await.unwrap();

    assert!(claimed.is_empty());
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
