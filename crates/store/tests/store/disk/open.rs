use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use switchboard_store::{Batch, Config, Error, Filter, Scan, Scope, Store};

use crate::board::{Fixture, add_owner, call, post, projections, take};

fn open(path: &Path) -> Result<Store, Error> {
    Store::open(Config::new(path), projections())
}

/// Changes the closed database directly, without the store.
fn tamper(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

fn filled(events: usize) -> (tempfile::TempDir, PathBuf) {
    let it = Fixture::sqlite();
    for weight in 0..events {
        it.commit(Batch::written().event(post("ann", weight as i64).with_body("text"))).unwrap();
    }
    let path = it.path();
    it.store.close();
    (it.folder.unwrap(), path)
}

#[test]
fn a_second_owner_is_told_who_the_first_is() {
    let it = Fixture::sqlite();
    it.store.announce("http://127.0.0.1:4711").unwrap();

    let second = open(&it.path()).map(|_| ()).unwrap_err();

    let failure = second.failure();
    assert_eq!(failure.code, "store.locked");
    assert!(failure.what.contains(&format!("process {} at http://127.0.0.1:4711", std::process::id())), "{failure}");
}

#[test]
fn the_lock_outlives_the_owner_as_a_file_only() {
    let it = Fixture::sqlite();
    let path = it.path();
    let lock = path.with_file_name("store.db.lock");
    it.commit(Batch::synced().event(post("ann", 1))).unwrap();
    let Fixture { store, folder: _folder, .. } = it;
    store.close();

    assert!(lock.exists());
    let again = open(&path).unwrap();
    assert_eq!(again.head().lsn, 1);
    assert!(fs::read_to_string(&lock).unwrap().starts_with(&format!("{{\"pid\":{},", std::process::id())));
}

#[test]
fn everything_survives_a_reopening_and_the_epoch_moves_on() {
    let it = Fixture::sqlite();
    let batch = || Batch::synced().event(add_owner("ann")).event(post("ann", 1).with_body("text")).advance("search", 1);
    it.commit(batch().idempotent(call("k", "a")).reply("first".into())).unwrap();
    let (head, epoch, chain) = (it.store.head(), it.store.epoch(), it.store.chain_id().to_owned());
    let events = it.store.events(0, &Filter::all(), 10).unwrap();

    let it = it.reopen(projections()).unwrap();

    assert_eq!((it.store.head(), it.store.epoch(), it.store.chain_id()), (head, epoch + 1, chain.as_str()));
    assert_eq!(it.store.events(0, &Filter::all(), 10).unwrap(), events);
    assert_eq!(it.store.body(2).unwrap().as_deref(), Some("text"));
    assert_eq!(it.store.cursor("search").unwrap(), 1);
    assert_eq!(it.store.rev("owner/ann").unwrap(), 2);
    let repeated = it.commit(batch().idempotent(call("k", "a")).reply("second".into())).unwrap();
    assert!(repeated.repeated);
    assert_eq!(repeated.reply, "first");
    assert!(it.store.verify(Scope::All).unwrap().is_clean());
}

#[test]
fn folder_and_files_belong_to_the_owner_alone() {
    let it = Fixture::sqlite();
    it.commit(Batch::synced().event(post("ann", 1))).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;

    let folder = it.path().parent().unwrap().to_owned();

    assert_eq!(mode(&folder), 0o700);
    for file in fs::read_dir(&folder).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
}

#[test]
fn refuses_a_file_that_is_no_store_and_leaves_it_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (text, other, newer) = (folder.path().join("a"), folder.path().join("b"), folder.path().join("c"));
    fs::write(&text, "this is not a database at all, but it is long enough to be looked at".repeat(100)).unwrap();
    tamper(&other, "CREATE TABLE somebody_elses (x)");
    open(&newer).unwrap().close();
    tamper(&newer, "PRAGMA user_version = 99");
    let before = fs::read(&text).unwrap();

    let code = |path: &Path| open(path).map(|_| ()).unwrap_err().failure();

    assert_eq!(code(&text).code, "store.corrupt");
    assert!(code(&text).place.contains("a"), "{:?}", code(&text));
    assert_eq!(fs::read(&text).unwrap(), before);
    assert_eq!(code(&other).code, "store.corrupt");
    assert_eq!(code(&newer).code, "daemon.other-version");
}

#[test]
fn a_log_that_lost_its_end_is_refused() {
    let (_folder, path) = filled(5);
    tamper(&path, "DELETE FROM events WHERE lsn > 3");

    let Err(Error::Corrupt { place, what }) = open(&path) else { panic!("it opened") };

    assert_eq!((place.as_str(), what.as_str()), ("event 5", "it is missing"));
}

#[test]
fn damage_after_the_clean_head_is_refused_and_names_the_event() {
    let (_folder, path) = filled(5);
    tamper(&path, "DELETE FROM meta WHERE name = 'checked'; UPDATE events SET actor = 'mallory' WHERE lsn = 4");

    let Err(Error::Corrupt { place, what }) = open(&path) else { panic!("it opened") };

    assert_eq!(place, "event 4 (note_posted of owner/ann)");
    assert_eq!(what, "its content doesn't match its hash");
}

/// Waits until the check in the background after the start has ended, at most 10 s.
fn scanned(store: &Store) -> Scan {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
    loop {
        let scan = store.scan();
        if !matches!(scan, Scan::Running { .. }) || std::time::Instant::now() > end {
            return scan;
        }
        std::thread::yield_now();
    }
}

#[test]
fn damage_before_the_clean_head_is_found_behind_the_start() {
    for (sql, what) in [
        ("UPDATE events SET facts = '{}' WHERE lsn = 300", "its content doesn't match its hash"),
        ("UPDATE bodies SET text = 'other' WHERE lsn = 300", "its body doesn't match its hash"),
        ("UPDATE bodies SET salt = x'00' WHERE lsn = 300", "Conversion error"),
    ] {
        let (_folder, path) = filled(600);
        tamper(&path, sql);

        let store = open(&path).unwrap();

        let Scan::Damaged(finding) = scanned(&store) else { panic!("not found") };
        assert!(finding.to_string().starts_with("event 300"), "{finding}");
        assert!(finding.what.contains(what), "{finding}");
        let report = store.verify(Scope::Chain).unwrap();
        assert_eq!(report.first().map(|first| first.place.clone()), Some(finding.place));
    }
    let (_folder, path) = filled(600);
    assert_eq!(scanned(&open(&path).unwrap()), Scan::Whole);
}

#[test]
fn verify_names_the_table_that_is_not_what_the_log_says() {
    for (sql, table) in [
        ("UPDATE notes SET weight = 99 WHERE lsn = 2", "table notes"),
        ("DELETE FROM notes WHERE lsn = 2", "table notes"),
        ("UPDATE owners SET waiting = 1", "table owners"),
        ("INSERT INTO cursors VALUES ('search', 3, 0)", "table cursors"),
        ("INSERT INTO idempotency VALUES ('c', 'k', 'v', zeroblob(32), '{}', 1, 1, 1, 0)", "table idempotency"),
        ("INSERT INTO meta VALUES ('other', 'value', 0)", "table meta"),
    ] {
        let (_folder, path) = filled(3);
        tamper(&path, sql);
        let store = open(&path).unwrap();

        let report = store.verify(Scope::All).unwrap();

        assert_eq!(report.first().map(|finding| finding.place.to_string()).as_deref(), Some(table), "{sql}");
        assert!(store.verify(Scope::Chain).unwrap().is_clean());
    }
}

#[test]
fn a_damaged_memory_of_a_call_or_a_cursor_is_never_served() {
    let it = Fixture::sqlite();
    let batch = || Batch::synced().event(post("ann", 1)).idempotent(call("k", "a")).reply("yes".into());
    it.commit(batch().advance("search", 1)).unwrap();
    let path = it.path();
    it.store.close();
    tamper(&path, "UPDATE idempotency SET reply = '\"no\"'; UPDATE cursors SET lsn = 0");

    let store = open(&path).unwrap();

    assert_eq!(store.commit_blocking(batch()).unwrap_err().failure().code, "store.corrupt");
    assert_eq!(store.cursor("search").unwrap_err().failure().code, "store.corrupt");
    assert!(store.commit_blocking(Batch::synced().event(post("ann", 2))).is_ok(), "the rest goes on");
}

#[test]
fn a_dropped_body_leaves_no_trace_in_the_file() {
    let it = Fixture::sqlite();
    let secret = "correct horse battery staple";
    it.commit(Batch::synced().event(post("ann", 1).with_body(secret))).unwrap();
    it.store.checkpoint(switchboard_store::Checkpoint::Truncate).unwrap();
    let holds = |path: &Path| fs::read(path).unwrap().windows(secret.len()).any(|part| part == secret.as_bytes());
    assert!(holds(&it.path()));

    it.commit(Batch::synced().drop_body(1)).unwrap();
    it.store.checkpoint(switchboard_store::Checkpoint::Truncate).unwrap();

    assert!(!holds(&it.path()));
    assert!(!holds(&it.path().with_file_name("store.db-wal")));
    assert!(!holds(&it.path().with_file_name("store.db.redo")));
}

/// Copies the files of an open store, as a kill would leave them, without the owner.
fn as_killed(it: &Fixture) -> PathBuf {
    let copy = it.path().with_file_name("copy.db");
    for ending in ["", "-wal", ".redo", ".head"] {
        fs::copy(format!("{}{ending}", it.path().display()), format!("{}{ending}", copy.display())).unwrap();
    }
    copy
}

fn path_with_ending(path: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", path.display()))
}

#[test]
fn the_redo_log_grows_in_steps_and_the_room_behind_it_means_nothing() {
    let it = Fixture::sqlite();
    let redo = path_with_ending(&it.path(), ".redo");
    let mut lengths = std::collections::BTreeSet::new();
    for weight in 0..60 {
        it.commit(Batch::synced().event(post("ann", weight).with_body("x".repeat(2_000)))).unwrap();
        lengths.insert(redo.metadata().unwrap().len());
    }
    assert!(lengths.len() < 10, "{lengths:?}");
    assert!(fs::read(&redo).unwrap().ends_with(&[0; 4_096]));

    let store = open(&as_killed(&it)).unwrap();

    assert_eq!(store.head().lsn, 60);
    assert!(store.verify(switchboard_store::Scope::All).unwrap().is_clean());
}

/// Returns a store with one event in the database, and five that are in the logs only, the first two of these in both.
fn with_logs(batch: fn() -> Batch) -> Fixture {
    let it = Fixture::sqlite();
    it.commit(Batch::synced().event(post("ann", 0)).advance("search", 1)).unwrap();
    it.store.checkpoint(switchboard_store::Checkpoint::Truncate).unwrap();
    for weight in 1..6 {
        it.commit(batch().event(post("ann", weight).with_body(format!("text {weight}")))).unwrap();
        if weight == 2 {
            assert_eq!(it.store.count(&switchboard_store::Query::table("notes")).unwrap(), 3);
        }
    }
    it
}

fn cut(log: &Path) {
    fs::OpenOptions::new().write(true).open(log).unwrap().set_len(500).unwrap();
}

fn flip(log: &Path) {
    let mut bytes = fs::read(log).unwrap();
    // After the log comes preallocated space.
    let at = bytes.iter().rposition(|byte| *byte != 0).unwrap() / 2;
    bytes[at] ^= 1;
    fs::write(log, bytes).unwrap();
}

fn remove(log: &Path) {
    fs::remove_file(log).unwrap();
}

#[test]
fn what_the_redo_log_has_is_taken_in_whatever_became_of_the_write_ahead_log() {
    for damage in [None, Some(cut as fn(&Path)), Some(flip), Some(remove)] {
        let it = with_logs(Batch::synced);
        it.commit(Batch::synced().event(take("ann", 1)).drop_body(2).advance("search", 6).idempotent(call("k", "a")))
            .unwrap();
        let copy = as_killed(&it);
        if let Some(damage) = damage {
            damage(&path_with_ending(&copy, "-wal"));
        }
        let closed = switchboard_store::verify_file(&Config::new(&copy), projections()).unwrap();
        assert_eq!((closed.first(), closed.events()), (None, 7));

        let store = Store::open(Config { clock: it.clock.clock(), ..Config::new(&copy) }, projections()).unwrap();

        assert_eq!((store.head(), store.cursor("search").unwrap()), (it.store.head(), 6));
        assert_eq!((store.body(2).unwrap(), store.body(3).unwrap().as_deref()), (None, Some("text 2")));
        assert!(
            store.commit_blocking(Batch::synced().event(post("x", 1)).idempotent(call("k", "a"))).unwrap().repeated
        );
        let read = |store: &Store| store.read(&switchboard_store::Query::table("notes")).unwrap();
        assert_eq!(read(&store), read(&it.store));
        assert!(store.verify(Scope::All).unwrap().is_clean());
    }
}

#[test]
fn a_backup_of_a_killed_store_has_what_only_its_redo_log_has() {
    let it = with_logs(Batch::synced);
    let copy = as_killed(&it);
    let backup = copy.with_file_name("backup.db");

    let report = switchboard_store::backup_file(&Config::new(&copy), projections(), &backup).unwrap();

    assert_eq!(report.head, it.store.head());
    assert_eq!(open(&backup).unwrap().head(), it.store.head());
    assert_eq!(open(&copy).unwrap().head(), it.store.head(), "the store itself is as it was");
}

#[test]
fn logs_that_are_gone_or_damaged_are_missed() {
    for damage in [cut as fn(&Path), flip, remove] {
        for batch in [Batch::synced, Batch::written] {
            let it = with_logs(batch);
            let copy = as_killed(&it);
            remove(&path_with_ending(&copy, "-wal"));
            damage(&path_with_ending(&copy, ".redo"));

            let Err(Error::Corrupt { place, what }) = open(&copy) else { panic!("it opened") };

            assert!(place.starts_with("event ") && what.contains("committed up to event 6"), "{place}: {what}");
        }
    }
}

#[test]
fn a_check_of_closed_files_says_what_their_opening_says() {
    for damage in [cut as fn(&Path), flip, remove] {
        let it = with_logs(Batch::synced);
        let copy = as_killed(&it);
        remove(&path_with_ending(&copy, "-wal"));
        damage(&path_with_ending(&copy, ".redo"));

        let report = switchboard_store::verify_file(&Config::new(&copy), projections()).unwrap();
        let Err(Error::Corrupt { place, .. }) = open(&copy) else { panic!("it opened") };

        assert_eq!(report.first().unwrap().place.to_string(), place);
    }
}

#[test]
fn a_redo_log_of_another_store_means_nothing() {
    let other = with_logs(Batch::synced);
    let foreign = other.path();
    // The copy is made at once: a store that has been idle for a while no longer needs its redo log.
    let it = with_logs(Batch::synced);
    let copy = as_killed(&it);
    fs::copy(path_with_ending(&foreign, ".redo"), path_with_ending(&copy, ".redo")).unwrap();
    remove(&path_with_ending(&copy, "-wal"));
    remove(&path_with_ending(&copy, ".head"));

    let store = open(&copy).unwrap();

    assert_eq!(store.head().lsn, 1);
    assert!(store.verify(Scope::All).unwrap().is_clean());
}

#[test]
fn a_note_of_the_head_that_is_older_damaged_or_gone_is_no_obstacle() {
    for damage in ["", "switchboard-head/1\nboot x\nsum y\n"] {
        let (_folder, path) = filled(3);
        let head = path.with_file_name("store.db.head");
        let old = fs::read(&head).unwrap();
        fs::write(&head, damage).unwrap();
        let store = open(&path).unwrap();
        store.commit_blocking(Batch::synced().event(post("ann", 9))).unwrap();
        store.close();
        fs::write(&head, old).unwrap();
        assert_eq!(open(&path).unwrap().head().lsn, 4);
        fs::remove_file(&head).unwrap();
        assert_eq!(open(&path).unwrap().head().lsn, 4);
    }
}

#[test]
fn a_store_that_is_refused_is_still_checked_and_the_event_named() {
    let (_folder, path) = filled(5);
    tamper(&path, "DELETE FROM meta WHERE name = 'checked'; UPDATE events SET actor = 'mallory' WHERE lsn = 4");
    assert!(open(&path).is_err());

    let report = switchboard_store::verify_file(&Config::new(&path), projections()).unwrap();

    assert_eq!(report.first().unwrap().place.to_string(), "event 4 (note_posted of owner/ann)");
    assert_eq!(report.events(), 5);
}

#[test]
fn time_goes_on_from_the_end_of_the_log_where_the_time_of_day_is_behind_it() {
    let it = Fixture::sqlite();
    it.clock.advance(1_000_000);
    let end = it.commit(Batch::synced().event(add_owner("ann"))).unwrap().ts;
    it.clock.advance(-900_000);
    let it = it.reopen(projections()).unwrap();

    it.clock.advance(250);

    assert_eq!(it.store.now().since(end), 250);
}
