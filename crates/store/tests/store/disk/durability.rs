use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};

use switchboard_store::{Batch, Checkpoint, Config, Durability, Error, Guard, IoEvent, IoHook, Query, Store};

use crate::board::{Fixture, call, post, projections};

/// Returns a guard that blocks the writer until another thread reaches the barrier, twice.
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
    let times: Vec<_> =
        it.store.events(1, &switchboard_store::Filter::all(), 50).unwrap().iter().map(|event| event.ts).collect();
    assert!(times.windows(2).all(|pair| pair[0] == pair[1]));
}

/// Counts the syncs of the redo log.
#[derive(Debug, Default)]
struct Syncs(AtomicU64);

impl IoHook for Syncs {
    fn before(&self, _: &Path, _: IoEvent<'_>) -> std::io::Result<()> {
        Ok(())
    }

    fn after(&self, _: &Path, what: IoEvent<'_>) {
        self.0.fetch_add(u64::from(matches!(what, IoEvent::Sync)), Ordering::SeqCst);
    }
}

#[test]
fn one_synced_batch_makes_its_whole_group_synced_and_no_other() {
    use Durability::{Synced, Written};
    let folder = tempfile::tempdir().unwrap();
    let syncs = Arc::new(Syncs::default());
    let io_hook: Arc<dyn IoHook> = syncs.clone();
    let config = Config { io_hook: Some(io_hook), ..Config::new(folder.path().join("store.db")) };
    let store = Store::open(config, projections()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let groups: [(&[Durability], u64); 4] =
        [(&[Written], 0), (&[Synced], 1), (&[Written, Written], 0), (&[Written, Synced, Written, Synced], 1)];
    for (durabilities, wanted) in groups {
        let barrier = Arc::new(Barrier::new(2));
        let (held, guard) = (store.clone(), waits_for(&barrier));
        let first = std::thread::spawn(move || held.commit_blocking(Batch::written().guard(guard).event(post("a", 0))));
        barrier.wait();
        let before = syncs.0.load(Ordering::SeqCst);

        runtime.block_on(async {
            let commit = |durability: &Durability| {
                let mut commit = Box::pin(store.commit(Batch::new(*durability).event(post("a", 1))));
                let mut context = std::task::Context::from_waker(std::task::Waker::noop());
                assert!(Future::poll(commit.as_mut(), &mut context).is_pending());
                commit
            };
            let commits: Vec<_> = durabilities.iter().map(commit).collect();
            barrier.wait();
            for commit in commits {
                commit.await.unwrap();
            }
        });

        first.join().unwrap().unwrap();
        assert_eq!(syncs.0.load(Ordering::SeqCst) - before, wanted, "{durabilities:?}");
    }
}

/// A redo log whose syncs fail while the flag is set.
#[derive(Debug, Default)]
struct Broken(AtomicBool);

impl IoHook for Broken {
    fn before(&self, _: &Path, what: IoEvent<'_>) -> std::io::Result<()> {
        if self.0.load(Ordering::SeqCst) && matches!(what, IoEvent::Sync) {
            return Err(std::io::Error::other("the disk is broken"));
        }
        Ok(())
    }

    fn after(&self, _: &Path, _: IoEvent<'_>) {}
}

#[test]
fn nobody_is_answered_because_of_what_did_not_get_to_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let broken = Arc::new(Broken::default());
    let io_hook: Arc<dyn IoHook> = broken.clone();
    let store =
        Store::open(Config { io_hook: Some(io_hook), ..Config::new(folder.path().join("store.db")) }, projections())
            .unwrap();
    let barrier = Arc::new(Barrier::new(2));
    let (held, guard) = (store.clone(), waits_for(&barrier));
    let first = std::thread::spawn(move || held.commit_blocking(Batch::written().guard(guard).event(post("a", 0))));
    barrier.wait();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();

    let codes: Vec<_> = runtime.block_on(async {
        // The second is a repetition of the first and would get the first one's answer.
        let batch = || Batch::synced().event(post("a", 1)).idempotent(call("k", "a"));
        let mut commits = [Box::pin(store.commit(batch())), Box::pin(store.commit(batch()))];
        for commit in &mut commits {
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(Future::poll(commit.as_mut(), &mut context).is_pending());
        }
        broken.0.store(true, Ordering::SeqCst);
        barrier.wait();
        let mut codes = Vec::new();
        for commit in commits {
            codes.push(commit.await.unwrap_err().failure().code);
        }
        codes
    });

    first.join().unwrap().unwrap();
    assert_eq!(codes, ["store.fatal", "store.fatal"]);
    assert_eq!(store.commit_blocking(Batch::written().event(post("a", 2))).unwrap_err().failure().code, "store.fatal");
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
    let broken = || switchboard_protocol::event::NewEvent::new("projector_panics", "s", "a", serde_json::json!({}));
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
    assert_eq!(it.store.count(&Query::table("notes")).unwrap(), 20, "who reads has everything moved into the WAL");
    assert!(wal.metadata().unwrap().len() > 100_000);
    let redo = it.path().with_file_name("store.db.redo");
    assert!(redo.metadata().unwrap().len() > 100_000);

    let stats = it.store.checkpoint(Checkpoint::Truncate).unwrap();

    assert!(stats.complete);
    assert_eq!((wal.metadata().unwrap().len(), redo.metadata().unwrap().len()), (0, 0));
    assert_eq!(it.store.count(&Query::table("notes")).unwrap(), 20);
}

#[test]
fn the_logs_stay_small_under_steady_traffic() {
    let it = Fixture::sqlite();
    for number in 0..1_500 {
        it.commit(Batch::written().event(post("a", number).with_body("x".repeat(20_000)))).unwrap();
    }

    let length = |name| it.path().with_file_name(name).metadata().unwrap().len();
    let (wal, redo) = (length("store.db-wal"), length("store.db.redo"));

    assert!(wal < 24 << 20 && redo < 24 << 20, "{wal} and {redo} bytes");
}

#[test]
fn a_closed_store_has_everything_in_one_file() {
    let it = Fixture::sqlite();
    it.commit(Batch::written().event(post("a", 1))).unwrap();
    let logs = ["store.db-wal", "store.db.redo"].map(|name| it.path().with_file_name(name));

    let Fixture { store, folder: _folder, .. } = it;
    store.close();

    assert!(logs.iter().all(|log| log.metadata().map_or(0, |metadata| metadata.len()) == 0));
}
