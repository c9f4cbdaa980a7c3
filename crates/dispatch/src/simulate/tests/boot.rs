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
