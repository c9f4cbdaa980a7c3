//! Declarations of a part: its tables, its pure projector, and how facts of older versions are lifted.

use serde_json::Value;
use switchboard_protocol::event::Event;

use crate::{Cell, Key, Row};

/// Type of a column; null is always allowed outside the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ty {
    /// Values are [`Cell::Int`].
    Int,
    /// Values are [`Cell::Text`].
    Text,
}

/// One column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Name of lower-case letters, digits and `_`, unique in its table.
    pub name: &'static str,
    /// Type of the column.
    pub ty: Ty,
}

impl Column {
    /// Creates a column of whole numbers.
    #[must_use]
    pub const fn int(name: &'static str) -> Self {
        Self { name, ty: Ty::Int }
    }

    /// Creates a column of text.
    #[must_use]
    pub const fn text(name: &'static str) -> Self {
        Self { name, ty: Ty::Text }
    }
}

/// One table, declared as a constant by the part that owns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// Name of lower-case letters, digits and `_`, unique among all parts.
    pub name: &'static str,
    /// All columns, including those of the key.
    pub columns: &'static [Column],
    /// Columns that identify a row; never null. Also the default order of rows.
    pub key: &'static [&'static str],
    /// Columns that queries filter and sort by, one list per index.
    pub indexes: &'static [&'static [&'static str]],
    /// Indexes on columns that are mostly null: rows whose first column is null are left out, so the index serves only
    /// comparisons with that column.
    pub sparse: &'static [&'static [&'static str]],
}

impl Table {
    /// Returns the column with this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&'static Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// One change of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Writes the whole row, replacing one with the same key; missing columns become null.
    Put {
        /// Name of the table.
        table: &'static str,
        /// The row, including its key.
        row: Row,
    },
    /// Sets some columns (none of the key) of a row; does nothing if there is no such row.
    Patch {
        /// Name of the table.
        table: &'static str,
        /// Key of the row.
        key: Key,
        /// New values by column.
        set: Vec<(&'static str, Cell)>,
    },
    /// Adds to numbers, where null and a missing row count as 0; a missing row is created. Saturates.
    Add {
        /// Name of the table.
        table: &'static str,
        /// Key of the row.
        key: Key,
        /// Amounts to add by column, each a column of numbers; negative to subtract.
        by: Vec<(&'static str, i64)>,
    },
    /// Removes a row; does nothing if there is none.
    Delete {
        /// Name of the table.
        table: &'static str,
        /// Key of the row.
        key: Key,
    },
}

impl Change {
    /// Creates a [`Change::Put`].
    #[must_use]
    pub fn put(table: &'static str, row: impl Into<Row>) -> Self {
        Self::Put { table, row: row.into() }
    }

    /// Creates a [`Change::Patch`].
    #[must_use]
    pub fn patch(
        table: &'static str,
        key: impl IntoIterator<Item = Cell>,
        set: impl IntoIterator<Item = (&'static str, Cell)>,
    ) -> Self {
        Self::Patch { table, key: key.into_iter().collect(), set: set.into_iter().collect() }
    }

    /// Creates a [`Change::Add`].
    #[must_use]
    pub fn add(
        table: &'static str,
        key: impl IntoIterator<Item = Cell>,
        by: impl IntoIterator<Item = (&'static str, i64)>,
    ) -> Self {
        Self::Add { table, key: key.into_iter().collect(), by: by.into_iter().collect() }
    }

    /// Creates a [`Change::Delete`].
    #[must_use]
    pub fn delete(table: &'static str, key: impl IntoIterator<Item = Cell>) -> Self {
        Self::Delete { table, key: key.into_iter().collect() }
    }

    /// Returns the table of the change.
    #[must_use]
    pub fn table(&self) -> &'static str {
        match self {
            Self::Put { table, .. }
            | Self::Patch { table, .. }
            | Self::Add { table, .. }
            | Self::Delete { table, .. } => table,
        }
    }
}

impl Change {
    /// Returns the key of the changed row.
    pub(crate) fn key(&self, of: &Table) -> Key {
        match self {
            Self::Put { row, .. } => of.key.iter().map(|name| row.get(name).clone()).collect(),
            Self::Patch { key, .. } | Self::Add { key, .. } | Self::Delete { key, .. } => key.clone(),
        }
    }

    /// Returns true if the result depends on the existing row.
    pub(crate) fn is_relative(&self) -> bool {
        matches!(self, Self::Patch { .. } | Self::Add { .. })
    }

    /// Returns the result for a missing row.
    pub(crate) fn into_row(self, of: &Table) -> Option<Row> {
        if let Self::Put { row, .. } = self {
            return Some(if row.len() == of.columns.len() { row } else { whole(of, &row) });
        }
        let mut row = None;
        self.make(of, &mut row);
        row
    }

    /// Applies the change to a row, or to none.
    pub(crate) fn make(&self, of: &Table, row: &mut Option<Row>) {
        match self {
            Self::Put { row: new, .. } => *row = Some(whole(of, new)),
            Self::Patch { set, .. } => {
                if let Some(row) = row {
                    set.iter().for_each(|(column, cell)| row.set(column, cell.clone()));
                }
            }
            Self::Add { key, by, .. } => {
                let row = row.get_or_insert_with(|| only_key(of, key));
                for (column, by) in by {
                    let sum = row.get_int(column).unwrap_or(0).saturating_add(*by);
                    row.set(column, sum);
                }
            }
            Self::Delete { .. } => *row = None,
        }
    }
}

/// Returns the row with every column of its table.
fn whole(table: &Table, row: &Row) -> Row {
    // Its columns have been checked, so the same number means that all are present.
    if row.len() == table.columns.len() {
        return row.clone();
    }
    table.columns.iter().map(|column| (column.name, row.get(column.name).clone())).collect()
}

fn only_key(table: &Table, key: &[Cell]) -> Row {
    let named: Row = table.key.iter().copied().zip(key.iter().cloned()).collect();
    whole(table, &named)
}

/// The tables and the pure projector of a part. The store runs the projector inside the transaction that appends the
/// event, and again over the whole log when the tables must be rebuilt, so it may use nothing but the event.
pub trait Projection: Send + Sync {
    /// Returns the tables; no other part's projector may write them.
    fn tables(&self) -> &'static [Table];

    /// Returns the row changes of one event, applied in order. The event has no body, because state must not depend
    /// on what retention may drop, and its facts are lifted to the newest version. Ignores kinds of other parts.
    fn project(&self, event: &Event) -> Vec<Change>;

    /// Returns the prefixes of the kinds that it needs; it receives no other events.
    fn prefixes(&self) -> &'static [&'static str] {
        &[""]
    }

    /// Returns the version, to be raised whenever `tables` or `project` change: the tables are then rebuilt from the
    /// log at the next open.
    fn version(&self) -> u32;

    /// Returns the kinds of events whose bodies can be searched for words ([`crate::Store::search`]).
    fn searched(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns how facts of this part's older events are lifted; one row for each kind and version that was ever
    /// written.
    fn upcasters(&self) -> &'static [Upcaster] {
        &[]
    }
}

/// Lifts the facts of one kind from one version to the next. The log keeps what was written (its hash covers that);
/// readers and projectors see the newest form. Tested with a stored fixture of each version.
#[derive(Debug, Clone, Copy)]
pub struct Upcaster {
    /// Kind of the event.
    pub kind: &'static str,
    /// Version that it reads; the result has the next version.
    pub from: u16,
    /// Function that lifts the facts.
    pub lift: fn(Value) -> Value,
}
