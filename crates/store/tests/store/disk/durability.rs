use std::sync::{Arc, Barrier};

use store::{Batch, Checkpoint, Config, Error, Guard, Query, Store};

use crate::board::{Fixture, post, projections};

/// A guard that holds the writer until somebody else comes to the barrier, twice.
fn waits_for(barrier: &Arc<Barrier>) -> Guard {
    let barrier = Arc::clone(barrier);
    Guard::holds(Query::table("notes").limit(1), move |_| {
        barrier.wait();
        barrier.wait();
        Ok(())
    })
}

#[test]
fn what_queues_up_behind_a_commit_shares_the_next_one_and_keeps_its_order() {
    let it = Fixture::sqlite();
    let barrier = Arc::new(Barrier::new(2));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let held = it.store.clone();
    let guard = waits_for(&barrier);
    let first = std::thread::spawn(move || held.commit_blocking(Batch::written().guard(guard).event(post("a", 0))));
    barrier.wait();

    let lsns = runtime.block_on(async {
        let commits: Vec<_> = (1..=50_i64)
            .map(|number| {
                let mut commit = Box::pin(it.store.commit(Batch::synced().event(post("a", number))));
                let waker = std::task::Waker::noop();
                let mut context = std::task::Context::from_waker(waker);
                assert!(Future::poll(commit.as_mut(), &mut context).is_pending(), "queued, not answered");
                commit
            })
            .collect();
        barrier.wait();
        let mut lsns = Vec::new();
        for commit in commits {
            lsns.push(commit.await.unwrap().first);
        }
        lsns
    });

    assert_eq!(first.join().unwrap().unwrap().first, 1);
    assert_eq!(lsns, (2..=51).collect::<Vec<u64>>());
    let times: Vec<_> = it.store.events(1, &store::Filter::all(), 50).unwrap().iter().map(|event| event.ts).collect();
    assert!(times.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_full_queue_answers_busy_and_a_forgotten_commit_is_still_made() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config { queue: 2, ..Config::new(folder.path().join("store.db")) };
    let store = Store::open(config, projections()).unwrap();
    let barrier = Arc::new(Barrier::new(2));
    let (held, guard) = (store.clone(), waits_for(&barrier));
    let first = std::thread::spawn(move || held.commit_blocking(Batch::written().guard(guard).event(post("a", 0))));
    barrier.wait();

    for number in 1..=2 {
        let mut commit = Box::pin(store.commit(Batch::written().event(post("a", number))));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(Future::poll(commit.as_mut(), &mut context).is_pending());
    }
    let refused = store.commit_blocking(Batch::written().event(post("a", 3)));
    barrier.wait();
    first.join().unwrap().unwrap();

    assert!(matches!(refused, Err(Error::Busy)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut watch = store.watch();
    let made = runtime.block_on(async {
        let both = watch.wait_for(|head| *head == 3);
        tokio::time::timeout(std::time::Duration::from_secs(30), both).await.map(|made| *made.unwrap())
    });
    assert_eq!(made.unwrap(), 3, "both forgotten commits were made");
    assert_eq!(store.commit_blocking(Batch::written().event(post("a", 4))).unwrap().first, 4);
}

#[test]
fn a_spoiled_batch_does_not_spoil_its_group() {
    let it = Fixture::sqlite();
    let barrier = Arc::new(Barrier::new(2));
    let (held, guard) = (it.store.clone(), waits_for(&barrier));
    let first = std::thread::spawn(move || held.commit_blocking(Batch::written().guard(guard).event(post("a", 0))));
    barrier.wait();
    let broken = || protocol::event::NewEvent::new("projector_panics", "s", "a", serde_json::json!({}));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();

    let answers = runtime.block_on(async {
        let batches =
            [Batch::synced().event(post("a", 1)), Batch::synced().event(broken()), Batch::synced().event(post("a", 2))];
        let mut commits: Vec<_> = batches.into_iter().map(|batch| Box::pin(it.store.commit(batch))).collect();
        for commit in &mut commits {
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(Future::poll(commit.as_mut(), &mut context).is_pending());
        }
        barrier.wait();
        let mut answers = Vec::new();
        for commit in commits {
            answers.push(commit.await.map(|committed| committed.first).map_err(|error| error.failure().code));
        }
        answers
    });

    first.join().unwrap().unwrap();
    assert_eq!(answers, [Ok(2), Err("internal.bug".to_owned()), Ok(3)]);
}

#[test]
fn a_checkpoint_moves_everything_and_cuts_the_wal() {
    let it = Fixture::sqlite();
    let wal = it.path().with_file_name("store.db-wal");
    for number in 0..20 {
        it.commit(Batch::written().event(post("a", number).with_body("x".repeat(5000)))).unwrap();
    }
    assert!(wal.metadata().unwrap().len() > 100_000);

    let stats = it.store.checkpoint(Checkpoint::Truncate).unwrap();

    assert!(stats.complete);
    assert_eq!(wal.metadata().unwrap().len(), 0);
    assert_eq!(it.store.count(&Query::table("notes")).unwrap(), 20);
}

#[test]
fn the_wal_stays_small_under_steady_traffic() {
    let it = Fixture::sqlite();
    for number in 0..600 {
        it.commit(Batch::written().event(post("a", number).with_body("x".repeat(20_000)))).unwrap();
    }

    let wal = it.path().with_file_name("store.db-wal").metadata().unwrap().len();

    assert!(wal < 12 << 20, "{wal} bytes");
}

#[test]
fn a_closed_store_has_everything_in_one_file() {
    let it = Fixture::sqlite();
    it.commit(Batch::written().event(post("a", 1))).unwrap();
    let wal = it.path().with_file_name("store.db-wal");

    let Fixture { store, folder: _folder, .. } = it;
    store.close();

    assert_eq!(wal.metadata().map_or(0, |metadata| metadata.len()), 0);
}
