//! The back of the store: the only connection that writes to SQLite. No commit waits for it, and only checkpoints
//! sync: the redo log holds what a power cut would lose.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use switchboard_protocol::event::Lsn;

use super::pending::{Decided, Layer};
use super::redo::RedoRecord;
use super::sql::db;
use super::tx::Session;
use super::{file, search};
use crate::core::Core;
use crate::log::Chain;
use crate::record::Tip;
use crate::schema::Schema;
use crate::write::{REMEMBERED_FOR, Tx as _, perform};
use crate::{Checkpoint, CheckpointStats, Error};

/// Number of WAL pages at which the WAL is moved into the database during traffic (8 MiB): an opening after a kill
/// reads them.
const MOVE_AT: u64 = 2_000;

/// Number of WAL pages at which the WAL is also truncated, at any cost (64 MiB): readers have held it for too long.
const CUT_AT: u64 = 16_000;

/// Number of events after which the head is recorded as checked; limits what a start has to check again.
const CHECK_EVERY: u64 = 1_024;

/// Maximum number of expired calls that are purged at once.
const PURGE: i64 = 1_000;

/// The write connection and the state of its checkpoints; see the module.
pub(super) struct Back {
    connection: Connection,
    /// Last event in SQLite.
    tip: Tip,
    /// Last head that was recorded as checked.
    checked: Lsn,
    /// Number of pages in the WAL, as its hook reports them.
    wal: Arc<AtomicU64>,
    /// Number of pages in the WAL at which the next checkpoint is due.
    due: u64,
    /// How long a transaction waits for another process that holds the lock of writers.
    lock_wait: Duration,
    /// Time since which another process holds it; `None` if the last transaction got it.
    contended: Option<Instant>,
}

// === impl Back ===

impl Back {
    /// Takes over the connection from the opening, which has synced everything it wrote.
    pub(super) fn new(mut connection: Connection, tip: Tip, lock_wait: Duration) -> Result<Self, Error> {
        connection.busy_timeout(file::BUSY).map_err(db)?;
        connection.pragma_update(None, "synchronous", "normal").map_err(db)?;
        let wal = Arc::new(AtomicU64::new(0));
        let pages = Arc::clone(&wal);
        let hook = move |_: &mut rusqlite::hooks::Wal, count: i32| {
            pages.store(u64::try_from(count).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        };
        connection.wal_hook(Some(hook)).map_err(db)?;
        let (checked, _) = file::checked(&connection)?;
        Ok(Self { connection, tip, checked, wal, due: MOVE_AT, lock_wait, contended: None })
    }

    /// Returns the last event in SQLite.
    pub(super) fn tip(&self) -> Tip {
        self.tip
    }

    /// Writes batches in one transaction, and the final state of each changed row once.
    pub(super) fn apply(&mut self, core: &Core, decided: &[Decided], rows: &Layer) -> Result<(), Error> {
        let tip = decided.last().map_or(self.tip, |last| last.plan.tip);
        let check = tip.lsn >= self.checked + CHECK_EVERY;
        self.transact(|connection| {
            let mut session = Session::new(connection, &core.schema);
            decided.iter().try_for_each(|one| perform(&mut session, &one.batch, &one.plan))?;
            rows.images().try_for_each(|(table, key, image)| match &image.change {
                Some(change) => session.apply(change),
                None => session.leave(core.schema.table(table)?, key, image.row.as_ref()),
            })?;
            if check { note_checked(connection, core, &tip) } else { Ok(()) }
        })?;
        if check {
            self.checked = tip.lsn;
        }
        self.tip = tip;
        Ok(())
    }

    fn transact<T>(&mut self, work: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<T, Error> {
        self.begin()?;
        let done = work(&self.connection).and_then(|done| execute(&self.connection, "COMMIT").map(|()| done));
        if done.is_err()
            && !self.connection.is_autocommit()
            && let Err(error) = execute(&self.connection, "ROLLBACK")
        {
            return Err(Error::Fatal(format!("could not roll back: {error}")));
        }
        done
    }

    /// Begins a transaction. The wait counts from the first transaction that met the other process, so waits of later
    /// callers don't add up.
    fn begin(&mut self) -> Result<(), Error> {
        let since = self.contended.unwrap_or_else(Instant::now);
        let left = self.lock_wait.saturating_sub(since.elapsed());
        self.connection.busy_timeout(left.max(file::BUSY)).map_err(db)?;
        let begun = execute(&self.connection, "BEGIN IMMEDIATE");
        self.connection.busy_timeout(file::BUSY).map_err(db)?;
        self.contended = matches!(begun, Err(Error::Contended)).then_some(since);
        begun
    }

    /// Records the head as checked, so that a start needn't check what this process has computed.
    pub(super) fn note_head(&mut self, core: &Core) -> Result<(), Error> {
        if self.checked < self.tip.lsn {
            let tip = self.tip;
            self.transact(|connection| note_checked(connection, core, &tip))?;
            self.checked = tip.lsn;
        }
        Ok(())
    }

    /// Frees caches while the store is idle, when the cost of reading pages again delays no caller.
    pub(super) fn shrink(&self) {
        shrink(&self.connection);
    }

    /// Returns the checkpoint that is due, if any.
    pub(super) fn due(&self) -> Option<Checkpoint> {
        let pages = self.wal.load(Ordering::Relaxed);
        let mode = if pages >= CUT_AT { Checkpoint::Truncate } else { Checkpoint::Passive };
        (pages >= self.due).then_some(mode)
    }

    /// Moves the WAL into the database. After a complete checkpoint, the database is synced up to the last event in
    /// SQLite.
    pub(super) fn checkpoint(&mut self, mode: Checkpoint) -> Result<CheckpointStats, Error> {
        let sql = match mode {
            Checkpoint::Passive => "PRAGMA wal_checkpoint(PASSIVE)",
            Checkpoint::Truncate => "PRAGMA wal_checkpoint(TRUNCATE)",
        };
        let count = |row: &rusqlite::Row<'_>, at| row.get::<_, i64>(at).map(|count| u64::try_from(count).unwrap_or(0));
        let read = |row: &rusqlite::Row<'_>| {
            Ok(CheckpointStats { complete: row.get::<_, i64>(0)? == 0, pages: count(row, 1)?, moved: count(row, 2)? })
        };
        let mut stats = self.connection.query_row(sql, [], read).map_err(db)?;
        stats.complete &= stats.pages == stats.moved;
        if mode == Checkpoint::Truncate && stats.complete {
            self.wal.store(0, Ordering::Relaxed);
        }
        self.due = if stats.complete { MOVE_AT } else { stats.pages + MOVE_AT };
        Ok(stats)
    }

    /// Performs one step of the search index in its own transaction; `afresh` rebuilds the index. Returns the last
    /// event that is indexed.
    pub(super) fn index(&mut self, core: &Core, afresh: bool) -> Result<Lsn, Error> {
        let done = self.step(core, afresh);
        match done {
            Err(Error::Corrupt { what, .. }) if !afresh => {
                tracing::warn!(what, "the index of words is damaged; it is made anew");
                self.step(core, true)
            }
            done => done,
        }
    }

    fn step(&mut self, core: &Core, afresh: bool) -> Result<Lsn, Error> {
        self.transact(|connection| {
            if afresh {
                search::discard(connection)?;
            }
            search::step(&mut Session::new(connection, &core.schema))
        })
    }

    /// Returns true if there is an index that is behind; false if it can't be read, because nothing can be done about
    /// that now.
    pub(super) fn lags(&self, core: &Core) -> bool {
        let session = Session::new(&self.connection, &core.schema);
        search::reached(&session).is_ok_and(|reached| reached.is_some_and(|reached| reached < self.tip.lsn))
    }
}

/// Frees the caches of a connection: pages, and statements, which are quick to prepare again.
pub(super) fn shrink(connection: &Connection) {
    connection.flush_prepared_statement_cache();
    if let Err(error) = connection.execute_batch("PRAGMA shrink_memory") {
        tracing::debug!(%error, "a cache could not be emptied");
    }
}

fn execute(connection: &Connection, sql: &str) -> Result<(), Error> {
    connection.prepare_cached(sql).map_err(db)?.execute([]).map_err(db)?;
    Ok(())
}

/// Records a head as checked, and purges expired calls.
fn note_checked(connection: &Connection, core: &Core, tip: &Tip) -> Result<(), Error> {
    file::set_checked(connection, tip)?;
    let before = core.now().0 - REMEMBERED_FOR;
    let sql = "DELETE FROM idempotency WHERE (caller, key) IN
               (SELECT caller, key FROM idempotency WHERE ts <= ?1 ORDER BY ts LIMIT ?2)";
    connection.prepare_cached(sql).map_err(db)?.execute([before, PURGE]).map_err(db)?;
    Ok(())
}

/// Writes the records of the redo log that SQLite lacks, in one transaction; returns the new end.
pub(super) fn replay(
    connection: &Connection,
    schema: &Schema,
    chain_id: &str,
    tip: Tip,
    redo_records: &[RedoRecord],
) -> Result<Tip, Error> {
    // Records were flushed in this order, each as a whole, so all records before the last one in SQLite are there, too.
    let is_there =
        |redo_record: &RedoRecord| redo_record.events.last().is_some_and(|(record, _)| record.lsn <= tip.lsn);
    let redo_records = &redo_records[redo_records.iter().rposition(is_there).map_or(0, |last| last + 1)..];
    if redo_records.is_empty() {
        return Ok(tip);
    }
    execute(connection, "BEGIN IMMEDIATE")?;
    let done = redo(connection, schema, chain_id, tip, redo_records);
    execute(connection, if done.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    done
}

fn redo(
    connection: &Connection,
    schema: &Schema,
    chain_id: &str,
    mut tip: Tip,
    redo_records: &[RedoRecord],
) -> Result<Tip, Error> {
    let mut session = Session::new(connection, schema);
    let mut chain = Chain::after(chain_id, tip.lsn, tip.hash);
    for redo_record in redo_records {
        for (record, body) in &redo_record.events {
            chain.follow(record, body.as_ref());
            if let Some(finding) = chain.findings.first() {
                return Err(Error::Corrupt { place: finding.place.to_string(), what: finding.what.clone() });
            }
            session.append(record.entry(), body.as_ref())?;
            let event = record.clone().into_event(schema, None)?;
            for change in schema.project(&event)? {
                session.apply(&change)?;
            }
            tip = Tip { lsn: record.lsn, hash: record.hash, ts: record.ts };
        }
        redo_record.cursors.iter().try_for_each(|(name, lsn)| session.advance(name, *lsn))?;
        redo_record.drop_bodies.iter().try_for_each(|lsn| session.drop_body(*lsn))?;
        redo_record.call.iter().try_for_each(|call| session.remember(call))?;
    }
    Ok(tip)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Clock;
    use crate::schema::Schema;

    fn back(folder: &std::path::Path) -> (Back, Core) {
        let path = folder.join("store.db");
        file::make(&path).unwrap();
        let opened = file::open_writer(&path, 256, Duration::ZERO).unwrap();
        let schema = Schema::new(Vec::new()).unwrap();
        let core = Core::new(schema, opened.chain_id, opened.epoch, Clock::system(), Tip::START);
        (Back::new(opened.connection, Tip::START, Duration::ZERO).unwrap(), core)
    }

    #[test]
    fn the_settings_that_everything_relies_on_are_in_force() {
        let folder = tempfile::tempdir().unwrap();
        let opened = file::make(&folder.path().join("store.db"))
            .and_then(|()| file::open_writer(&folder.path().join("store.db"), 256, Duration::ZERO))
            .unwrap();
        let number = |connection: &Connection, name: &str| -> i64 {
            connection.pragma_query_value(None, name, |row| row.get(0)).unwrap()
        };
        assert_eq!(number(&opened.connection, "synchronous"), 2, "what the opening writes is synced");
        let back = Back::new(opened.connection, Tip::START, Duration::ZERO).unwrap();
        let reader = file::open_reader(&folder.path().join("store.db"), 64).unwrap();

        // 1 is NORMAL: no commit is synced, but every checkpoint is.
        assert_eq!(number(&back.connection, "synchronous"), 1);
        assert_eq!(number(&back.connection, "wal_autocheckpoint"), 0);
        assert_eq!(number(&back.connection, "secure_delete"), 1);
        assert_eq!(number(&back.connection, "fullfsync"), 1);
        assert_eq!(number(&reader, "query_only"), 1);
        assert!(reader.execute("DELETE FROM meta", []).is_err());
        for connection in [&back.connection, &reader] {
            let mapped: Option<i64> = connection.pragma_query_value(None, "mmap_size", |row| row.get(0)).ok();
            assert_eq!(mapped.unwrap_or(0), 0);
            assert_eq!(number(connection, "cell_size_check"), 1);
        }
        assert!(rusqlite::version_number() >= 3_051_003, "earlier ones can lose commits at a checkpoint");
    }

    #[test]
    fn old_calls_are_purged_when_the_head_is_noted() {
        let folder = tempfile::tempdir().unwrap();
        let (mut back, core) = back(folder.path());
        let old = "INSERT INTO idempotency VALUES ('c', 'k', 'v', x'00', '', 1, 1, 5, 0)";
        back.connection.execute(old, []).unwrap();
        back.tip.lsn = 1;

        back.note_head(&core).unwrap();

        let left: i64 = back.connection.query_row("SELECT count(*) FROM idempotency", [], |row| row.get(0)).unwrap();
        assert_eq!((left, back.checked), (0, 1));
    }
}
