//! Lease book of a store: every decision about leases goes through it.

use std::sync::atomic::{AtomicI64, Ordering};

use switchboard_pipeline::lease::{Book, Claim};
use switchboard_protocol::event::{Event, Lsn, NewEvent};
use switchboard_protocol::id::AgentName;
use switchboard_protocol::lease::{Ending, LeaseEvent, LeaseId, Resource, SUBJECT};
use switchboard_store::{Batch, Committed, Durability, Guard, Query, Row, Store};
use tokio::sync::{Mutex, MutexGuard};

use super::clock::{LeaseClock, Uptime};
use super::refusal;
use crate::Error;
use crate::agents::AGENTS;
use crate::leases::{CLOCK, LEASES, PARTS};

/// Maximum number of leases ended by one commit.
const SWEEP: usize = 512;
/// Number of events read at once when the book is behind.
const PAGE: usize = 1_000;
/// Maximum difference between the store's time and the leases' clock, in milliseconds, before it counts as a jump.
const JUMP_MS: i64 = 1_000;
/// Maximum number of attempts at a decision that races with another.
pub(super) const ATTEMPTS: u32 = 16;

/// Live leases, folded from the store and kept in memory.
///
/// A daemon has one. A second one on the same store is safe, because a decision of a book is only committed if
/// the book has folded all events about leases.
pub struct LeaseBook {
    pub(super) store: Store,
    clock: LeaseClock,
    /// Difference by which the store's time was ahead of the leases' clock when both were last recorded in the log.
    ahead: AtomicI64,
    // Held during the commit of a decision: a concurrent decision could only end in a conflict.
    folded: Mutex<Folded>,
}

/// Book, and the position in the log up to which it is folded.
#[derive(Debug)]
pub(super) struct Folded {
    pub(super) book: Book,
    /// Revision of [`SUBJECT`] up to which its events are folded.
    pub(super) rev: u64,
    /// Position of the last departure of an agent that was folded.
    left: Lsn,
}

// === impl LeaseBook ===

impl LeaseBook {
    /// Takes over the leases of the previous daemon, right after the store was opened. Their time continues from the
    /// last event of the log, so time without a daemon doesn't count.
    ///
    /// # Errors
    /// When the store can't be read or written.
    pub async fn open(store: Store, uptime: Uptime) -> Result<Self, Error> {
        let folded = Folded { book: stored(&store)?, rev: store.rev(SUBJECT)?, left: 0 };
        let clock = LeaseClock::resume(uptime, stood_at(&store)?);
        let this = Self { store, clock, ahead: AtomicI64::new(0), folded: Mutex::new(folded) };
        this.ahead.store(this.ahead(), Ordering::Relaxed);
        let mut folded = this.lock().await?;
        if !folded.book.is_empty() {
            let resumed = LeaseEvent::LeasesResumed { at: this.now() };
            this.commit(&mut folded, Batch::new(Durability::Written), "daemon", &[resumed]).await?;
        }
        drop(folded);
        Ok(this)
    }

    /// Records the state of the leases' clock if the store's time has jumped: otherwise the next daemon, which only has
    /// the times of events, would count the jump as elapsed time. Call it at once after a change. Returns true if there
    /// was a jump.
    ///
    /// # Errors
    /// When the store can't be read or written.
    pub async fn follow_time(&self) -> Result<bool, Error> {
        if !self.has_jumped(self.ahead()) {
            return Ok(false);
        }
        let mut folded = self.folded.lock().await;
        self.catch_up(&mut folded)?;
        self.note_jump(&mut folded).await
    }

    async fn note_jump(&self, folded: &mut Folded) -> Result<bool, Error> {
        let ahead = self.ahead();
        if !self.has_jumped(ahead) {
            return Ok(false);
        }
        if !folded.book.is_empty() {
            let resumed = LeaseEvent::LeasesResumed { at: self.now() };
            self.commit(folded, Batch::new(Durability::Synced), "daemon", &[resumed]).await?;
        }
        self.ahead.store(ahead, Ordering::Relaxed);
        Ok(true)
    }

    fn has_jumped(&self, ahead: i64) -> bool {
        ahead.abs_diff(self.ahead.load(Ordering::Relaxed)) > JUMP_MS.unsigned_abs()
    }

    fn ahead(&self) -> i64 {
        self.store.now().0.saturating_sub(i64::try_from(self.now()).unwrap_or(i64::MAX))
    }

    /// Ends the leases whose time is up or whose holder has left; returns their number.
    ///
    /// # Errors
    /// When the store can't be read or written.
    pub async fn sweep(&self) -> Result<usize, Error> {
        let mut folded = self.lock().await?;
        self.swept(&mut folded, self.now()).await
    }

    /// Returns the guard that a lease was not granted to another agent meanwhile.
    #[must_use]
    pub fn guard(id: &LeaseId, token: u64) -> Guard {
        Guard::equals(LEASES, [id.as_str().into()], "token", token, refusal::lost(id))
    }

    /// Returns the time of the leases' own clock.
    pub(super) fn now(&self) -> u64 {
        self.clock.now()
    }

    /// Returns the book with all events up to now. A jump of the time that is not recorded yet is recorded first.
    pub(super) async fn lock(&self) -> Result<MutexGuard<'_, Folded>, Error> {
        let mut folded = self.folded.lock().await;
        self.catch_up(&mut folded)?;
        self.note_jump(&mut folded).await?;
        Ok(folded)
    }

    /// Folds the events that others have committed since.
    pub(super) fn catch_up(&self, folded: &mut Folded) -> Result<(), Error> {
        if self.store.rev(SUBJECT)? != folded.rev {
            self.read_on(folded)?;
        }
        for row in self.store.read(&Query::table(AGENTS).gt("left_lsn", folded.left).asc("left_lsn"))? {
            let left = row.try_u64("left_lsn")?;
            folded.book.holder_left(row.try_text("id")?, left);
            folded.left = left;
        }
        Ok(())
    }

    fn read_on(&self, folded: &mut Folded) -> Result<(), Error> {
        loop {
            let events = self.store.events_of(SUBJECT, folded.rev, PAGE)?;
            for event in &events {
                folded.take_in(event)?;
            }
            if events.len() < PAGE {
                return Ok(());
            }
        }
    }

    /// Commits a decision on the present book, and folds it.
    pub(super) async fn commit(
        &self,
        folded: &mut Folded,
        batch: Batch,
        actor: &str,
        events: &[LeaseEvent],
    ) -> Result<Committed, Error> {
        let mut batch = batch.expect(SUBJECT, folded.rev);
        for event in events {
            batch = batch.event(NewEvent::of(event, SUBJECT, actor)?);
        }
        let committed = self.store.commit(batch).await?;
        if !committed.repeated {
            for (lsn, event) in (committed.first..).zip(events) {
                folded.book.fold(lsn, event).map_err(bad)?;
                folded.rev += 1;
            }
        }
        Ok(committed)
    }

    /// Ends the leases that are over, in bounded batches.
    pub(super) async fn swept(&self, folded: &mut Folded, now: u64) -> Result<usize, Error> {
        let (mut count, mut conflicts) = (0, 0);
        loop {
            let over: Vec<_> =
                folded.book.lapsed(now).take(SWEEP).map(|claim| ended(claim, claim.ending, now)).collect();
            if over.is_empty() {
                return Ok(count);
            }
            match self.commit(folded, Batch::new(Durability::Written), "daemon", &over).await {
                Ok(_) => count += over.len(),
                Err(Error::Store(switchboard_store::Error::Conflict { .. })) if conflicts < ATTEMPTS => {
                    conflicts += 1;
                    self.catch_up(folded)?;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Returns the event that ends a lease.
pub(super) fn ended(claim: &Claim, ending: Ending, at: u64) -> LeaseEvent {
    LeaseEvent::LeaseEnded { id: claim.id.clone(), at, ending, parts: claim.parts }
}

// === impl Folded ===

impl Folded {
    fn take_in(&mut self, event: &Event) -> Result<(), Error> {
        if let Some(fact) = event.fact::<LeaseEvent>() {
            self.book.fold(event.lsn, &fact).map_err(bad)?;
        }
        self.rev = event.rev;
        Ok(())
    }
}

fn bad(error: switchboard_pipeline::lease::BadGlob) -> Error {
    Error::BadRow { what: "a lease", text: error.to_string() }
}

/// Returns the book stored in the tables.
fn stored(store: &Store) -> Result<Book, Error> {
    let mut book = Book::default();
    for row in store.read(&Query::table(LEASES).asc("token"))? {
        let mut claim = claim(&row)?;
        for part in store.read(&Query::table(PARTS).eq("lease", claim.id.as_str()).asc("part"))? {
            claim.parts += 1;
            if let (Resource::Files(globs), Resource::Files(more)) = (&mut claim.resource, resource(&part, "globs")?) {
                globs.extend(more);
            }
        }
        book.insert(claim).map_err(bad)?;
    }
    Ok(book)
}

fn claim(row: &Row) -> Result<Claim, Error> {
    let text = |column: &'static str| row.try_text(column);
    let bad = |what, text: &str| Error::BadRow { what, text: text.to_owned() };
    Ok(Claim {
        id: LeaseId::new(text("id")?).map_err(|_| bad("a lease's id", "id"))?,
        holder: AgentName::new(text("holder")?).map_err(|_| bad("a lease's holder", "holder"))?,
        resource: resource(row, "resource")?,
        mode: serde_json::from_value(text("mode")?.into())?,
        deadline: row.try_u64("deadline")?,
        span: row.try_u64("span")?,
        token: row.try_u64("token")?,
        reason: text("reason")?.to_owned(),
        parts: 0,
        ending: Ending::Lapsed,
    })
}

fn resource(row: &Row, column: &str) -> Result<Resource, Error> {
    Ok(serde_json::from_str(row.try_text(column)?)?)
}

/// Returns the state of the leases' clock at the last event of the log.
fn stood_at(store: &Store) -> Result<u64, Error> {
    let Some(row) = store.get(CLOCK, &["leases".into()])? else { return Ok(0) };
    let last = store.event(store.head().lsn)?.map_or(0, |event| event.ts.0);
    let since = u64::try_from(last.saturating_sub(row.try_int("ts")?)).unwrap_or(0);
    Ok(row.try_u64("at")?.saturating_add(since))
}
