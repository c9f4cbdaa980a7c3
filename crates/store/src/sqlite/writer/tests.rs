use std::sync::mpsc::sync_channel;

use protocol::event::NewEvent;
use serde_json::json;

use super::*;
use crate::schema::Schema;
use crate::{Batch, Clock};

/// A writer without its thread, so that its connection can be asked.
fn writer(folder: &std::path::Path) -> Writer {
    let path = folder.join("store.db");
    file::make(&path).unwrap();
    let opened = file::open_writer(&path, 256).unwrap();
    let schema = Schema::new(Vec::new()).unwrap();
    let core = Core::new(schema, opened.chain_id, opened.epoch, Clock::system(), Tip::START);
    let (_, jobs) = sync_channel(1);
    let note = Note::begin(&path, &Tip::START).unwrap();
    Writer::new(Arc::new(core), opened.connection, note, Room::new(&path), jobs, Arc::new(AtomicUsize::new(0))).unwrap()
}

fn group(durabilities: &[Durability]) -> Vec<(Box<Prepared>, Waiter)> {
    let queued = |durability: &Durability| {
        let event = NewEvent::new("kind", "subject", "actor", json!({}));
        let batch = Prepared::new(Batch::new(*durability).event(event), &Schema::new(Vec::new()).unwrap()).unwrap();
        (Box::new(batch), Waiter::Thread(sync_channel(1).0))
    };
    durabilities.iter().map(queued).collect()
}

/// What SQLite itself says is in force: 1 is NORMAL, 2 is FULL.
fn in_force(writer: &Writer) -> i64 {
    writer.connection.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap()
}

#[test]
fn one_synced_batch_makes_its_whole_group_synced_and_no_other() {
    use Durability::{Synced, Written};
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    let groups: [(&[Durability], i64); 6] = [
        (&[Written], 1),
        (&[Synced], 2),
        (&[Written, Written], 1),
        (&[Written, Synced, Written], 2),
        (&[Synced, Synced], 2),
        (&[Written], 1),
    ];

    for (durabilities, level) in groups {
        let answers = writer.transact(&mut group(durabilities)).unwrap();
        assert!(answers.iter().all(Result::is_ok));
        assert_eq!(in_force(&writer), level, "{durabilities:?}");
    }
}

#[test]
fn the_level_can_not_be_changed_inside_a_transaction_unnoticed() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    writer.set_durability(Durability::Written).unwrap();
    writer.execute("BEGIN IMMEDIATE").unwrap();

    let changed = writer.set_durability(Durability::Synced);

    assert!(changed.is_err());
    assert_eq!(in_force(&writer), 1);
}

#[test]
fn the_settings_that_everything_relies_on_are_in_force() {
    let folder = tempfile::tempdir().unwrap();
    let writer = writer(folder.path());
    let reader = file::open_reader(&folder.path().join("store.db"), 64).unwrap();
    let number = |connection: &Connection, name: &str| -> i64 {
        connection.pragma_query_value(None, name, |row| row.get(0)).unwrap()
    };

    assert_eq!(number(&writer.connection, "wal_autocheckpoint"), 0);
    assert_eq!(number(&writer.connection, "secure_delete"), 1);
    assert_eq!(number(&writer.connection, "fullfsync"), 1);
    assert_eq!(number(&reader, "query_only"), 1);
    assert!(reader.execute("DELETE FROM meta", []).is_err());
    for connection in [&writer.connection, &reader] {
        let mapped: Option<i64> = connection.pragma_query_value(None, "mmap_size", |row| row.get(0)).ok();
        assert_eq!(mapped.unwrap_or(0), 0);
        assert_eq!(number(connection, "cell_size_check"), 1);
    }
    assert!(rusqlite::version_number() >= 3_051_003, "earlier ones can lose commits at a checkpoint");
}

#[test]
fn old_calls_are_purged_while_the_store_works() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    let old = "INSERT INTO idempotency VALUES ('c', 'k', 'v', x'00', '', 1, 1, 5, 0)";
    writer.connection.execute(old, []).unwrap();

    writer.tip.lsn = 1;
    writer.tidy(Checkpoint::Passive);

    let left: i64 = writer.connection.query_row("SELECT count(*) FROM idempotency", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0);
    assert!(writer.core.alive().is_ok());
}
