//! State that the handle, the writer and the readers of one store share.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use switchboard_protocol::event::Lsn;
use switchboard_protocol::time::Millis;
use tokio::sync::watch;

use crate::prepared::Draft;
use crate::record::Tip;
use crate::schema::Schema;
use crate::waiters::{Due, Waiters};
use crate::write::Rules;
use crate::{Clock, Error, Row};

/// State shared by all holders of a store.
pub(crate) struct Core {
    pub(crate) schema: Schema,
    pub(crate) chain_id: String,
    pub(crate) epoch: u64,
    clock: Clock,
    /// Time returned last, and the steady clock's reading then.
    latest: Mutex<(Millis, i64)>,
    tip: Mutex<Tip>,
    woken: watch::Sender<Lsn>,
    pub(crate) waiters: Arc<Waiters>,
    /// Doorbells of commits whose callers have not been answered yet.
    due: Mutex<Due>,
    dead: OnceLock<Error>,
}

// === impl Core ===

impl Core {
    pub(crate) fn new(schema: Schema, chain_id: String, epoch: u64, clock: Clock, tip: Tip) -> Self {
        Self {
            schema,
            chain_id,
            epoch,
            latest: Mutex::new((tip.ts, clock.read().steady)),
            clock,
            tip: Mutex::new(tip),
            woken: watch::Sender::new(tip.lsn),
            waiters: Arc::default(),
            due: Mutex::default(),
            dead: OnceLock::new(),
        }
    }

    /// Returns the rules of a commit.
    pub(crate) fn rules(&self) -> Rules<'_> {
        Rules { schema: &self.schema, chain_id: &self.chain_id, epoch: self.epoch }
    }

    /// Returns the time, which never goes back. If the time of day goes back, or was ahead when the log was written,
    /// time continues from there at its normal speed.
    pub(crate) fn now(&self) -> Millis {
        let moment = self.clock.read();
        let mut latest = lock(&self.latest);
        let (at, steady) = *latest;
        let now = moment.wall.max(at.plus(moment.steady.saturating_sub(steady).max(0)));
        *latest = (now, moment.steady.max(steady));
        now
    }

    /// Returns the end of what is committed.
    pub(crate) fn tip(&self) -> Tip {
        *lock(&self.tip)
    }

    /// Publishes a new end of the log and collects the doorbells of readers that wait for the committed events, before
    /// the callers are answered. The caller holds the backend's lock that readers take, so that a subscriber that comes
    /// too late to be found here reads the commit.
    pub(crate) fn publish<'a>(
        &self,
        tip: Tip,
        drafts: impl Iterator<Item = &'a Draft>,
        rows: impl Iterator<Item = (&'static str, &'a Row)>,
    ) {
        *lock(&self.tip) = tip;
        self.waiters.due(drafts, rows, &mut lock(&self.due));
    }

    /// Wakes the readers that wait for what was committed, after the callers are answered.
    pub(crate) fn wake(&self) {
        let lsn = self.tip().lsn;
        self.woken.send_if_modified(|seen| std::mem::replace(seen, lsn) != lsn);
        let due = std::mem::take(&mut *lock(&self.due));
        Waiters::ring(due);
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Lsn> {
        self.woken.subscribe()
    }

    /// Ends the store: every later call returns this error. The first reason is kept. A requested close is not logged.
    pub(crate) fn die(&self, reason: Error) {
        let is_asked_for = matches!(reason, Error::Closed);
        if self.dead.set(reason).is_ok() && !is_asked_for {
            tracing::error!(reason = %self.reason(), "the store stopped");
        }
        self.waiters.close();
    }

    /// Ends the store after an error that leaves the state on disk unknown; returns the error for the caller.
    pub(crate) fn judge(&self, error: Error) -> Error {
        if let Error::Corrupt { place, what } = &error {
            self.die(Error::Fatal(format!("{place}: {what}")));
        } else if matches!(error, Error::Fatal(_) | Error::Closed) {
            self.die(error);
        } else {
            return error;
        }
        self.reason()
    }

    /// Returns why the store ended.
    pub(crate) fn reason(&self) -> Error {
        self.dead.get().cloned().unwrap_or(Error::Closed)
    }

    /// Fails if the store has ended.
    pub(crate) fn alive(&self) -> Result<(), Error> {
        self.dead.get().map_or(Ok(()), |reason| Err(reason.clone()))
    }
}

/// Locks, even after a panic in another thread: the data behind these locks is consistent at every step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
