//! Subscriptions to commits: a commit wakes only the readers that wait for something it changed.
//!
//! A reader subscribes first, then reads, then waits. The writer makes a commit visible first, then looks up the
//! waiting readers. Whichever comes first, the reader either reads the commit or is woken by it.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use switchboard_protocol::event::Lsn;
use tokio::sync::Notify;

use crate::core::lock;
use crate::prepared::Draft;
use crate::{Cell, Error, Row};

/// Maximum number of interests that are tracked; readers beyond that are woken by every commit.
const MAX_INTERESTS: usize = 8_192;

/// What a reader waits for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Interest {
    /// Every commit.
    Everything,
    /// Events of exactly this subject.
    Subject(String),
    /// Events of subjects with this prefix.
    Prefix(String),
    /// Events of this kind.
    Kind(String),
    /// Rows of a projected table that have this value in this column after the commit. Rows that a commit deletes don't count.
    Rows {
        /// Name of the table.
        table: &'static str,
        /// Name of the column.
        column: &'static str,
        /// Value in the column.
        value: Cell,
    },
}

// === impl Interest ===

impl Interest {
    /// Creates an interest in rows whose column has this value.
    #[must_use]
    pub fn rows(table: &'static str, column: &'static str, value: impl Into<Cell>) -> Self {
        Self::Rows { table, column, value: value.into() }
    }
}

/// The writer's view of a subscription.
#[derive(Debug, Default)]
pub(crate) struct Doorbell {
    /// Lsn of the last matching event in the newest commit.
    lsn: AtomicU64,
    is_closed: AtomicBool,
    notify: Notify,
}

// === impl Doorbell ===

impl Doorbell {
    fn ring(&self, lsn: Lsn) {
        self.lsn.fetch_max(lsn, Ordering::AcqRel);
        self.notify.notify_one();
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.notify.notify_one();
    }
}

/// All subscriptions of a store.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    book: Mutex<Book>,
    /// Number of interests in the book; a commit that reads 0 skips the lookup.
    count: AtomicUsize,
}

type Doorbells = Vec<Arc<Doorbell>>;

/// Doorbells by interest.
#[derive(Debug, Default)]
struct Book {
    everything: Doorbells,
    subjects: HashMap<String, Doorbells>,
    prefixes: HashMap<String, Doorbells>,
    /// Number of prefixes by their length.
    lengths: BTreeMap<usize, usize>,
    kinds: HashMap<String, Doorbells>,
    rows: HashMap<(&'static str, &'static str), HashMap<Cell, Doorbells>>,
    is_closed: bool,
}

/// Doorbells that a commit will ring, with the lsn to report.
pub(crate) type Due = Vec<(Arc<Doorbell>, Lsn)>;

// === impl Waiters ===

impl Waiters {
    /// Subscribes to several interests at once.
    pub(crate) fn subscribe(self: &Arc<Self>, interests: Vec<Interest>) -> Subscription {
        let bell = Arc::new(Doorbell::default());
        let mut book = lock(&self.book);
        let has_room = self.count.load(Ordering::Relaxed) + interests.len() <= MAX_INTERESTS;
        let interests = if has_room { interests } else { vec![Interest::Everything] };
        for interest in &interests {
            book.add(interest, &bell);
        }
        self.count.fetch_add(interests.len(), Ordering::Release);
        if book.is_closed {
            bell.close();
        }
        drop(book);
        Subscription { waiters: Arc::clone(self), bell, interests, seen: 0 }
    }

    /// Collects the doorbells that match a commit. The new end of the log must already be published and visible to new
    /// readers, so the caller holds the lock that readers take.
    pub(crate) fn due<'a>(
        &self,
        drafts: impl Iterator<Item = &'a Draft>,
        rows: impl Iterator<Item = (&'static str, &'a Row)>,
        due: &mut Due,
    ) {
        if self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        let book = lock(&self.book);
        let mut last = 0;
        for draft in drafts {
            last = draft.event.lsn;
            let bells = book.of_event(&draft.event.subject, &draft.event.kind);
            due.extend(bells.map(|bell| (Arc::clone(bell), last)));
        }
        if last == 0 {
            return;
        }
        due.extend(book.everything.iter().map(|bell| (Arc::clone(bell), last)));
        if !book.rows.is_empty() {
            for (table, row) in rows {
                due.extend(book.of_row(table, row).map(|bell| (Arc::clone(bell), last)));
            }
        }
    }

    /// Rings doorbells.
    pub(crate) fn ring(due: Due) {
        for (bell, lsn) in due {
            bell.ring(lsn);
        }
    }

    /// Wakes all readers, because the store has ended.
    pub(crate) fn close(&self) {
        let mut book = lock(&self.book);
        book.is_closed = true;
        book.all().for_each(|bell| bell.close());
    }
}

// === impl Book ===

impl Book {
    fn add(&mut self, interest: &Interest, bell: &Arc<Doorbell>) {
        let bell = Arc::clone(bell);
        match interest {
            Interest::Everything => self.everything.push(bell),
            Interest::Subject(subject) => self.subjects.entry(subject.clone()).or_default().push(bell),
            Interest::Prefix(prefix) => {
                let bells = self.prefixes.entry(prefix.clone()).or_default();
                if bells.is_empty() {
                    *self.lengths.entry(prefix.len()).or_default() += 1;
                }
                bells.push(bell);
            }
            Interest::Kind(kind) => self.kinds.entry(kind.clone()).or_default().push(bell),
            Interest::Rows { table, column, value } => {
                let values = self.rows.entry((table, column)).or_default();
                values.entry(value.clone()).or_default().push(bell);
            }
        }
    }

    fn remove(&mut self, interest: &Interest, bell: &Arc<Doorbell>) {
        match interest {
            Interest::Everything => self.everything.retain(|other| !Arc::ptr_eq(other, bell)),
            Interest::Subject(subject) => drop(take_out(&mut self.subjects, subject, bell)),
            Interest::Prefix(prefix) => {
                if take_out(&mut self.prefixes, prefix, bell)
                    && let Some(count) = self.lengths.get_mut(&prefix.len())
                {
                    *count -= 1;
                    if *count == 0 {
                        self.lengths.remove(&prefix.len());
                    }
                }
            }
            Interest::Kind(kind) => drop(take_out(&mut self.kinds, kind, bell)),
            Interest::Rows { table, column, value } => {
                let place = (*table, *column);
                if let Some(values) = self.rows.get_mut(&place) {
                    take_out(values, value, bell);
                    if values.is_empty() {
                        self.rows.remove(&place);
                    }
                }
            }
        }
    }

    fn of_event<'a>(&'a self, subject: &'a str, kind: &str) -> impl Iterator<Item = &'a Arc<Doorbell>> {
        let prefixes = self.lengths.keys().filter_map(|length| self.prefixes.get(subject.get(..*length)?));
        let bells = prefixes.chain(self.subjects.get(subject)).chain(self.kinds.get(kind));
        bells.flatten()
    }

    fn of_row<'a>(&'a self, table: &'static str, row: &'a Row) -> impl Iterator<Item = &'a Arc<Doorbell>> {
        let of_table = self.rows.iter().filter(move |((name, _), _)| *name == table);
        of_table.filter_map(|((_, column), values)| values.get(row.get(column))).flatten()
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Doorbell>> {
        let rows = self.rows.values().flat_map(HashMap::values);
        let by_name = self.subjects.values().chain(self.prefixes.values()).chain(self.kinds.values());
        by_name.chain(rows).flatten().chain(&self.everything)
    }
}

/// Removes a doorbell; returns true if it was the last one under its key.
fn take_out<K: Eq + Hash>(all: &mut HashMap<K, Doorbells>, key: &K, bell: &Arc<Doorbell>) -> bool {
    let Some(bells) = all.get_mut(key) else { return false };
    bells.retain(|other| !Arc::ptr_eq(other, bell));
    let is_last = bells.is_empty();
    if is_last {
        all.remove(key);
    }
    is_last
}

/// A reader that waits for commits. Subscribe, read, then wait: no commit in between is missed.
#[derive(Debug)]
pub struct Subscription {
    waiters: Arc<Waiters>,
    bell: Arc<Doorbell>,
    interests: Vec<Interest>,
    seen: Lsn,
}

// === impl Subscription ===

impl Subscription {
    /// Waits for a matching commit that this subscription has not returned yet; returns the lsn of its last matching
    /// event, or a later one. Commits between two calls are returned as one. Dropping the future loses nothing.
    ///
    /// # Errors
    /// [`Error::Closed`] when the store has ended.
    pub async fn changed(&mut self) -> Result<Lsn, Error> {
        loop {
            let lsn = self.bell.lsn.load(Ordering::Acquire);
            if lsn > self.seen {
                self.seen = lsn;
                return Ok(lsn);
            }
            if self.bell.is_closed.load(Ordering::Acquire) {
                return Err(Error::Closed);
            }
            self.bell.notify.notified().await;
        }
    }

    /// Marks everything up to an event as returned, so that events that were already read don't wake the reader again.
    pub fn mark_seen(&mut self, lsn: Lsn) {
        self.seen = self.seen.max(lsn);
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut book = lock(&self.waiters.book);
        for interest in &self.interests {
            book.remove(interest, &self.bell);
        }
        drop(book);
        self.waiters.count.fetch_sub(self.interests.len(), Ordering::Release);
    }
}
