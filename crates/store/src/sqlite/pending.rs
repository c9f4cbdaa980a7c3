//! Committed batches that are not yet in SQLite: the batches in order, and the resulting rows for readers.
//!
//! Two layers allow commits while the older one is being written. Readers check the newer one first.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use switchboard_protocol::event::Lsn;

use crate::prepared::{Draft, Prepared};
use crate::record::{Body, Record};
use crate::schema::Schema;
use crate::write::{Plan, Remembered};
use crate::{Cell, Change, Error, Key, Row, Table};

/// Maximum number of cached rows; beyond that all are dropped.
const MAX_ROWS: usize = 1024;

/// A batch that was decided.
pub(super) struct Decided {
    pub(super) batch: Prepared,
    pub(super) plan: Box<Plan>,
}

/// Combined result of some batches.
#[derive(Debug, Clone, Default)]
pub(super) struct Layer {
    tables: Images,
    revs: HashMap<String, u64>,
    calls: HashMap<(String, String), Remembered>,
    cursors: HashMap<String, Lsn>,
    drops_bodies: bool,
}

/// State of a row after batches.
#[derive(Debug, Clone, Default)]
pub(super) struct Image {
    /// The row; `None` if it was removed.
    pub(super) row: Option<Row>,
    /// The single change that produced it from the row in SQLite; applying it there is cheaper than writing the whole
    /// row.
    pub(super) change: Option<Change>,
}

/// Rows by table and key.
pub(super) type Images = BTreeMap<&'static str, HashMap<Key, Image>>;

// === impl Layer ===

impl Layer {
    /// Returns the current state of a row, if it was changed.
    pub(super) fn row(&self, table: &Table, key: &[Cell]) -> Option<&Option<Row>> {
        self.tables.get(table.name)?.get(key).map(|image| &image.row)
    }

    /// Replaces images by newer ones.
    fn see(&mut self, images: Images) {
        for (table, rows) in images {
            let known = self.tables.entry(table).or_default();
            for (key, image) in rows {
                match known.entry(key) {
                    Entry::Vacant(place) => drop(place.insert(image)),
                    Entry::Occupied(mut place) => *place.get_mut() = Image { change: None, ..image },
                }
            }
        }
    }

    /// Returns all changed rows, by table and key.
    pub(super) fn images(&self) -> impl Iterator<Item = (&'static str, &Key, &Image)> {
        self.tables.iter().flat_map(|(table, rows)| {
            let mut rows: Vec<_> = rows.iter().collect();
            rows.sort_unstable_by_key(|(key, _)| *key);
            rows.into_iter().map(|(key, image)| (*table, key, image))
        })
    }

    /// Returns all changed rows that exist, in no particular order.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&'static str, &Row)> {
        self.tables
            .iter()
            .flat_map(|(table, rows)| rows.values().filter_map(|image| Some((*table, image.row.as_ref()?))))
    }

    /// Returns the keys of all changed rows.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&'static str, &Key)> {
        self.tables.iter().flat_map(|(table, rows)| rows.keys().map(|key| (*table, key)))
    }

    /// Returns true if a row of the table was changed.
    pub(super) fn touches(&self, table: &str) -> bool {
        self.tables.contains_key(table)
    }

    pub(super) fn rev(&self, subject: &str) -> Option<u64> {
        self.revs.get(subject).copied()
    }

    pub(super) fn call(&self, caller: &str, key: &str) -> Option<&Remembered> {
        if self.calls.is_empty() {
            return None;
        }
        self.calls.get(&(caller.to_owned(), key.to_owned()))
    }

    pub(super) fn cursor(&self, name: &str) -> Option<Lsn> {
        self.cursors.get(name).copied()
    }

    /// Adds the result of a batch.
    pub(super) fn take(&mut self, decided: &Decided, images: Images) {
        self.see(images);
        for draft in &decided.batch.drafts {
            self.revs.insert(draft.event.subject.clone(), draft.event.rev);
        }
        self.drops_bodies |= !decided.batch.drop_bodies.is_empty();
        for (name, lsn) in &decided.batch.cursors {
            let at = self.cursors.entry(name.clone()).or_default();
            *at = (*at).max(*lsn);
        }
        if let Some(call) = &decided.plan.call {
            self.calls.insert((call.caller.clone(), call.key.clone()), call.clone());
        }
    }

    /// Merges a newer layer into this one.
    fn cover(&mut self, newer: Self) {
        self.see(newer.tables);
        self.revs.extend(newer.revs);
        self.calls.extend(newer.calls);
        self.drops_bodies |= newer.drops_bodies;
        for (name, lsn) in newer.cursors {
            let at = self.cursors.entry(name).or_default();
            *at = (*at).max(lsn);
        }
    }
}

/// An event, with its body if requested.
type Logged = (Record, Option<Body>);

/// Batches that are being written to SQLite, and their result.
pub(super) struct Older {
    pub(super) decided: Vec<Decided>,
    pub(super) layer: Layer,
}

/// Rows that were read from SQLite and have not changed since. SQLite would read their pages again after each of its
/// transactions.
#[derive(Default)]
struct Seen {
    rows: HashMap<&'static str, HashMap<Key, Row>>,
    count: usize,
}

/// Committed batches that are not yet in SQLite; see the module.
#[derive(Default)]
pub(super) struct Pending {
    seen: Seen,
    newer: Layer,
    /// Batches that are being written to SQLite now.
    older: Option<Arc<Older>>,
    queue: Vec<Decided>,
    bytes: usize,
    /// Number and bytes of batches whose write failed, while it is being retried.
    retried: (usize, usize),
    has_failed: bool,
    /// Last event in SQLite.
    flushed: Lsn,
    /// True if the flusher sleeps until there is work.
    pub(super) is_asleep: bool,
    /// Number of additions so far. If it has not changed since an earlier read, nothing was added.
    pub(super) count: u64,
    pub(super) is_closing: bool,
}

// === impl Seen ===

impl Seen {
    fn find(&self, table: &str, key: &[Cell]) -> Option<&Row> {
        self.rows.get(table)?.get(key)
    }

    fn keep(&mut self, table: &'static str, key: &[Cell], row: Row) {
        if self.count >= MAX_ROWS {
            *self = Self::default();
        }
        self.count += usize::from(self.rows.entry(table).or_default().insert(key.to_vec(), row).is_none());
    }

    fn forget(&mut self, table: &str, key: &[Cell]) {
        let gone = self.rows.get_mut(table).and_then(|rows| rows.remove(key));
        self.count -= usize::from(gone.is_some());
    }
}

// === impl Pending ===

impl Pending {
    pub(super) fn after(flushed: Lsn) -> Self {
        Self { flushed, ..Self::default() }
    }

    /// Queries the newest layer that has an answer.
    pub(super) fn find<'a, T>(&'a self, ask: impl Fn(&'a Layer) -> Option<T>) -> Option<T> {
        ask(&self.newer).or_else(|| self.older.as_deref().and_then(|older| ask(&older.layer)))
    }

    /// Returns the current state of a row, if it is pending or cached.
    pub(super) fn row(&self, table: &Table, key: &[Cell]) -> Option<Option<&Row>> {
        self.find(|layer| layer.row(table, key).map(Option::as_ref))
            .or_else(|| self.seen.find(table.name, key).map(Some))
    }

    /// Caches a row that was read from SQLite, unless something was added since `count` was read.
    pub(super) fn cache_row(&mut self, count: u64, table: &'static str, key: &[Cell], row: Row) {
        if self.count == count {
            self.seen.keep(table, key, row);
        }
    }

    /// Drops the cached rows.
    pub(super) fn shrink(&mut self) {
        self.seen = Seen::default();
    }

    pub(super) fn touches(&self, table: &str) -> bool {
        self.newer.touches(table) || self.older.as_deref().is_some_and(|older| older.layer.touches(table))
    }

    /// Returns true if SQLite has the current state of everything up to an event.
    pub(super) fn has_flushed(&self, lsn: Lsn) -> bool {
        lsn <= self.flushed && self.find(|layer| layer.drops_bodies.then_some(())).is_none()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.older.is_none()
    }

    /// Returns the number and bytes of waiting batches. A failed write counts while it is retried, since each retry
    /// would otherwise admit as much again.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.queue.len() + self.retried.0, self.bytes + self.retried.1)
    }

    /// Adds committed batches with their result.
    pub(super) fn add(&mut self, decided: Vec<Decided>, layer: Layer) {
        layer.keys().for_each(|(table, key)| self.seen.forget(table, key));
        self.newer.cover(layer);
        self.bytes += decided.iter().map(|one| one.batch.bytes).sum::<usize>();
        self.queue.extend(decided);
        self.count += 1;
    }

    /// Returns at most `most` events after `from` that SQLite may lack, with the last event in SQLite; `None` if a body
    /// is about to be dropped.
    pub(super) fn events(&self, from: Lsn, most: usize, bodies: bool) -> Option<(Vec<Logged>, Lsn)> {
        if self.find(|layer| layer.drops_bodies.then_some(())).is_some() {
            return None;
        }
        let from = from.max(self.flushed);
        let older = self.older.iter().flat_map(|older| &older.decided);
        let drafts = older.chain(&self.queue).flat_map(|one| &one.batch.drafts);
        let events = drafts.filter(|draft| draft.event.lsn > from).take(most);
        let body = |draft: &Draft| draft.body.as_ref().filter(|_| bodies).cloned();
        Some((events.map(|draft| (draft.entry().to_record(), body(draft))).collect(), self.flushed))
    }

    /// Returns the bodies of those events that SQLite may lack, with the last event in SQLite; `None` if a body is
    /// about to be dropped.
    pub(super) fn bodies(&self, lsns: &[Lsn]) -> Option<(BTreeMap<Lsn, String>, Lsn)> {
        if self.find(|layer| layer.drops_bodies.then_some(())).is_some() {
            return None;
        }
        let wanted: BTreeSet<Lsn> = lsns.iter().copied().filter(|lsn| *lsn > self.flushed).collect();
        if wanted.is_empty() {
            return Some((BTreeMap::new(), self.flushed));
        }
        let older = self.older.iter().flat_map(|older| &older.decided);
        let drafts = older.chain(&self.queue).flat_map(|one| &one.batch.drafts);
        let drafts = drafts.filter(|draft| wanted.contains(&draft.event.lsn));
        let texts = drafts.filter_map(|draft| Some((draft.event.lsn, draft.body.as_ref()?.text.clone())));
        Some((texts.collect(), self.flushed))
    }

    /// Returns the events of a subject that SQLite may lack, after one of its revisions, with the last event in SQLite.
    pub(super) fn events_of(&self, subject: &str, after: u64) -> (Vec<Record>, Lsn) {
        if self.find(|layer| layer.rev(subject)).is_none() {
            return (Vec::new(), self.flushed);
        }
        let older = self.older.iter().flat_map(|older| &older.decided);
        let drafts = older.chain(&self.queue).flat_map(|one| &one.batch.drafts);
        let wanted = |draft: &&Draft| {
            draft.event.rev > after && draft.event.lsn > self.flushed && draft.event.subject == subject
        };
        (drafts.filter(wanted).map(|draft| draft.entry().to_record()).collect(), self.flushed)
    }

    /// Returns the batches to write to SQLite, which stay visible meanwhile; `None` if everything is written.
    pub(super) fn begin(&mut self) -> Option<Arc<Older>> {
        if self.queue.is_empty() || self.older.is_some() {
            return None;
        }
        if self.has_failed {
            self.retried = (self.queue.len(), self.bytes);
        }
        self.bytes = 0;
        let (decided, layer) = (std::mem::take(&mut self.queue), std::mem::take(&mut self.newer));
        let older = Arc::new(Older { decided, layer });
        self.older = Some(Arc::clone(&older));
        Some(older)
    }

    /// Records that the batches were written.
    pub(super) fn done(&mut self, upto: Lsn) {
        self.older = None;
        (self.retried, self.has_failed) = ((0, 0), false);
        self.flushed = self.flushed.max(upto);
    }

    /// Returns failed batches to the queue, before those that were added meanwhile. The caller must have dropped its
    /// reference to them.
    pub(super) fn failed(&mut self) {
        let Some(Older { decided, mut layer }) = self.older.take().and_then(Arc::into_inner) else { return };
        (self.retried, self.has_failed) = ((0, 0), true);
        layer.cover(std::mem::take(&mut self.newer));
        self.newer = layer;
        self.bytes += decided.iter().map(|one| one.batch.bytes).sum::<usize>();
        self.queue.splice(0..0, decided);
    }
}

/// Returns the rows that result from changes in this order; `now` returns the current state of a row.
pub(super) fn images(
    changes: Vec<Change>,
    schema: &Schema,
    mut now: impl FnMut(&'static Table, &[Cell]) -> Result<Option<Row>, Error>,
) -> Result<Images, Error> {
    let mut images = Images::new();
    for change in changes {
        let table = schema.table(change.table())?;
        let rows = images.entry(table.name).or_default();
        match rows.entry(change.key(table)) {
            Entry::Occupied(mut image) => {
                let image = image.get_mut();
                change.make(table, &mut image.row);
                image.change = None;
            }
            Entry::Vacant(place) if change.is_relative() => {
                let mut row = now(table, place.key())?;
                change.make(table, &mut row);
                place.insert(Image { row, change: Some(change) });
            }
            Entry::Vacant(place) => {
                place.insert(Image { row: change.into_row(table), change: None });
            }
        }
    }
    Ok(images)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Column;

    static TABLE: Table =
        Table { name: "agents", columns: &[Column::text("name")], key: &["name"], indexes: &[], sparse: &[] };

    fn row(name: &str) -> Row {
        Row::from_iter([("name", Cell::from(name))])
    }

    fn layer(name: &str) -> Layer {
        let image = Image { row: Some(row("changed")), change: None };
        let mut layer = Layer::default();
        layer.see(Images::from([(TABLE.name, HashMap::from([(vec![Cell::from(name)], image)]))]));
        layer
    }

    #[test]
    fn a_row_that_was_read_is_known_until_a_commit_touches_it() {
        let mut pending = Pending::default();
        let key = [Cell::from("ann")];
        pending.cache_row(0, TABLE.name, &key, row("ann"));
        assert_eq!(pending.row(&TABLE, &key), Some(Some(&row("ann"))));

        pending.add(Vec::new(), layer("bob"));
        assert_eq!(pending.row(&TABLE, &key), Some(Some(&row("ann"))));

        pending.add(Vec::new(), layer("ann"));
        pending.newer = Layer::default();
        assert_eq!(pending.row(&TABLE, &key), None);
    }

    #[test]
    fn a_row_that_was_read_before_a_commit_is_not_taken_for_what_it_is_after_it() {
        let mut pending = Pending::default();
        let key = [Cell::from("ann")];
        let count = pending.count;
        pending.add(Vec::new(), layer("ann"));
        pending.newer = Layer::default();

        pending.cache_row(count, TABLE.name, &key, row("ann"));

        assert_eq!(pending.row(&TABLE, &key), None);
    }

    #[test]
    fn what_was_read_is_bounded() {
        let mut pending = Pending::default();
        for number in 0..10 * MAX_ROWS {
            pending.cache_row(0, TABLE.name, &[Cell::from(number as i64)], row("ann"));
        }

        assert!(pending.seen.count <= MAX_ROWS);
        assert_eq!(pending.seen.count, pending.seen.rows[TABLE.name].len());
    }
}
