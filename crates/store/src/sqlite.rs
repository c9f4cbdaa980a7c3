//! The store on SQLite: a redo log makes commits durable, and one file in WAL mode behind it holds everything else. One
//! connection writes to SQLite, a few read.
//!
//! ```text
//! commit ──▶ front: decide ──▶ redo log, synced ──▶ answer        (the thread that holds the front is the writer)
//!                 ▲                 │ committed, not yet in SQLite: `pending`
//!                 │ looks at        ▼
//! reads ─────▶ pending, then    back: SQLite, many commits in one transaction, synced by checkpoints only
//! ```
//!
//! A single caller writes on its own thread, unless it is a task whose commit has to be synced: tasks never block a
//! thread of their runtime on the disk. Concurrent callers wait in a queue, and a thread writes them group by group.
//! Another thread brings SQLite up to date. A reader of rows in a changed table brings SQLite up to date first.
//!
//! Locks are taken in this order: front, back, queue or pending.
//!
//! Requires SQLite 3.51.3 or later: earlier versions can lose commits if a checkpoint races a write. A single
//! connection for both avoids that race as well.

mod back;
mod backup;
mod check;
mod file;
mod front;
mod note;
mod pending;
mod projections;
mod queue;
mod readers;
mod redo;
mod scan;
mod search;
mod sql;
mod tx;

pub(crate) use self::backup::{copy_closed, restore};
pub(crate) use self::check::file as verify_file;
pub(crate) use self::sql::Statements;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use switchboard_protocol::event::Lsn;
use tokio::sync::oneshot;

use self::back::Back;
use self::front::Front;
use self::note::Note;
use self::pending::{Decided, Layer, Pending};
use self::queue::{Queue, Waiter};
use self::readers::Readers;
use self::redo::Redo;
use self::scan::Scanner;
use self::tx::Session;
use crate::batch::Durability;
use crate::core::{Core, lock};
use crate::lock::Lock;
use crate::log::{Chain, Finding, Visit};
use crate::prepared::Prepared;
use crate::record::{Record, Tip};
use crate::schema::Schema;
use crate::search::{Found, Search};
use crate::verify::Report;
use crate::write::Answer;
use crate::{Cell, Checkpoint, CheckpointStats, Config, Error, Query, Row, Scan, Table};

/// A store in a file. Fields are dropped in this order, the lock last.
pub(crate) struct Sqlite {
    scanner: Scanner,
    inner: Arc<Inner>,
    writer: Mutex<Option<JoinHandle<()>>>,
    flusher: Mutex<Option<JoinHandle<()>>>,
    lock: Mutex<Lock>,
}

/// State that the handles and the two threads share.
struct Inner {
    core: Arc<Core>,
    readers: Readers,
    front: Mutex<Front>,
    back: Mutex<Back>,
    queue: Mutex<Queue>,
    pending: Mutex<Pending>,
    /// Signals that something was queued.
    work: Condvar,
    /// Signals that something waits for SQLite.
    flush_needed: Condvar,
    /// Signals that less waits for SQLite.
    flushed: Condvar,
}

// === impl Sqlite ===

impl Sqlite {
    /// Opens or creates the file, checks what was written since the last clean head, applies the redo log, and starts
    /// the threads.
    pub(crate) fn open(config: &Config, schema: Schema) -> Result<(Self, Arc<Core>), Error> {
        let path = config.path.as_path();
        file::make(path)?;
        crate::mount::refuse_network(file::folder_of(path), path)?;
        let lock = Lock::take(path)?;
        let opened = file::open_writer(path, config.cache_kib, config.lock_wait)?;
        let connection = opened.connection;
        let tip = prepare(path, &connection, &schema, &opened.chain_id)?;
        // SQLite now has everything from the redo log, and has synced every commit so far.
        let redo = Redo::begin(path, &opened.chain_id, config.io_hook.clone())?;
        let note = Note::begin(path, &tip)?;
        let cache_kib = (config.cache_kib / 32).max(64);
        let readers = Readers::open(path, cache_kib)?;
        let core = Arc::new(Core::new(schema, opened.chain_id, opened.epoch, config.clock.clone(), tip));
        let scanner = Scanner::start(Arc::clone(&core), readers.separate()?, file::checked(&connection)?)?;
        let inner = Arc::new(Inner {
            core: Arc::clone(&core),
            front: Mutex::new(Front::new(readers.separate()?, redo, note, tip)),
            readers,
            back: Mutex::new(Back::new(connection, tip, config.lock_wait)?),
            queue: Mutex::new(Queue::new(config.queue.max(1))),
            pending: Mutex::new(Pending::after(tip.lsn)),
            work: Condvar::new(),
            flush_needed: Condvar::new(),
            flushed: Condvar::new(),
        });
        let start = |name: &str, run: fn(&Arc<Inner>)| {
            let inner = Arc::clone(&inner);
            let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || run(&inner));
            thread.map_err(|error| Error::io(format!("could not start the thread {name}"), error))
        };
        let writer = start("store-writer", Inner::run_writer)?;
        let flusher = Mutex::new(None);
        let sqlite = Self {
            scanner,
            inner: Arc::clone(&inner),
            writer: Mutex::new(Some(writer)),
            flusher,
            lock: Mutex::new(lock),
        };
        *crate::core::lock(&sqlite.flusher) = Some(start("store-flusher", Inner::run_flusher)?);
        Ok((sqlite, core))
    }

    /// Commits a batch. A batch that needs no sync is written here if no other caller writes. A sync would block this
    /// thread of the runtime, so it is left to the writer.
    pub(crate) async fn commit(&self, core: &Core, batch: Prepared) -> Answer {
        if batch.durability == Durability::Written
            && let Some(front) = self.inner.try_front()
        {
            return self.inner.commit_now(front, batch);
        }
        let (sender, receiver) = oneshot::channel();
        self.inner.queue(batch, Waiter::Task(sender))?;
        receiver.await.unwrap_or_else(|_| Err(core.reason()))
    }

    /// Commits a batch and waits on this thread.
    pub(crate) fn commit_blocking(&self, core: &Core, batch: Prepared) -> Answer {
        if let Some(front) = self.inner.try_front() {
            return self.inner.commit_now(front, batch);
        }
        let (sender, receiver) = sync_channel(1);
        self.inner.queue(batch, Waiter::Thread(sender))?;
        receiver.recv().unwrap_or_else(|_| Err(core.reason()))
    }

    /// Moves everything into the database.
    pub(crate) fn checkpoint(&self, core: &Core, mode: Checkpoint) -> Result<CheckpointStats, Error> {
        core.alive()?;
        self.inner.checkpoint(mode)
    }

    /// Returns the rows that match a query.
    pub(crate) fn rows(&self, core: &Core, query: &Query) -> Result<Vec<Row>, Error> {
        self.inner.flush_for(query.table)?;
        self.read(core, |session| session.read_rows(query))
    }

    /// Returns the number of rows that match a query.
    pub(crate) fn count(&self, core: &Core, query: &Query) -> Result<u64, Error> {
        self.inner.flush_for(query.table)?;
        self.read(core, |session| session.read_count(query))
    }

    /// As [`count`](Self::count), but stops counting at `most`.
    pub(crate) fn count_up_to(&self, core: &Core, query: &Query, most: u64) -> Result<u64, Error> {
        self.inner.flush_for(query.table)?;
        self.read(core, |session| session.read_count_up_to(query, most))
    }

    /// Returns the number in a column of the first row that matches a query.
    pub(crate) fn first_number(&self, core: &Core, query: &Query, column: &str) -> Result<Option<i64>, Error> {
        self.inner.flush_for(query.table)?;
        self.read(core, |session| session.read_first_number(query, column))
    }

    /// Applies `look` to one row, by its key.
    pub(crate) fn look<T>(
        &self,
        core: &Core,
        table: &'static Table,
        key: &[Cell],
        look: impl Fn(&Row) -> T,
    ) -> Result<Option<T>, Error> {
        core.alive()?;
        self.inner.look(table, key, look, |key| self.read(core, |session| session.read_row(table, key)))
    }

    /// Returns the revision of a subject.
    pub(crate) fn rev(&self, core: &Core, subject: &str) -> Result<u64, Error> {
        match self.inner.recent(|layer| layer.rev(subject)) {
            Some(rev) => Ok(rev),
            None => self.read(core, |session| session.read_rev(subject)),
        }
    }

    /// Returns the position of a cursor.
    pub(crate) fn cursor(&self, core: &Core, name: &str) -> Result<Lsn, Error> {
        // In this order: pending data may be in SQLite a moment later. A pending move may be to an lsn before the
        // cursor's position.
        let recent = self.inner.recent(|layer| layer.cursor(name));
        let stored = self.read(core, |session| session.read_cursor(name))?;
        Ok(recent.map_or(stored, |lsn| lsn.max(stored)))
    }

    /// Visits the events after `from` up to at least `last`: those in SQLite, then the pending ones.
    pub(crate) fn scan_short(
        &self,
        core: &Core,
        from: Lsn,
        last: Lsn,
        bodies: bool,
        visit: &mut Visit<'_>,
    ) -> Result<(), Error> {
        core.alive()?;
        let most = usize::try_from(last.saturating_sub(from)).unwrap_or(usize::MAX);
        let recent = lock(&self.inner.pending).events(from, most, bodies);
        let Some((recent, flushed)) = recent else {
            self.inner.flush_up_to(last)?;
            return self.read(core, |session| session.scan(from, bodies, visit));
        };
        let mut goes_on = true;
        if from < flushed {
            self.read(core, |session| {
                session.scan(from, bodies, &mut |record, body| {
                    if record.lsn > flushed {
                        return Ok(ControlFlow::Break(()));
                    }
                    let flow = visit(record, body)?;
                    goes_on = flow.is_continue();
                    Ok(flow)
                })
            })?;
        }
        for (record, body) in recent.into_iter().take_while(|_| goes_on) {
            if visit(record, body)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the events of a subject after one of its revisions: those in SQLite, then the pending ones.
    pub(crate) fn events_of(&self, core: &Core, subject: &str, after: u64, limit: usize) -> Result<Vec<Record>, Error> {
        // In this order: pending events may be in SQLite a moment later.
        let (recent, flushed) = lock(&self.inner.pending).events_of(subject, after);
        let mut records = self.read(core, |session| session.events_of(subject, after, limit))?;
        records.retain(|record| record.lsn <= flushed);
        let missing = limit.saturating_sub(records.len());
        records.extend(recent.into_iter().take(missing));
        Ok(records)
    }

    /// Returns the bodies of events: the pending ones, then those in SQLite.
    pub(crate) fn bodies(&self, core: &Core, lsns: &[Lsn]) -> Result<BTreeMap<Lsn, String>, Error> {
        core.alive()?;
        let recent = lock(&self.inner.pending).bodies(lsns);
        let Some((mut texts, flushed)) = recent else {
            self.inner.flush_up_to(lsns.iter().copied().max().unwrap_or(0))?;
            return self.read(core, |session| session.bodies(lsns));
        };
        let flushed: Vec<Lsn> = lsns.iter().copied().filter(|lsn| *lsn <= flushed).collect();
        if !flushed.is_empty() {
            texts.extend(self.read(core, |session| session.bodies(&flushed))?);
        }
        Ok(texts)
    }

    /// Performs a short read of SQLite.
    fn read<T>(&self, core: &Core, read: impl FnOnce(&Session<'_>) -> Result<T, Error>) -> Result<T, Error> {
        core.alive()?;
        self.inner.readers.with(|connection| read(&Session::new(connection, &core.schema)))
    }

    /// Performs a read that may take long, on a connection of its own.
    pub(crate) fn scan(&self, core: &Core, from: Lsn, bodies: bool, visit: &mut Visit<'_>) -> Result<(), Error> {
        core.alive()?;
        self.inner.write_through()?;
        Session::new(&self.inner.readers.separate()?, &core.schema).scan(from, bodies, visit)
    }

    /// Checks the log against its chain in one snapshot of the store; with `all`, also the file and every table.
    pub(crate) fn verify(&self, core: &Core, all: bool, chain: &mut Chain<'_>) -> Result<(Tip, u64), Error> {
        core.alive()?;
        self.inner.write_through()?;
        let connection = self.inner.readers.separate()?;
        connection.execute_batch("BEGIN").map_err(sql::db)?;
        let checked = check::all(&connection, &core.schema, all, chain);
        connection.execute_batch("ROLLBACK").map_err(sql::db)?;
        checked
    }

    /// Copies a snapshot of the store into a new file while the store is in use, and checks the copy.
    pub(crate) fn backup(&self, core: &Core, to: &Path) -> Result<Report, Error> {
        core.alive()?;
        self.inner.write_through()?;
        backup::copy(&self.inner.readers.separate()?, &core.schema, to, &[])
    }

    /// Updates the search index up to the head, as far as possible within `limit`, and queries it.
    pub(crate) fn search(&self, core: &Core, search: &Search<'_>, limit: Duration) -> Result<Found, Error> {
        let (head, deadline) = (core.tip().lsn, Instant::now() + limit);
        let mut indexed = self.inner.index(false)?;
        while indexed < head && Instant::now() < deadline {
            indexed = self.inner.index(false)?;
        }
        let ask = || self.read(core, |session| search::ask(session.connection, search));
        let lsns = match ask() {
            Err(Error::Corrupt { what, .. }) => {
                tracing::warn!(what, "the index of words is damaged; it is made anew");
                indexed = self.inner.index(true)?;
                while indexed < head && Instant::now() < deadline {
                    indexed = self.inner.index(false)?;
                }
                ask()?
            }
            other => other?,
        };
        Ok(Found { lsns, is_whole: indexed >= head })
    }

    /// Returns the progress of the check in the background after the start.
    pub(crate) fn scanned(&self) -> Scan {
        self.scanner.state()
    }

    /// Writes the owner's address into the lock file.
    pub(crate) fn announce(&self, address: &str) -> Result<(), Error> {
        lock(&self.lock).announce(address)
    }

    /// Writes what is queued, brings SQLite up to date, and ends the threads.
    pub(crate) fn close(&self) {
        self.scanner.stop();
        let Some(writer) = lock(&self.writer).take() else { return };
        // The flusher ends last, because queued batches may have to wait for it.
        self.inner.close_queue();
        let mut has_panicked = writer.join().is_err();
        self.inner.close_flusher();
        if let Some(flusher) = lock(&self.flusher).take() {
            has_panicked |= flusher.join().is_err();
        }
        if has_panicked {
            tracing::error!("a thread of the store has panicked");
        }
        if self.inner.core.alive().is_ok()
            && let Err(error) = self.inner.tidy(Checkpoint::Truncate)
        {
            tracing::warn!(%error, "the store is closed with its logs");
        }
        self.inner.core.die(Error::Closed);
        self.inner.refuse_queued();
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.close();
    }
}

// === impl Inner ===

impl Inner {
    /// Commits a batch on this thread, which holds the front.
    fn commit_now(&self, mut front: MutexGuard<'_, Front>, batch: Prepared) -> Answer {
        let began = Instant::now();
        let answer = front.write(self, vec![batch]).pop();
        drop(front);
        self.learn(1, began.elapsed());
        self.core.wake();
        answer.unwrap_or_else(|| Err(self.core.reason()))
    }

    /// Locks the front. Fails after a panic in it, because it is then unknown what was written.
    fn front(&self) -> Result<MutexGuard<'_, Front>, Error> {
        self.front.lock().map_err(|_| self.core.judge(Error::Fatal("the writer has panicked".to_owned())))
    }

    /// Locks the back, likewise.
    fn back(&self) -> Result<MutexGuard<'_, Back>, Error> {
        self.back.lock().map_err(|_| self.core.judge(Error::Fatal("the flusher has panicked".to_owned())))
    }

    /// Makes durable batches visible to readers.
    fn show(&self, decided: Vec<Decided>, layer: Layer, tip: Tip) {
        let mut pending = lock(&self.pending);
        // Readers need the lock on `pending`, too, so they find the batches published here once they have it.
        self.core.publish(tip, decided.iter().flat_map(|one| &one.batch.drafts), layer.rows());
        let was_empty = pending.is_empty();
        pending.add(decided, layer);
        if (was_empty || queue::is_much(&pending)) && std::mem::take(&mut pending.is_asleep) {
            self.flush_needed.notify_one();
        }
    }

    /// Queries what is committed and not yet in SQLite.
    fn recent<T>(&self, ask: impl Fn(&Layer) -> Option<T>) -> Option<T> {
        lock(&self.pending).find(ask)
    }

    /// Applies `look` to a row, if it exists: one that is pending or cached, else one from SQLite via `read`.
    fn look<T>(
        &self,
        table: &'static Table,
        key: &[Cell],
        look: impl Fn(&Row) -> T,
        read: impl FnOnce(&[Cell]) -> Result<Option<Row>, Error>,
    ) -> Result<Option<T>, Error> {
        let count = {
            let pending = lock(&self.pending);
            if let Some(row) = pending.row(table, key) {
                return Ok(row.map(look));
            }
            pending.count
        };
        let Some(row) = read(key)? else { return Ok(None) };
        let found = look(&row);
        lock(&self.pending).cache_row(count, table.name, key, row);
        Ok(Some(found))
    }

    /// Writes everything that is committed to SQLite.
    fn write_through(&self) -> Result<(), Error> {
        self.core.alive()?;
        if lock(&self.pending).is_empty() {
            return Ok(());
        }
        self.flush_with(&mut *self.back()?)
    }

    /// As [`write_through`](Self::write_through), if a table to be read has changed.
    fn flush_for(&self, table: &str) -> Result<(), Error> {
        if lock(&self.pending).touches(table) { self.write_through() } else { Ok(()) }
    }

    /// As [`write_through`](Self::write_through), if an event to be read is not in SQLite.
    fn flush_up_to(&self, lsn: Lsn) -> Result<(), Error> {
        if lock(&self.pending).has_flushed(lsn) { Ok(()) } else { self.write_through() }
    }

    fn flush_with(&self, back: &mut Back) -> Result<(), Error> {
        let Some(older) = lock(&self.pending).begin() else { return Ok(()) };
        self.flushed.notify_all();
        match back.apply(&self.core, &older.decided, &older.layer) {
            Ok(()) => {
                lock(&self.pending).done(back.tip().lsn);
                Ok(())
            }
            Err(error) => {
                drop(older);
                lock(&self.pending).failed();
                // The batch was answered and can't be refused any more. It waits for disk space or the lock; any other
                // error ends the store.
                let waits = matches!(error, Error::DiskFull | Error::Contended);
                let is_the_end = !waits && !matches!(error, Error::Corrupt { .. } | Error::Fatal(_));
                let lost = |error| Error::Fatal(format!("what is committed could not be written: {error}"));
                Err(self.core.judge(if is_the_end { lost(error) } else { error }))
            }
        }
    }

    /// Moves everything into the database; then the redo log starts over.
    fn checkpoint(&self, mode: Checkpoint) -> Result<CheckpointStats, Error> {
        let mut front = self.front()?;
        self.drain(&mut front);
        let mut back = self.back()?;
        self.checkpoint_with(&mut front, &mut back, mode)
    }

    fn checkpoint_with(&self, front: &mut Front, back: &mut Back, mode: Checkpoint) -> Result<CheckpointStats, Error> {
        self.core.alive()?;
        self.flush_with(back)?;
        let stats = back.checkpoint(mode).map_err(|error| self.core.judge(error))?;
        tracing::trace!(?stats, "checkpoint");
        if stats.complete {
            let redo = front.redo();
            let begun = if mode == Checkpoint::Truncate { redo.cut() } else { redo.restart() };
            begun.map_err(|error| self.core.judge(error))?;
        }
        Ok(stats)
    }

    fn checkpoint_when_due(&self) -> Result<(), Error> {
        let due = self.back()?.due();
        let is_large = self.front()?.redo().is_large();
        if let Some(mode) = due.or(is_large.then_some(Checkpoint::Passive))
            && let Err(error) = self.checkpoint(mode)
        {
            tracing::warn!(%error, "a checkpoint failed; the next one tries again");
        }
        Ok(())
    }

    /// Frees the space of the logs on a disk that is nearly full.
    fn make_room(&self, redo: &mut Redo) -> Result<(), Error> {
        let mut back = self.back()?;
        self.flush_with(&mut back)?;
        match back.checkpoint(Checkpoint::Truncate).map_err(|error| self.core.judge(error)) {
            Ok(stats) if stats.complete => redo.cut().map_err(|error| self.core.judge(error)),
            // Readers block it, or there is no space for it; no more can be freed then.
            Ok(_) | Err(Error::DiskFull | Error::Contended | Error::Database(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Records the head, moves everything into the database, and frees caches.
    fn tidy(&self, mode: Checkpoint) -> Result<(), Error> {
        let mut front = self.front()?;
        self.drain(&mut front);
        let mut back = self.back()?;
        self.flush_with(&mut back)?;
        back.note_head(&self.core).map_err(|error| self.core.judge(error))?;
        self.checkpoint_with(&mut front, &mut back, mode)?;
        front.shrink();
        back.shrink();
        lock(&self.pending).shrink();
        self.readers.shrink();
        Ok(())
    }

    /// Indexes further bodies; returns the last event that is indexed.
    fn index(&self, afresh: bool) -> Result<Lsn, Error> {
        self.core.alive()?;
        let mut back = self.back()?;
        self.flush_with(&mut back)?;
        let indexed = back.index(&self.core, afresh);
        // A damaged index doesn't damage the record.
        indexed.map_err(|error| if matches!(error, Error::Fatal(_)) { self.core.judge(error) } else { error })
    }
}

fn prepare(path: &Path, connection: &Connection, schema: &Schema, chain_id: &str) -> Result<Tip, Error> {
    let checked = file::checked_head(connection, schema, chain_id).and_then(|tip| {
        projections::prepare(connection, schema)?;
        let redo_records = redo::read(path, chain_id)?;
        let tip = back::replay(connection, schema, chain_id, tip, &redo_records)?;
        if let Some(Finding { place, what }) = note::missing(path, connection, &[])? {
            return Err(Error::Corrupt { place: place.to_string(), what });
        }
        search::prepare(connection, schema)?;
        Ok(tip)
    });
    checked.map_err(|error| file::at(path, error))
}
