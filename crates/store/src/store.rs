//! The handle of the store that all parts use.

mod backup;
mod search;
mod sweep;

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};

use switchboard_process::file::Draft;
use switchboard_protocol::event::{Event, Lsn, RawEvent};
use switchboard_protocol::id::Digest;
use switchboard_protocol::time::Millis;
use tokio::sync::watch;

use crate::core::{Core, lock};
use crate::export::Exporter;
use crate::log::{Chain, Visit};
use crate::mem::{Memory, Tables};
use crate::prepared::Prepared;
use crate::record::{Record, Tip};
use crate::schema::Schema;
use crate::sqlite::Sqlite;
use crate::verify::{Report, Scope};
use crate::write::Answer;
use crate::{
    Batch, Cell, Checkpoint, CheckpointStats, Clock, Committed, Config, Error, Filter, Head, Interest, Projection,
    Query, Row, Scan, Subscription,
};

pub use self::backup::{backup_file, restore, verify_file};
pub use self::sweep::{Retention, Swept};

/// The event log with its projections. A cheap handle; dropping the last one closes the store.
///
/// Reads see everything that was committed before they began. If no other caller commits, [`commit`](Self::commit)
/// blocks for one write and one sync unless the disk is slow; otherwise it waits for its turn. All other methods block
/// while SQLite works: microseconds for [`get`](Self::get) and small [`read`](Self::read)s. [`verify`](Self::verify)
/// and [`export`](Self::export) take long and should run on a thread of their own.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    backend: Backend,
    core: Arc<Core>,
    least: Mutex<Least>,
}

/// Answers of [`Store::least`] by table and column, each with the end of the log for which it holds.
type Least = HashMap<(&'static str, &'static str), (Lsn, Option<i64>)>;

/// A closed set; a third backend, PostgreSQL, is planned.
enum Backend {
    Sqlite(Sqlite),
    Memory(Mutex<Memory>),
}

// === impl Store ===

impl Store {
    /// Opens or creates a store on SQLite: takes the owner's lock, checks what was written since the last clean head,
    /// rebuilds tables whose projection changed, begins a new epoch, and starts the writer.
    ///
    /// # Errors
    /// [`Error::Locked`] names the owner; [`Error::NetworkFileSystem`]; [`Error::Corrupt`] names the damage;
    /// [`Error::Newer`]; [`Error::Schema`] when a declaration is invalid; [`Error::Io`] for folder and files.
    pub fn open(config: Config, projections: Vec<Box<dyn Projection>>) -> Result<Self, Error> {
        let (sqlite, core) = Sqlite::open(&config, Schema::new(projections)?)?;
        Ok(Self { inner: Arc::new(Inner { backend: Backend::Sqlite(sqlite), core, least: Mutex::default() }) })
    }

    /// Creates an empty store in memory, with the same contract.
    ///
    /// # Panics
    /// When a projection's declaration is invalid: a defect of the program, found by its first test.
    #[must_use]
    pub fn in_memory(projections: Vec<Box<dyn Projection>>, clock: Clock) -> Self {
        let schema = Schema::new(projections).expect("a projection's declaration is a constant of the program");
        let memory = Memory::new(&schema);
        let core = Arc::new(Core::new(schema, "chain_memory".to_owned(), 1, clock, Tip::START));
        let backend = Backend::Memory(Mutex::new(memory));
        Self { inner: Arc::new(Inner { backend, core, least: Mutex::default() }) }
    }

    /// Writes a batch: checks, in this order, its epoch, whether the call was made before, the expected revisions and
    /// the guards; then appends the events and changes the rows, all or nothing. Answers when the batch has the
    /// requested durability; dropping the future doesn't stop the commit.
    ///
    /// # Errors
    /// Nothing was written after [`Error::TooLarge`], [`Error::Busy`], [`Error::StaleEpoch`], [`Error::KeyReused`],
    /// [`Error::Conflict`], [`Error::Refused`], [`Error::Ahead`] (a cursor), [`Error::Schema`] (a projector's defect),
    /// [`Error::DiskFull`]. After [`Error::Fatal`] it is unknown whether it was written, and the store must be
    /// reopened.
    pub async fn commit(&self, batch: Batch) -> Result<Committed, Error> {
        let batch = Prepared::new(batch, &self.inner.core.schema)?;
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.commit(&self.inner.core, batch).await,
            Backend::Memory(memory) => {
                // As on disk, other tasks run between a caller's read and its write, so that simulations meet the same
                // races.
                tokio::task::yield_now().await;
                self.inner.commit_in_memory(memory, batch)
            }
        }
    }

    /// As [`commit`](Self::commit), for callers that are not tasks.
    ///
    /// # Errors
    /// Those of [`commit`](Self::commit).
    pub fn commit_blocking(&self, batch: Batch) -> Result<Committed, Error> {
        let batch = Prepared::new(batch, &self.inner.core.schema)?;
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.commit_blocking(&self.inner.core, batch),
            Backend::Memory(memory) => self.inner.commit_in_memory(memory, batch),
        }
    }

    /// Returns the rows that match a query.
    ///
    /// # Errors
    /// [`Error::Schema`] when the query doesn't fit its table; [`Error::Busy`] when no reader becomes free within 5 s.
    pub fn read(&self, query: &Query) -> Result<Vec<Row>, Error> {
        self.inner.core.schema.check_query(query)?;
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.rows(&self.inner.core, query),
            Backend::Memory(memory) => self.inner.alive(memory)?.rows(query),
        }
    }

    /// Returns the number of rows that match a query, regardless of its limit and offset.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn count(&self, query: &Query) -> Result<u64, Error> {
        self.inner.core.schema.check_query(query)?;
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.count(&self.inner.core, query),
            Backend::Memory(memory) => self.inner.alive(memory)?.count(query),
        }
    }

    /// As [`count`](Self::count), but stops counting at `most`.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn count_up_to(&self, query: &Query, most: u64) -> Result<u64, Error> {
        self.inner.core.schema.check_query(query)?;
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.count_up_to(&self.inner.core, query, most),
            Backend::Memory(memory) => Ok(self.inner.alive(memory)?.count(query)?.min(most)),
        }
    }

    /// Returns the smallest number in a column; `None` if no row has one. The answer is remembered until the next commit.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn least(&self, table: &'static str, column: &'static str) -> Result<Option<i64>, Error> {
        self.inner.core.alive()?;
        // Taken before the query, which sees at least what is committed up to here.
        let lsn = self.head().lsn;
        let known = lock(&self.inner.least).get(&(table, column)).copied();
        if let Some((_, least)) = known.filter(|(at, _)| *at == lsn) {
            return Ok(least);
        }
        let query = Query::table(table).ge(column, i64::MIN).asc(column).limit(1);
        self.inner.core.schema.check_query(&query)?;
        let least = match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.first_number(&self.inner.core, &query, column)?,
            Backend::Memory(memory) => {
                self.inner.alive(memory)?.rows(&query)?.first().and_then(|row| row.get_int(column))
            }
        };
        lock(&self.inner.least).insert((table, column), (lsn, least));
        Ok(least)
    }

    /// Returns one row by its key.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn get(&self, table: &'static str, key: &[Cell]) -> Result<Option<Row>, Error> {
        self.look(table, key, Row::clone)
    }

    /// Returns what `look` takes from one row, by its key, without a copy of the row. Other commits may wait while it looks.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn look<T>(&self, table: &'static str, key: &[Cell], look: impl Fn(&Row) -> T) -> Result<Option<T>, Error> {
        let table = self.inner.core.schema.check_key(table, key)?;
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.look(&self.inner.core, table, key, look),
            Backend::Memory(memory) => Ok(self.inner.alive(memory)?.row(table, key).as_ref().map(look)),
        }
    }

    /// Returns events after `from`, oldest first, at most `limit`, without their bodies (see [`body`](Self::body)) and
    /// with facts in their newest version. Facts are never dropped, so no cursor is ever too old.
    ///
    /// # Errors
    /// [`Error::Ahead`] when `from` lies beyond the head; [`Error::Corrupt`] when facts don't parse.
    pub fn events(&self, from: Lsn, filter: &Filter, limit: usize) -> Result<Vec<Event>, Error> {
        let head = self.head().lsn;
        if from > head {
            return Err(Error::Ahead { cursor: from, head });
        }
        let mut events = Vec::new();
        if limit == 0 {
            return Ok(events);
        }
        self.inner.scan_short(from, head, false, &mut |record, _| {
            if filter.wants(&record.kind, &record.subject) {
                events.push(record.into_event(&self.inner.core.schema, None)?);
            }
            Ok(if events.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        Ok(events)
    }

    /// Returns events after `from`, oldest first, at most `limit`, each with its subject, and with the facts as text.
    ///
    /// # Errors
    /// Those of [`raw_events_of`](Self::raw_events_of).
    pub fn raw_events(&self, from: Lsn, limit: usize) -> Result<Vec<(String, RawEvent)>, Error> {
        let mut events = Vec::new();
        if limit == 0 {
            return Ok(events);
        }
        self.inner.scan_short(from, self.head().lsn, false, &mut |mut record, _| {
            let subject = std::mem::take(&mut record.subject);
            events.push((subject, record.into_raw(&self.inner.core.schema)?));
            Ok(if events.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        Ok(events)
    }

    /// Returns the events of one subject after its revision `after` (0: from the first), oldest first, at most `limit`,
    /// without their bodies. The cost depends on their number, not on the length of the log.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when facts don't parse; [`Error::Busy`] as for [`read`](Self::read).
    pub fn events_of(&self, subject: &str, after: u64, limit: usize) -> Result<Vec<Event>, Error> {
        let records = self.records_of(subject, after, limit)?;
        records.into_iter().map(|record| record.into_event(&self.inner.core.schema, None)).collect()
    }

    /// As [`events_of`](Self::events_of), with the facts as text, for readers of many events of one type. What can't be
    /// parsed is found by its reader.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when facts of an older version don't parse; [`Error::Busy`] as for [`read`](Self::read).
    pub fn raw_events_of(&self, subject: &str, after: u64, limit: usize) -> Result<Vec<RawEvent>, Error> {
        let (core, schema) = (&self.inner.core, &self.inner.core.schema);
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => {
                let records = sqlite.events_of(core, subject, after, limit)?;
                records.into_iter().map(|record| record.into_raw(schema)).collect()
            }
            Backend::Memory(memory) => {
                let memory = self.inner.alive(memory)?;
                memory.events_of(subject, after, limit).map(|record| record.to_raw(schema)).collect()
            }
        }
    }

    fn records_of(&self, subject: &str, after: u64, limit: usize) -> Result<Vec<Record>, Error> {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.events_of(&self.inner.core, subject, after, limit),
            Backend::Memory(memory) => {
                Ok(self.inner.alive(memory)?.events_of(subject, after, limit).cloned().collect())
            }
        }
    }

    /// Returns one event with its body; `None` if there is no such event.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when its facts don't parse; [`Error::Busy`] as for [`read`](Self::read).
    pub fn event(&self, lsn: Lsn) -> Result<Option<Event>, Error> {
        let mut found = None;
        let Some(before) = lsn.checked_sub(1) else { return Ok(None) };
        self.inner.scan_short(before, lsn, true, &mut |record, body| {
            if record.lsn == lsn {
                found = Some(record.into_event(&self.inner.core.schema, body)?);
            }
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// Returns the body of an event; `None` if it never had one, if it was dropped, or if there is no such event.
    ///
    /// # Errors
    /// Those of [`bodies`](Self::bodies).
    pub fn body(&self, lsn: Lsn) -> Result<Option<String>, Error> {
        Ok(self.bodies(&[lsn])?.remove(&lsn))
    }

    /// Returns the bodies of events, for those that have one, in one read.
    ///
    /// # Errors
    /// [`Error::Busy`] as for [`read`](Self::read).
    pub fn bodies(&self, lsns: &[Lsn]) -> Result<BTreeMap<Lsn, String>, Error> {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.bodies(&self.inner.core, lsns),
            Backend::Memory(memory) => Ok(self.inner.alive(memory)?.bodies(lsns)),
        }
    }

    /// Returns the position of a durable cursor ([`Batch::advance`]); 0 before it was first moved.
    ///
    /// # Errors
    /// [`Error::Busy`] as for [`read`](Self::read).
    pub fn cursor(&self, name: &str) -> Result<Lsn, Error> {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.cursor(&self.inner.core, name),
            Backend::Memory(memory) => Ok(self.inner.alive(memory)?.cursor(name)),
        }
    }

    /// Returns the revision of a subject, which is its number of events; 0 if it doesn't exist.
    ///
    /// # Errors
    /// [`Error::Busy`] as for [`read`](Self::read).
    pub fn rev(&self, subject: &str) -> Result<u64, Error> {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.rev(&self.inner.core, subject),
            Backend::Memory(memory) => Ok(self.inner.alive(memory)?.rev(subject)),
        }
    }

    /// Returns the end of the log.
    #[must_use]
    pub fn head(&self) -> Head {
        let tip = self.inner.core.tip();
        Head { lsn: tip.lsn, hash: tip.hash }
    }

    /// Waits for commits that match these interests, and for no others. Subscribe, read, then wait: no commit in
    /// between is missed. Like [`watch`](Self::watch), it wakes after the commit's callers are answered. With very many
    /// subscriptions at once, the latest are woken by every commit.
    #[must_use]
    pub fn subscribe(&self, interests: impl IntoIterator<Item = Interest>) -> Subscription {
        self.inner.core.waiters.subscribe(interests.into_iter().collect())
    }

    /// Waits until a subject has an event after a revision; returns its revision then.
    ///
    /// # Errors
    /// [`Error::Closed`] when the store has ended; those of [`rev`](Self::rev).
    pub async fn wait_for(&self, subject: &str, after: u64) -> Result<u64, Error> {
        let mut subscription = self.subscribe([Interest::Subject(subject.to_owned())]);
        loop {
            let rev = self.rev(subject)?;
            if rev > after {
                return Ok(rev);
            }
            subscription.changed().await?;
        }
    }

    /// Follows the end of the log: all receivers wake after every commit, never before its callers
    /// are answered. For a narrower interest, use [`subscribe`](Self::subscribe).
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Lsn> {
        self.inner.core.watch()
    }

    /// Returns the store's time, which never goes back; decisions use it as `now`.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.inner.core.now()
    }

    /// Returns the chain's id, which is random, created with the store, and part of every hash.
    #[must_use]
    pub fn chain_id(&self) -> &str {
        &self.inner.core.chain_id
    }

    /// Returns the epoch, which increases by one with every opening. A decision of an earlier epoch is refused
    /// ([`Batch::epoch`]).
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.inner.core.epoch
    }

    /// Returns why the store no longer works, if it doesn't.
    #[must_use]
    pub fn dead(&self) -> Option<Error> {
        self.inner.core.alive().err()
    }

    /// Returns the progress of the check in the background after the start.
    #[must_use]
    pub fn scan(&self) -> Scan {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.scanned(),
            Backend::Memory(_) => Scan::Whole,
        }
    }

    /// Writes the address of this owner, for a second process that tries to open the store.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn announce(&self, address: &str) -> Result<(), Error> {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.announce(address),
            Backend::Memory(_) => Ok(()),
        }
    }

    /// Checks the record in its current state: the chain and the salted hashes of the bodies, and with [`Scope::All`]
    /// also the file's structure and every table against one rebuilt from the log. The report contains the findings.
    ///
    /// # Errors
    /// When the check itself fails.
    pub fn verify(&self, scope: Scope) -> Result<Report, Error> {
        let core = &self.inner.core;
        let (all, before) = (scope == Scope::All, core.tip());
        let mut chain = Chain::after(&core.chain_id, 0, Digest::ZERO);
        let (tip, rows) = match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.verify(core, all, &mut chain)?,
            Backend::Memory(memory) => verify_memory(core, &*self.inner.alive(memory)?, all, &mut chain)?,
        };
        if tip.lsn < before.lsn {
            chain.end(before.lsn, before.hash);
        }
        Ok(Report::new(chain, &core.chain_id, rows))
    }

    /// Writes the whole record into a new file, or replaces an earlier export of it.
    ///
    /// # Errors
    /// [`Error::Io`] when another file exists there, or it can't be written.
    pub fn export_file(&self, to: &Path) -> Result<Head, Error> {
        let fail = |error: std::io::Error| crate::export::not_written(to, error);
        let (chain_id, head) = (self.chain_id(), self.head());
        let is_earlier = |path: &Path| crate::export::is_earlier(path, chain_id, head.lsn);
        let draft = Draft::begin(to, is_earlier).map_err(fail)?;
        let file = std::fs::OpenOptions::new().write(true).open(draft.path()).map_err(fail)?;
        let mut out = std::io::BufWriter::new(file);
        let head = self.export(&mut out)?;
        out.flush().map_err(fail)?;
        draft.publish().map_err(fail)?;
        Ok(head)
    }

    /// Writes the whole record as JSON lines: events with their bodies and salts, in a format that
    /// [`verify_export`](crate::verify_export) checks without a database.
    ///
    /// # Errors
    /// [`Error::Io`] when `out` fails.
    pub fn export(&self, out: &mut dyn Write) -> Result<Head, Error> {
        let head = self.head();
        let mut exporter = Exporter::start(out, self.chain_id(), head)?;
        if head.lsn > 0 {
            self.inner.scan_long(0, true, &mut |record, body| {
                let last = record.lsn >= head.lsn;
                exporter.write(&record, body.as_ref())?;
                Ok(if last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })?;
        }
        Ok(head)
    }

    /// Moves the WAL into the database now, after queued batches.
    ///
    /// # Errors
    /// [`Error::Fatal`] when the disk fails.
    pub fn checkpoint(&self, mode: Checkpoint) -> Result<CheckpointStats, Error> {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.checkpoint(&self.inner.core, mode),
            Backend::Memory(_) => Ok(CheckpointStats { complete: true, ..CheckpointStats::default() }),
        }
    }

    /// Finishes queued batches, moves the WAL into the database, joins the writer and ends the store for all handles.
    /// The lock is released when the last handle is dropped.
    pub fn close(self) {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.close(),
            Backend::Memory(_) => self.inner.core.die(Error::Closed),
        }
    }
}

// === impl Inner ===

impl Inner {
    fn alive<'a>(&self, memory: &'a Mutex<Memory>) -> Result<std::sync::MutexGuard<'a, Memory>, Error> {
        self.core.alive()?;
        Ok(lock(memory))
    }

    fn commit_in_memory(&self, memory: &Mutex<Memory>, mut batch: Prepared) -> Answer {
        let committed = {
            let mut memory = self.alive(memory)?;
            let (committed, changes) = memory.commit(&self.core.rules(), self.core.now(), &mut batch)?;
            // A repeated call has written nothing.
            if !committed.repeated {
                self.core.publish(memory.tip, batch.drafts.iter(), memory.changed(&changes));
            }
            committed
        };
        self.core.wake();
        Ok(committed)
    }

    fn scan_short(&self, from: Lsn, last: Lsn, bodies: bool, visit: &mut Visit<'_>) -> Result<(), Error> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.scan_short(&self.core, from, last, bodies, visit),
            Backend::Memory(memory) => self.alive(memory)?.scan(from, bodies, visit),
        }
    }

    fn scan_long(&self, from: Lsn, bodies: bool, visit: &mut Visit<'_>) -> Result<(), Error> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.scan(&self.core, from, bodies, visit),
            Backend::Memory(memory) => self.alive(memory)?.scan(from, bodies, visit),
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The SQLite backend closes its own subscribers; those of a store in memory are woken here for the last time.
        self.core.waiters.close();
    }
}

fn verify_memory(core: &Core, memory: &Memory, all: bool, chain: &mut Chain<'_>) -> Result<(Tip, u64), Error> {
    let mut rebuilt = Tables::new(&core.schema);
    memory.scan(0, true, &mut |record, body| {
        chain.follow(&record, body.as_ref());
        for change in core.schema.project(&record.into_event(&core.schema, None)?)? {
            rebuilt.apply(&change)?;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    if !all {
        return Ok((memory.tip, 0));
    }
    if let Some((table, key)) = memory.tables().difference(&rebuilt) {
        chain.found(crate::DamageSite::Table(table.to_owned()), format!("the row {key:?} is not what the log says"));
    }
    Ok((memory.tip, rebuilt.len()))
}
