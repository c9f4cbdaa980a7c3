//! The writer: one thread that owns the only write connection, groups what waits into one transaction, and decides when
//! to checkpoint.

mod index;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use protocol::event::Lsn;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::file;
use super::note::Note;
use super::room::Room;
use super::sql::db;
use super::tx::{Revs, Session};
use crate::core::Core;
use crate::prepared::Prepared;
use crate::record::Tip;
use crate::write::{Answer, REMEMBERED_FOR, write};
use crate::{Checkpoint, CheckpointStats, Durability, Error};

/// Most batches of one transaction: bounds how long the first of them waits for the last.
const MAX_GROUP: usize = 512;

/// How long the queue must be empty before the writer tidies up.
const IDLE: Duration = Duration::from_millis(200);

/// Pages in the WAL at which it is moved into the database while there is traffic (8 MiB).
const MOVE_AT: u64 = 2_000;

/// Pages in the WAL at which it is also cut, whatever that costs (64 MiB): readers have held it for too long.
const CUT_AT: u64 = 16_000;

/// Events after which the head is noted as checked: the most that a start has to check again.
const CHECK_EVERY: u64 = 1_024;

/// Forgotten calls that are purged at once.
const PURGE: i64 = 1_000;

/// What the writer is asked.
pub(super) enum Job {
    /// Write a batch.
    Commit(Box<Prepared>, Waiter),
    /// Move the WAL into the database.
    Checkpoint(Checkpoint, SyncSender<Result<CheckpointStats, Error>>),
    /// Index some more bodies, in an index made anew if that is said; answered with the last event it has looked at.
    Index { afresh: bool, waiter: SyncSender<Result<Lsn, Error>> },
    /// Tidy up and end.
    Close,
}

/// Who waits for an answer; one that stopped waiting is not an error.
pub(super) enum Waiter {
    /// A task.
    Task(oneshot::Sender<Done>),
    /// A thread.
    Thread(SyncSender<Done>),
}

/// An answer, with the batch that is used up: whoever made it frees it, so that the writer has no part in that.
pub(crate) struct Done {
    pub(crate) answer: Answer,
    _spent: Box<Prepared>,
}

impl Job {
    /// A step of the index that nobody waits for.
    fn index() -> Self {
        Self::Index { afresh: false, waiter: std::sync::mpsc::sync_channel(1).0 }
    }
}

impl Waiter {
    fn answer(self, answer: Answer, spent: Box<Prepared>) {
        let done = Done { answer, _spent: spent };
        let gone = match self {
            Self::Task(sender) => sender.send(done).is_err(),
            Self::Thread(sender) => sender.try_send(done).is_err(),
        };
        if gone {
            tracing::debug!("a caller stopped waiting for its commit");
        }
    }
}

/// The writer's state.
pub(super) struct Writer {
    core: Arc<Core>,
    connection: Connection,
    note: Note,
    room: Room,
    jobs: Receiver<Job>,
    queued_bytes: Arc<AtomicUsize>,
    tip: Tip,
    revs: RefCell<Revs>,
    /// The durability that `PRAGMA synchronous` stands at.
    in_force: Option<Durability>,
    /// The last head that was noted as checked.
    checked: u64,
    /// Pages in the WAL, as its hook reports them.
    wal: Arc<AtomicU64>,
    /// Pages in the WAL at which the next checkpoint is due.
    due: u64,
}

// === impl Writer ===

impl Writer {
    pub(super) fn new(
        core: Arc<Core>,
        connection: Connection,
        note: Note,
        room: Room,
        jobs: Receiver<Job>,
        queued_bytes: Arc<AtomicUsize>,
    ) -> Result<Self, Error> {
        let wal = Arc::new(AtomicU64::new(0));
        let pages = Arc::clone(&wal);
        let hook = move |_: &mut rusqlite::hooks::Wal, count: i32| {
            pages.store(u64::try_from(count).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        };
        let mut connection = connection;
        connection.wal_hook(Some(hook)).map_err(db)?;
        let tip = core.tip();
        let (checked, _) = file::checked(&connection)?;
        let revs = RefCell::default();
        Ok(Self {
            core,
            connection,
            note,
            room,
            jobs,
            queued_bytes,
            tip,
            revs,
            in_force: None,
            checked,
            wal,
            due: MOVE_AT,
        })
    }

    /// Works until it is told to close, all handles are gone, or the disk fails.
    pub(super) fn run(mut self) {
        while let Some(job) = self.next() {
            if !self.take(job) || self.core.alive().is_err() {
                break;
            }
        }
        if self.core.alive().is_ok() {
            self.finish();
        }
        self.core.die(Error::Closed);
        for job in self.jobs.try_iter() {
            refuse(job, &self.core.reason());
        }
    }

    /// The next job; tidies up when none comes for a while.
    fn next(&mut self) -> Option<Job> {
        if self.wal.load(Ordering::Relaxed) == 0 {
            return self.jobs.recv().ok();
        }
        match self.jobs.recv_timeout(IDLE) {
            Ok(job) => Some(job),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) if self.lags() => Some(Job::index()),
            Err(RecvTimeoutError::Timeout) => {
                self.tidy(Checkpoint::Passive);
                self.wal.store(0, Ordering::Relaxed);
                self.jobs.recv().ok()
            }
        }
    }

    /// Does a job and all commits that queue up behind it; false when it is the last.
    fn take(&mut self, job: Job) -> bool {
        let mut group = Vec::new();
        let mut next = Some(job);
        while let Some(job) = next {
            match job {
                Job::Commit(batch, waiter) => {
                    self.queued_bytes.fetch_sub(batch.bytes, Ordering::Relaxed);
                    group.push((batch, waiter));
                }
                Job::Checkpoint(mode, waiter) => {
                    self.commit(std::mem::take(&mut group));
                    let stats = self.checkpoint(mode);
                    if waiter.try_send(stats).is_err() {
                        tracing::debug!("a caller stopped waiting for its checkpoint");
                    }
                }
                Job::Index { afresh, waiter } => {
                    self.commit(std::mem::take(&mut group));
                    if waiter.try_send(self.index(afresh)).is_err() {
                        tracing::debug!("a caller stopped waiting for the index");
                    }
                }
                Job::Close => {
                    self.commit(group);
                    return false;
                }
            }
            next = if group.len() < MAX_GROUP { self.jobs.try_recv().ok() } else { None };
        }
        self.commit(group);
        self.checkpoint_when_due();
        self.room.make(self.wal.load(Ordering::Relaxed));
        true
    }

    /// One transaction for a group; then the answers, then the wake-up. A group that one batch spoils is taken apart.
    fn commit(&mut self, mut group: Vec<(Box<Prepared>, Waiter)>) {
        if group.is_empty() {
            return;
        }
        let result = self.core.alive().and_then(|()| self.transact(&mut group));
        match result {
            Ok(answers) => {
                self.core.publish(self.tip);
                for ((batch, waiter), answer) in group.into_iter().zip(answers) {
                    waiter.answer(answer, batch);
                }
                self.core.wake();
            }
            Err(error) => self.fail(group, error),
        }
    }

    fn fail(&mut self, group: Vec<(Box<Prepared>, Waiter)>, error: Error) {
        let ends = matches!(error, Error::Fatal(_) | Error::Corrupt { .. } | Error::Closed);
        if let Error::Corrupt { place, what } = &error {
            self.core.die(Error::Fatal(format!("{place}: {what}")));
        } else if ends {
            self.core.die(error.clone());
        }
        self.roll_back();
        if ends || group.len() == 1 || matches!(error, Error::DiskFull) {
            let error = if ends { self.core.reason() } else { error };
            group.into_iter().for_each(|(batch, waiter)| waiter.answer(Err(error.clone()), batch));
        } else {
            group.into_iter().for_each(|one| self.commit(vec![one]));
        }
    }

    fn transact(&mut self, group: &mut [(Box<Prepared>, Waiter)]) -> Result<Vec<Answer>, Error> {
        let synced = group.iter().any(|(batch, _)| batch.durability == Durability::Synced);
        self.set_durability(if synced { Durability::Synced } else { Durability::Written })?;
        self.execute("BEGIN IMMEDIATE")?;
        let mut tip = self.tip;
        let mut session = Session::knowing(&self.connection, &self.core.schema, &self.revs);
        let (rules, now) = (self.core.rules(), self.core.now());
        let mut answers = Vec::with_capacity(group.len());
        for (batch, _) in group {
            answers.push(write(&mut session, &mut tip, &rules, now, batch)?);
        }
        let check = tip.lsn >= self.checked + CHECK_EVERY;
        if check {
            self.note_checked(&tip)?;
        }
        self.execute("COMMIT")?;
        self.note.set(&tip, if synced { Durability::Synced } else { Durability::Written });
        if check {
            self.checked = tip.lsn;
        }
        self.tip = tip;
        Ok(answers)
    }

    /// Notes the head as checked, so that a start needn't check what this writer has computed, and forgets old calls.
    fn note_checked(&self, tip: &Tip) -> Result<(), Error> {
        file::set_checked(&self.connection, tip)?;
        let before = self.core.now().0 - REMEMBERED_FOR;
        let sql = "DELETE FROM idempotency WHERE (caller, key) IN
                   (SELECT caller, key FROM idempotency WHERE ts <= ?1 ORDER BY ts LIMIT ?2)";
        self.connection.prepare_cached(sql).map_err(db)?.execute([before, PURGE]).map_err(db)?;
        Ok(())
    }

    /// `synchronous` can't change inside a transaction, so it is set before one, and only when it must change.
    fn set_durability(&mut self, wanted: Durability) -> Result<(), Error> {
        if self.in_force == Some(wanted) {
            return Ok(());
        }
        let level = match wanted {
            Durability::Synced => "full",
            Durability::Written => "normal",
        };
        self.connection.pragma_update(None, "synchronous", level).map_err(db)?;
        self.in_force = Some(wanted);
        Ok(())
    }

    fn execute(&self, sql: &str) -> Result<(), Error> {
        self.connection.prepare_cached(sql).map_err(db)?.execute([]).map_err(db)?;
        Ok(())
    }

    fn roll_back(&self) {
        self.revs.borrow_mut().forget();
        if self.connection.is_autocommit() {
            return;
        }
        if let Err(error) = self.execute("ROLLBACK") {
            self.core.die(Error::Fatal(format!("could not roll back: {error}")));
        }
    }

    fn checkpoint_when_due(&mut self) {
        let pages = self.wal.load(Ordering::Relaxed);
        if pages < self.due || self.core.alive().is_err() {
            return;
        }
        self.checkpoint_or_die(if pages >= CUT_AT { Checkpoint::Truncate } else { Checkpoint::Passive });
    }

    /// Notes the head and checkpoints; failing on the disk ends the store, as in a commit.
    fn tidy(&mut self, mode: Checkpoint) {
        if self.core.alive().is_err() {
            return;
        }
        if self.checked < self.tip.lsn {
            let noted = self
                .execute("BEGIN IMMEDIATE")
                .and_then(|()| self.note_checked(&self.tip))
                .and_then(|()| self.execute("COMMIT"));
            match noted {
                Ok(()) => self.checked = self.tip.lsn,
                Err(error) => self.fail(Vec::new(), error),
            }
        }
        self.checkpoint_or_die(mode);
    }

    fn checkpoint_or_die(&mut self, mode: Checkpoint) {
        match self.checkpoint(mode) {
            Ok(stats) => tracing::trace!(?stats, "checkpoint"),
            Err(error @ (Error::Fatal(_) | Error::Corrupt { .. })) => self.fail(Vec::new(), error),
            Err(error) => tracing::warn!(%error, "a checkpoint failed; the next one tries again"),
        }
    }

    fn checkpoint(&mut self, mode: Checkpoint) -> Result<CheckpointStats, Error> {
        let sql = match mode {
            Checkpoint::Passive => "PRAGMA wal_checkpoint(PASSIVE)",
            Checkpoint::Truncate => "PRAGMA wal_checkpoint(TRUNCATE)",
        };
        let count = |row: &rusqlite::Row<'_>, at| row.get::<_, i64>(at).map(|count| u64::try_from(count).unwrap_or(0));
        let read = |row: &rusqlite::Row<'_>| {
            Ok(CheckpointStats { complete: row.get::<_, i64>(0)? == 0, pages: count(row, 1)?, moved: count(row, 2)? })
        };
        if mode == Checkpoint::Truncate {
            self.room.forget();
        }
        let mut stats = self.connection.query_row(sql, [], read).map_err(db)?;
        stats.complete &= stats.pages == stats.moved;
        if mode == Checkpoint::Truncate && stats.complete {
            self.wal.store(0, Ordering::Relaxed);
        }
        self.due = if stats.complete { MOVE_AT } else { stats.pages + MOVE_AT };
        Ok(stats)
    }

    fn finish(&mut self) {
        self.tidy(Checkpoint::Truncate);
    }
}

fn refuse(job: Job, reason: &Error) {
    match job {
        Job::Commit(batch, waiter) => waiter.answer(Err(reason.clone()), batch),
        Job::Checkpoint(_, waiter) => {
            if waiter.try_send(Err(reason.clone())).is_err() {
                tracing::debug!("a caller stopped waiting for its checkpoint");
            }
        }
        Job::Index { waiter, .. } => {
            if waiter.try_send(Err(reason.clone())).is_err() {
                tracing::debug!("a caller stopped waiting for the index");
            }
        }
        Job::Close => {}
    }
}

#[cfg(test)]
mod tests;
