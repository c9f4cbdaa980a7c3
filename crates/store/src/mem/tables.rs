//! The declared tables of a store in memory, with their indexes.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::query::{Condition, Direction, Op};
use crate::schema::Schema;
use crate::{Cell, Change, Error, Key, Query, Row, Table};

/// Declared tables in memory.
#[derive(PartialEq, Eq)]
pub(crate) struct Tables(BTreeMap<&'static str, Stored>);

/// A table, and its rows by key.
#[derive(PartialEq, Eq)]
struct Stored {
    table: &'static Table,
    rows: BTreeMap<Key, Row>,
    indexes: Vec<Index>,
}

/// The keys of all rows, indexed by some of their columns.
#[derive(PartialEq, Eq)]
struct Index {
    columns: &'static [&'static str],
    keys: BTreeSet<(Vec<Cell>, Key)>,
}

// === impl Index ===

impl Index {
    /// Returns the index entry of a row.
    fn entry(&self, row: &Row, key: &[Cell]) -> (Vec<Cell>, Key) {
        (self.columns.iter().map(|column| row.get(column).clone()).collect(), key.to_vec())
    }

    /// Returns the keys of the rows whose first columns have these values, in order.
    fn keys(&self, first: Vec<Cell>) -> Vec<&Key> {
        let first = (first, Key::new());
        let from = self.keys.range(&first..);
        let mut keys: Vec<_> = from.take_while(|(cells, _)| cells.starts_with(&first.0)).map(|(_, key)| key).collect();
        keys.sort_unstable();
        keys
    }

    /// Returns true if a change of an existing row may move its index entry.
    fn is_touched(&self, change: &Change) -> bool {
        match change {
            Change::Patch { set, .. } => set.iter().any(|(column, _)| self.columns.contains(column)),
            Change::Add { by, .. } => by.iter().any(|(column, _)| self.columns.contains(column)),
            Change::Put { .. } | Change::Delete { .. } => true,
        }
    }
}

// === impl Stored ===

impl Stored {
    fn new(table: &'static Table) -> Self {
        let indexes = table.indexes.iter().map(|columns| Index { columns, keys: BTreeSet::new() }).collect();
        Self { table, rows: BTreeMap::new(), indexes }
    }

    fn apply(&mut self, change: &Change) {
        let key = change.key(self.table);
        let mut row = self.rows.remove(&key);
        let was_there = row.is_some();
        let touched = |index: &&mut Index| !was_there || index.is_touched(change);
        if let Some(row) = &row {
            self.indexes.iter_mut().filter(touched).for_each(|index| {
                let entry = index.entry(row, &key);
                index.keys.remove(&entry);
            });
        }
        change.make(self.table, &mut row);
        let Some(row) = row else { return };
        self.indexes.iter_mut().filter(touched).for_each(|index| {
            let entry = index.entry(&row, &key);
            index.keys.insert(entry);
        });
        self.rows.insert(key, row);
    }

    /// Returns the rows that a query matches, sorted by key.
    fn matching<'a>(&'a self, query: &'a Query) -> Vec<&'a Row> {
        let matches = |row: &&Row| query.filter.iter().all(|condition| holds(condition, row));
        let required = |columns: &[&str]| first(query, columns).count();
        let best = self.indexes.iter().map(|index| (required(index.columns), index)).max_by_key(|(count, _)| *count);
        let of_key = required(self.table.key);
        match best {
            Some((count, index)) if count > of_key => {
                let first: Vec<_> = first(query, index.columns).cloned().collect();
                index.keys(first).into_iter().filter_map(|key| self.rows.get(key)).filter(matches).collect()
            }
            _ if of_key > 0 => {
                let of_key: Vec<_> = first(query, self.table.key).cloned().collect();
                let from = self.rows.range::<Key, _>(&of_key..).take_while(|(key, _)| key.starts_with(&of_key));
                from.map(|(_, row)| row).filter(matches).collect()
            }
            _ => self.rows.values().filter(matches).collect(),
        }
    }
}

/// Returns the values that a query requires of the leading columns, as many as it has.
fn first<'a>(query: &'a Query, columns: &[&str]) -> impl Iterator<Item = &'a Cell> {
    let value = |column: &&str| {
        query.filter.iter().find_map(|condition| match &condition.op {
            Op::Eq(cell) if condition.column == *column => Some(cell),
            Op::Eq(_) | Op::Ne(_) | Op::Lt(_) | Op::Le(_) | Op::Gt(_) | Op::Ge(_) | Op::In(_) => None,
        })
    };
    columns.iter().map_while(value)
}

// === impl Tables ===

impl Tables {
    /// Creates empty tables.
    pub(crate) fn new(schema: &Schema) -> Self {
        Self(schema.tables().map(|table| (table.name, Stored::new(table))).collect())
    }

    /// Changes a row; the change has been checked.
    pub(crate) fn apply(&mut self, change: &Change) -> Result<(), Error> {
        let stored = self.0.get_mut(change.table()).ok_or_else(|| unknown(change.table()))?;
        stored.apply(change);
        Ok(())
    }

    /// Returns the first table, by name, and its first key, in which two sets of tables differ.
    pub(crate) fn difference(&self, other: &Self) -> Option<(&'static str, Key)> {
        self.0.iter().find_map(|(name, Stored { rows, .. })| {
            let others = other.0.get(name).map(|stored| &stored.rows)?;
            let mut keys = rows.keys().chain(others.keys());
            keys.find(|key| rows.get(*key) != others.get(*key)).map(|key| (*name, key.clone()))
        })
    }

    /// Returns the total number of rows.
    pub(crate) fn len(&self) -> u64 {
        self.0.values().map(|stored| stored.rows.len() as u64).sum()
    }

    pub(super) fn left_by(&self, change: &Change) -> Option<&Row> {
        let stored = self.0.get(change.table())?;
        stored.rows.get(&change.key(stored.table))
    }

    pub(super) fn row(&self, table: &Table, key: &[Cell]) -> Option<Row> {
        self.found(table, key).cloned()
    }

    pub(super) fn found(&self, table: &Table, key: &[Cell]) -> Option<&Row> {
        self.0.get(table.name).and_then(|stored| stored.rows.get(key))
    }

    fn matching<'a>(&'a self, query: &'a Query) -> Result<Vec<&'a Row>, Error> {
        Ok(self.0.get(query.table).ok_or_else(|| unknown(query.table))?.matching(query))
    }

    pub(super) fn rows(&self, query: &Query) -> Result<Vec<Row>, Error> {
        let mut rows = self.matching(query)?;
        rows.sort_by(|a, b| compare(query, a, b));
        let skip = usize::try_from(query.offset).unwrap_or(usize::MAX);
        let take = query.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(rows.into_iter().skip(skip).take(take).cloned().collect())
    }

    pub(super) fn count(&self, query: &Query) -> Result<u64, Error> {
        Ok(self.matching(query)?.len() as u64)
    }
}

fn unknown(table: &str) -> Error {
    crate::schema::wrong(table, "is not declared")
}

fn holds(condition: &Condition, row: &Row) -> bool {
    let found = row.get(condition.column);
    let compares =
        |cell: &Cell, wanted: &[Ordering]| !found.is_null() && !cell.is_null() && wanted.contains(&found.cmp(cell));
    match &condition.op {
        Op::Eq(cell) => found == cell,
        Op::Ne(cell) => found != cell,
        Op::Lt(cell) => compares(cell, &[Ordering::Less]),
        Op::Le(cell) => compares(cell, &[Ordering::Less, Ordering::Equal]),
        Op::Gt(cell) => compares(cell, &[Ordering::Greater]),
        Op::Ge(cell) => compares(cell, &[Ordering::Greater, Ordering::Equal]),
        Op::In(cells) => !found.is_null() && cells.contains(found),
    }
}

/// Compares by the sort columns only; the rows are already sorted by key, and the sort is stable.
fn compare(query: &Query, a: &Row, b: &Row) -> Ordering {
    query.order.iter().fold(Ordering::Equal, |so_far, (column, direction)| {
        so_far.then_with(|| {
            let order = a.get(column).cmp(b.get(column));
            match direction {
                Direction::Asc => order,
                Direction::Desc => order.reverse(),
            }
        })
    })
}
