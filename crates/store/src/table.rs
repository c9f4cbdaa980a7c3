//! What a part declares: its tables, its pure projector, and how facts of older versions are lifted.

use serde_json::Value;
use switchboard_protocol::event::Event;

use crate::{Cell, Key, Row};

/// What a column holds; null is always allowed outside the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ty {
    /// [`Cell::Int`].
    Int,
    /// [`Cell::Text`].
    Text,
}

/// One column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Lower-case letters, digits and `_`, unique in its table.
    pub name: &'static str,
    /// What it holds.
    pub ty: Ty,
}

impl Column {
    /// A column of whole numbers.
    #[must_use]
    pub const fn int(name: &'static str) -> Self {
        Self { name, ty: Ty::Int }
    }

    /// A column of text.
    #[must_use]
    pub const fn text(name: &'static str) -> Self {
        Self { name, ty: Ty::Text }
    }
}

/// One table, declared as a constant by the part that owns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// Lower-case letters, digits and `_`, unique among all parts.
    pub name: &'static str,
    /// All columns, those of the key too.
    pub columns: &'static [Column],
    /// The columns that name a row; never null. Also the order in which rows are read by default.
    pub key: &'static [&'static str],
    /// Columns that queries filter and sort by, one list an index.
    pub indexes: &'static [&'static [&'static str]],
    /// The same for columns that are mostly null: rows whose first column is null are left out, so only comparisons with it
    /// are helped.
    pub sparse: &'static [&'static [&'static str]],
}

impl Table {
    /// The column of that name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&'static Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// One change of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Writes the whole row in place of one with the same key; columns that are left out become null.
    Put {
        /// The table.
        table: &'static str,
        /// The row, its key included.
        row: Row,
    },
    /// Sets some columns (none of the key) of a row; nothing happens when there is no such row.
    Patch {
        /// The table.
        table: &'static str,
        /// The row's key.
        key: Key,
        /// New values by column.
        set: Vec<(&'static str, Cell)>,
    },
    /// Adds to numbers, where null and a missing row count as 0; the row is made when it is missing. Saturates.
    Add {
        /// The table.
        table: &'static str,
        /// The row's key.
        key: Key,
        /// What to add by column, each a column of numbers; negative to take away.
        by: Vec<(&'static str, i64)>,
    },
    /// Removes a row; nothing happens when there is none.
    Delete {
        /// The table.
        table: &'static str,
        /// The row's key.
        key: Key,
    },
}

impl Change {
    /// A [`Change::Put`].
    #[must_use]
    pub fn put(table: &'static str, row: impl Into<Row>) -> Self {
        Self::Put { table, row: row.into() }
    }

    /// A [`Change::Patch`].
    #[must_use]
    pub fn patch(
        table: &'static str,
        key: impl IntoIterator<Item = Cell>,
        set: impl IntoIterator<Item = (&'static str, Cell)>,
    ) -> Self {
        Self::Patch { table, key: key.into_iter().collect(), set: set.into_iter().collect() }
    }

    /// A [`Change::Add`].
    #[must_use]
    pub fn add(
        table: &'static str,
        key: impl IntoIterator<Item = Cell>,
        by: impl IntoIterator<Item = (&'static str, i64)>,
    ) -> Self {
        Self::Add { table, key: key.into_iter().collect(), by: by.into_iter().collect() }
    }

    /// A [`Change::Delete`].
    #[must_use]
    pub fn delete(table: &'static str, key: impl IntoIterator<Item = Cell>) -> Self {
        Self::Delete { table, key: key.into_iter().collect() }
    }

    /// The table that it changes.
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
    /// The key of the row that it changes.
    pub(crate) fn key(&self, of: &Table) -> Key {
        match self {
            Self::Put { row, .. } => of.key.iter().map(|name| row.get(name).clone()).collect(),
            Self::Patch { key, .. } | Self::Add { key, .. } | Self::Delete { key, .. } => key.clone(),
        }
    }

    /// Whether what it makes depends on the row that is there.
    pub(crate) fn is_relative(&self) -> bool {
        matches!(self, Self::Patch { .. } | Self::Add { .. })
    }

    /// What it makes of no row.
    pub(crate) fn into_row(self, of: &Table) -> Option<Row> {
        if let Self::Put { row, .. } = self {
            return Some(if row.len() == of.columns.len() { row } else { whole(of, &row) });
        }
        let mut row = None;
        self.make(of, &mut row);
        row
    }

    /// What it makes of a row, or of none.
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

/// The row with every column of its table.
fn whole(table: &Table, row: &Row) -> Row {
    // Its columns have been checked: as many as there are is all of them.
    if row.len() == table.columns.len() {
        return row.clone();
    }
    table.columns.iter().map(|column| (column.name, row.get(column.name).clone())).collect()
}

fn only_key(table: &Table, key: &[Cell]) -> Row {
    let named: Row = table.key.iter().copied().zip(key.iter().cloned()).collect();
    whole(table, &named)
}

/// A part's tables and its pure projector. The store runs it inside the transaction that appends the event, and again
/// over the whole log when the tables must be rebuilt, so it may use nothing but the event.
pub trait Projection: Send + Sync {
    /// The tables; no other part's projector may write them.
    fn tables(&self) -> &'static [Table];

    /// The row changes of one event, applied in order. The event comes without its body, because state never depends
    /// on what retention may drop, and with its facts lifted to the newest version. Ignores kinds of other parts.
    fn project(&self, event: &Event) -> Vec<Change>;

    /// How the kinds begin that it looks at; no other events are shown to it.
    fn prefixes(&self) -> &'static [&'static str] {
        &[""]
    }

    /// Raised whenever `tables` or `project` change: the tables are then rebuilt from the log at the next open.
    fn version(&self) -> u32;

    /// Kinds of events whose bodies can be searched for words ([`crate::Store::search`]).
    fn searched(&self) -> &'static [&'static str] {
        &[]
    }

    /// How facts of this part's older events are lifted; one row for each kind and version that was ever written.
    fn upcasters(&self) -> &'static [Upcaster] {
        &[]
    }
}

/// Lifts the facts of one kind from one version to the next. The log keeps what was written (its hash covers that);
/// readers and projectors see the newest form. Tested on a stored fixture of each version.
#[derive(Debug, Clone, Copy)]
pub struct Upcaster {
    /// The event's kind.
    pub kind: &'static str,
    /// The version that it reads; the result is of the next one.
    pub from: u16,
    /// The lift.
    pub lift: fn(Value) -> Value,
}
