//! Another process holds a lock on the database: commits wait for it, and nothing is lost.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use rusqlite::Connection;
use switchboard_store::{Batch, Config, Error, Query, Scope, Store};

use crate::board::{post, projections};

/// Size of the text in a batch in bytes, for the test that fills the queue.
const LARGE: usize = 20_000;

fn open(path: &Path, lock_wait: Duration) -> Result<Store, Error> {
    Store::open(Config { lock_wait, ..Config::new(path) }, projections())
}

/// Opens a second connection that has begun to write.
fn hold(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(30)).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    connection
}

fn notes(store: &Store) -> Result<u64, Error> {
    store.count(&Query::table("notes"))
}

#[test]
fn who_reads_what_has_changed_waits_until_the_lock_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path, Duration::from_secs(30)).unwrap();
    let held = hold(&path);
    store.commit_blocking(Batch::synced().event(post("ann", 1))).unwrap();

    let (sender, answer) = channel();
    let reader = store.clone();
    let read = std::thread::spawn(move || sender.send(notes(&reader)));
    let early = answer.recv_timeout(Duration::from_millis(300));
    held.execute_batch("ROLLBACK").unwrap();
    let late = answer.recv().unwrap();

    assert!(matches!(early, Err(RecvTimeoutError::Timeout)), "{early:?}");
    assert_eq!(late.unwrap(), 1);
    read.join().unwrap().unwrap();
}

#[test]
fn a_lock_that_is_held_for_long_is_answered_with_busy_and_the_store_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path, Duration::from_millis(100)).unwrap();
    let held = hold(&path);

    for weight in 0..3 {
        store.commit_blocking(Batch::synced().event(post("ann", weight))).unwrap();
        let refused = notes(&store).unwrap_err();
        assert_eq!(refused.failure().code, "store.busy", "{refused}");
    }
    assert!(store.dead().is_none(), "{:?}", store.dead());
    held.execute_batch("ROLLBACK").unwrap();

    store.commit_blocking(Batch::synced().event(post("ann", 3))).unwrap();
    assert_eq!(notes(&store).unwrap(), 4);
    store.close();
    let store = open(&path, Duration::from_secs(30)).unwrap();
    assert_eq!(notes(&store).unwrap(), 4);
    assert!(store.verify(Scope::All).unwrap().is_clean());
}

#[test]
fn what_waits_for_the_lock_is_bounded_and_none_of_it_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path, Duration::from_millis(100)).unwrap();
    let held = hold(&path);

    let (mut acked, mut refused) = (0, None);
    while refused.is_none() && acked < 2_000 {
        match store.commit_blocking(Batch::written().event(post("ann", acked).with_body("x".repeat(LARGE)))) {
            Ok(_) => acked += 1,
            Err(error) => refused = Some(error),
        }
    }
    let waiting = usize::try_from(acked).unwrap() * LARGE;
    assert!(matches!(refused, Some(Error::Contended)), "{refused:?} after {waiting} bytes");
    assert!(waiting < 16 << 20, "{waiting} bytes wait");
    held.execute_batch("ROLLBACK").unwrap();

    assert_eq!(notes(&store).unwrap(), acked as u64, "all that was answered, and nothing of what was refused");
    store.commit_blocking(Batch::synced().event(post("ann", acked))).unwrap();
    assert!(store.verify(Scope::All).unwrap().is_clean());
}

#[test]
fn a_store_that_is_closed_under_the_lock_has_everything_when_it_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path, Duration::from_millis(100)).unwrap();
    let held = hold(&path);
    store.commit_blocking(Batch::synced().event(post("ann", 1))).unwrap();
    store.close();

    let refused = open(&path, Duration::from_millis(100)).map(|_| ()).unwrap_err();
    held.execute_batch("ROLLBACK").unwrap();
    let store = open(&path, Duration::from_millis(100)).unwrap();

    assert_eq!(refused.failure().code, "store.busy", "{refused}");
    assert_eq!(notes(&store).unwrap(), 1);
}
