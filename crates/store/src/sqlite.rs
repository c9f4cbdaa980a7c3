//! The store on SQLite: one file in WAL mode, one writer thread, a few readers.
//!
//! SQLite must be 3.51.3 or later: earlier ones can lose commits when a checkpoint races a write. One connection that
//! does both avoids that race as well.

mod backup;
mod check;
mod file;
mod note;
mod projections;
mod readers;
mod room;
mod scan;
mod search;
mod sql;
mod tx;
mod writer;

pub(crate) use self::backup::{copy_closed, restore};
pub(crate) use self::check::file as verify_file;
pub(crate) use self::sql::Statements;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use protocol::event::Lsn;
use rusqlite::Connection;
use tokio::sync::oneshot;

use self::note::Note;
use self::readers::Readers;
use self::room::Room;
use self::scan::Scanner;
use self::tx::Session;
pub(crate) use self::writer::Done;
use self::writer::{Job, Waiter, Writer};
use crate::core::{Core, lock};
use crate::lock::Lock;
use crate::log::{Chain, Finding, Visit};
use crate::prepared::Prepared;
use crate::record::Tip;
use crate::schema::Schema;
use crate::search::{Found, Search};
use crate::verify::Report;
use crate::write::Answer;
use crate::{Cell, Checkpoint, CheckpointStats, Config, Error, Query, Row, Scan, Table};

/// Most bytes of batches that wait, whatever their number (32 MiB).
const MAX_QUEUED_BYTES: usize = 32 << 20;

/// Everything of a store that lies in a file. Fields are dropped in this order: the lock last.
pub(crate) struct Sqlite {
    scanner: Scanner,
    jobs: SyncSender<Job>,
    queued_bytes: Arc<AtomicUsize>,
    writer: Mutex<Option<JoinHandle<()>>>,
    readers: Readers,
    lock: Mutex<Lock>,
}

// === impl Sqlite ===

impl Sqlite {
    /// Opens or makes the file, checks what was written since the last clean head, and starts the writer.
    pub(crate) fn open(config: &Config, schema: Schema) -> Result<(Self, Arc<Core>), Error> {
        let path = config.path.as_path();
        file::make(path)?;
        crate::mount::refuse_network(file::folder_of(path), path)?;
        let lock = Lock::take(path)?;
        let opened = file::open_writer(path, config.cache_kib)?;
        let connection = opened.connection;
        let tip = settle(path, &connection, &schema, &opened.chain_id)?;
        let note = Note::begin(path, &tip)?;
        let readers = Readers::open(path, (config.cache_kib / 4).max(64))?;
        let core = Arc::new(Core::new(schema, opened.chain_id, opened.epoch, config.clock.clone(), tip));
        let scanner = Scanner::start(Arc::clone(&core), readers.separate()?, file::checked(&connection)?)?;
        let (jobs, queue) = sync_channel(config.queue.max(1));
        let queued_bytes = Arc::new(AtomicUsize::new(0));
        let writer =
            Writer::new(Arc::clone(&core), connection, note, Room::new(path), queue, Arc::clone(&queued_bytes))?;
        let thread = std::thread::Builder::new().name("store-writer".to_owned()).spawn(move || writer.run());
        let thread = thread.map_err(|error| Error::io("could not start the writer", error))?;
        let writer = Mutex::new(Some(thread));
        Ok((Self { scanner, jobs, queued_bytes, writer, readers, lock: Mutex::new(lock) }, core))
    }

    /// Queues a batch; the answer comes when its group is committed.
    pub(crate) fn commit(&self, core: &Core, batch: Prepared) -> Result<oneshot::Receiver<Done>, Error> {
        let (sender, receiver) = oneshot::channel();
        self.queue(core, batch, Waiter::Task(sender))?;
        Ok(receiver)
    }

    /// Queues a batch and waits on this thread.
    pub(crate) fn commit_blocking(&self, core: &Core, batch: Prepared) -> Answer {
        let (sender, receiver) = sync_channel(1);
        self.queue(core, batch, Waiter::Thread(sender))?;
        receiver.recv().map_or_else(|_| Err(core.reason()), |done| done.answer)
    }

    fn queue(&self, core: &Core, batch: Prepared, waiter: Waiter) -> Result<(), Error> {
        core.alive()?;
        let bytes = batch.bytes;
        let waiting = self.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        let sent = if waiting > 0 && waiting + bytes > MAX_QUEUED_BYTES {
            Err(Error::Busy)
        } else {
            self.jobs.try_send(Job::Commit(Box::new(batch), waiter)).map_err(|error| match error {
                TrySendError::Full(_) => Error::Busy,
                TrySendError::Disconnected(_) => core.reason(),
            })
        };
        if sent.is_err() {
            self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
        sent
    }

    /// Moves the WAL into the database.
    pub(crate) fn checkpoint(&self, core: &Core, mode: Checkpoint) -> Result<CheckpointStats, Error> {
        let (sender, receiver) = sync_channel(1);
        self.jobs.send(Job::Checkpoint(mode, sender)).map_err(|_| core.reason())?;
        receiver.recv().unwrap_or_else(|_| Err(core.reason()))
    }

    /// A short read.
    pub(crate) fn read<T>(&self, core: &Core, read: impl FnOnce(&Reading<'_>) -> Result<T, Error>) -> Result<T, Error> {
        core.alive()?;
        self.readers.with(|connection| read(&Reading(Session::new(connection, &core.schema))))
    }

    /// A read that may take long, on a connection of its own.
    pub(crate) fn scan(&self, core: &Core, from: Lsn, bodies: bool, visit: &mut Visit<'_>) -> Result<(), Error> {
        core.alive()?;
        Session::new(&self.readers.separate()?, &core.schema).scan(from, bodies, visit)
    }

    /// Checks the log against its chain in one state of the store; with `all`, also the file and every table.
    pub(crate) fn verify(&self, core: &Core, all: bool, chain: &mut Chain<'_>) -> Result<(Tip, u64), Error> {
        core.alive()?;
        let connection = self.readers.separate()?;
        connection.execute_batch("BEGIN").map_err(sql::db)?;
        let checked = check::all(&connection, &core.schema, all, chain);
        connection.execute_batch("ROLLBACK").map_err(sql::db)?;
        checked
    }

    /// Copies the store into a new file, in one state, while it works; the copy is checked.
    pub(crate) fn backup(&self, core: &Core, to: &Path) -> Result<Report, Error> {
        core.alive()?;
        backup::copy(&self.readers.separate()?, &core.schema, to)
    }

    /// Brings the index of words up to the head, as far as it gets in `limit`, and asks it.
    pub(crate) fn search(&self, core: &Core, search: &Search<'_>, limit: Duration) -> Result<Found, Error> {
        let (head, deadline) = (core.tip().lsn, Instant::now() + limit);
        let mut indexed = self.index(core, false)?;
        while indexed < head && Instant::now() < deadline {
            indexed = self.index(core, false)?;
        }
        let ask = || self.read(core, |reading| search::ask(reading.0.connection, search));
        let lsns = match ask() {
            Err(Error::Corrupt { what, .. }) => {
                tracing::warn!(what, "the index of words is damaged; it is made anew");
                indexed = self.index(core, true)?;
                while indexed < head && Instant::now() < deadline {
                    indexed = self.index(core, false)?;
                }
                ask()?
            }
            other => other?,
        };
        Ok(Found { lsns, is_whole: indexed >= head })
    }

    /// Has the writer index some more bodies; says how far it has come.
    fn index(&self, core: &Core, afresh: bool) -> Result<Lsn, Error> {
        let (sender, receiver) = sync_channel(1);
        self.jobs.send(Job::Index { afresh, waiter: sender }).map_err(|_| core.reason())?;
        receiver.recv().unwrap_or_else(|_| Err(core.reason()))
    }

    /// How far the check behind the start has come.
    pub(crate) fn scanned(&self) -> Scan {
        self.scanner.state()
    }

    /// Writes the owner's address into the lock file.
    pub(crate) fn announce(&self, address: &str) -> Result<(), Error> {
        lock(&self.lock).announce(address)
    }

    /// Lets the writer finish what is queued, and joins it.
    pub(crate) fn close(&self) {
        self.scanner.stop();
        let Some(writer) = lock(&self.writer).take() else { return };
        // An error here means that the writer has ended already.
        let ended = self.jobs.send(Job::Close).is_err();
        if writer.join().is_err() || ended {
            tracing::debug!("the writer ended before it was closed");
        }
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.close();
    }
}

/// A connection that is lent for one read.
pub(crate) struct Reading<'a>(Session<'a>);

// === impl Reading ===

impl Reading<'_> {
    pub(crate) fn rows(&self, query: &Query) -> Result<Vec<Row>, Error> {
        self.0.read_rows(query)
    }

    pub(crate) fn count(&self, query: &Query) -> Result<u64, Error> {
        self.0.read_count(query)
    }

    pub(crate) fn row(&self, table: &'static Table, key: &[Cell]) -> Result<Option<Row>, Error> {
        self.0.read_row(table, key)
    }

    pub(crate) fn rev(&self, subject: &str) -> Result<u64, Error> {
        self.0.read_rev(subject)
    }

    pub(crate) fn cursor(&self, name: &str) -> Result<Lsn, Error> {
        self.0.read_cursor(name)
    }

    pub(crate) fn scan(&self, from: Lsn, bodies: bool, visit: &mut Visit<'_>) -> Result<(), Error> {
        self.0.scan(from, bodies, visit)
    }
}

fn settle(path: &Path, connection: &Connection, schema: &Schema, chain_id: &str) -> Result<Tip, Error> {
    let settled = file::checked_head(connection, schema, chain_id).and_then(|tip| {
        if let Some(Finding { place, what }) = note::missing(path, connection)? {
            return Err(Error::Corrupt { place: place.to_string(), what });
        }
        projections::settle(connection, schema)?;
        search::settle(connection, schema)?;
        Ok(tip)
    });
    settled.map_err(|error| file::at(path, error))
}
