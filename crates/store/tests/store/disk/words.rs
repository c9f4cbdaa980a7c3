//! The search index on disk: created when it is first needed, kept small, and rebuilt whenever it can't be trusted.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use switchboard_store::{Batch, Checkpoint, Scope, Words};

use crate::board::{Board, Fixture, post, projections};

fn posted(it: &Fixture, count: usize) {
    for number in 0..count {
        let body = format!("word{number} shared");
        it.commit(Batch::written().event(post("ann", 1).with_body(body))).unwrap();
    }
}

fn found(it: &Fixture, query: &str) -> usize {
    it.store.search(&Words::parse(query).unwrap(), None, 1_000).unwrap().lsns.len()
}

fn tamper(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

fn tables(path: &Path) -> i64 {
    let sql = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'search%'";
    Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn nothing_is_indexed_before_somebody_searches() {
    let it = Fixture::sqlite();
    posted(&it, 3);
    assert_eq!(tables(&it.path()), 0);

    assert_eq!(found(&it, "shared"), 3);

    assert!(tables(&it.path()) > 0);
    posted(&it, 2);
    let it = it.reopen(projections()).unwrap();
    assert_eq!(found(&it, "shared"), 5);
    assert!(it.store.verify(Scope::All).unwrap().is_clean());
}

#[test]
fn a_long_log_is_indexed_in_steps_that_commits_pass() {
    let it = Fixture::sqlite();
    posted(&it, 700);

    assert_eq!(found(&it, "shared"), 700);
    assert_eq!(found(&it, "word69*"), 11);
}

#[test]
fn the_words_of_a_dropped_body_leave_no_trace_in_the_files() {
    let it = Fixture::sqlite();
    posted(&it, 5);
    let secret = "xylophonecorrect";
    let lsn = it.commit(Batch::synced().event(post("ann", 1).with_body(secret))).unwrap().first;
    assert_eq!(found(&it, secret), 1);
    it.store.checkpoint(Checkpoint::Truncate).unwrap();
    let holds = || fs::read(it.path()).unwrap().windows(secret.len()).any(|part| part == secret.as_bytes());
    assert!(holds());

    it.commit(Batch::synced().drop_body(lsn)).unwrap();
    assert!(it.store.checkpoint(Checkpoint::Truncate).unwrap().complete);

    assert!(!holds());
    assert_eq!(found(&it, secret), 0);
    assert!(it.store.verify(Scope::All).unwrap().is_clean());
}

#[test]
fn a_damaged_index_is_found_by_verify_and_made_anew_by_a_search() {
    for sql in [
        "INSERT INTO search (rowid, text) VALUES (2, 'more')",
        "INSERT INTO search (search, rowid, text) VALUES ('delete', 3, 'word2 shared')",
        "UPDATE search_data SET block = zeroblob(length(block)) WHERE id > 10",
    ] {
        let it = Fixture::sqlite();
        posted(&it, 5);
        assert_eq!(found(&it, "shared"), 5);
        let (path, clock, folder) = (it.path(), it.clock, it.folder);
        it.store.close();
        tamper(&path, sql);
        let config = switchboard_store::Config { clock: clock.clock(), ..switchboard_store::Config::new(&path) };
        let it = Fixture { store: switchboard_store::Store::open(config, projections()).unwrap(), clock, folder };

        let report = it.store.verify(Scope::All).unwrap();

        assert!(!report.is_clean(), "{sql}");
        if sql.starts_with("UPDATE") {
            assert_eq!(found(&it, "shared"), 5);
            assert!(it.store.verify(Scope::All).unwrap().is_clean());
        }
        let dropped = it.commit(Batch::synced().drop_body(3));
        assert!(dropped.is_ok(), "{sql}: {dropped:?}");
        assert!(it.store.dead().is_none());
    }
}

#[test]
fn an_index_of_other_kinds_is_made_anew() {
    struct Silent;
    impl switchboard_store::Projection for Silent {
        fn tables(&self) -> &'static [switchboard_store::Table] {
            Board { version: 1 }.tables()
        }
        fn project(&self, event: &switchboard_protocol::event::Event) -> Vec<switchboard_store::Change> {
            Board { version: 1 }.project(event)
        }
        fn version(&self) -> u32 {
            1
        }
    }
    let it = Fixture::sqlite();
    posted(&it, 3);
    assert_eq!(found(&it, "shared"), 3);

    let it = it.reopen(vec![Box::new(Silent)]).unwrap();
    assert_eq!(found(&it, "shared"), 0);
    let it = it.reopen(projections()).unwrap();

    assert_eq!(found(&it, "shared"), 3);
}
