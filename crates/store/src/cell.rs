//! Values in the tables: cells, keys and rows.

use crate::Error;

/// One value in a table. Ordered as in SQLite: null, then integers, then text by its bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// No value.
    #[default]
    Null,
    /// A whole number: a count, a time in milliseconds, an lsn; a boolean is 0 or 1.
    Int(i64),
    /// UTF-8 text.
    Text(String),
}

impl Cell {
    /// Returns the text, if the cell holds text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Null | Self::Int(_) => None,
        }
    }

    /// Returns the number, if the cell holds one.
    #[must_use]
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Null | Self::Text(_) => None,
        }
    }

    /// Returns true if the cell is null.
    #[must_use]
    pub fn is_null(&self) -> bool {
        *self == Self::Null
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<i64> for Cell {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<u64> for Cell {
    /// Saturates: values stored as `u64` here (lsn, revision, size) never come near `i64::MAX`.
    fn from(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<u32> for Cell {
    fn from(number: u32) -> Self {
        Self::Int(number.into())
    }
}

impl From<bool> for Cell {
    fn from(truth: bool) -> Self {
        Self::Int(truth.into())
    }
}

impl From<switchboard_protocol::time::Millis> for Cell {
    fn from(point: switchboard_protocol::time::Millis) -> Self {
        Self::Int(point.0)
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Values of a table's key columns, in the order of its declaration.
pub type Key = Vec<Cell>;

/// One row: every column of its table by name. Columns without a value are null.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row(
    /// Cells sorted by column name, each column once.
    Vec<(&'static str, Cell)>,
);

impl Row {
    /// Creates a row without columns.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a row from columns that are sorted by name, each once.
    pub(crate) fn sorted(cells: Vec<(&'static str, Cell)>) -> Self {
        debug_assert!(cells.is_sorted_by(|(a, _), (b, _)| a < b), "{cells:?}");
        Self(cells)
    }

    /// Adds or replaces one column.
    #[must_use]
    pub fn with(mut self, column: &'static str, value: impl Into<Cell>) -> Self {
        self.set(column, value);
        self
    }

    /// Adds or replaces one column.
    pub fn set(&mut self, column: &'static str, value: impl Into<Cell>) {
        match self.place(column) {
            Ok(at) => self.0[at].1 = value.into(),
            Err(at) => self.0.insert(at, (column, value.into())),
        }
    }

    /// Returns the cell of a column; null if the row has no such column.
    #[must_use]
    pub fn get(&self, column: &str) -> &Cell {
        // Most names differ in length, so comparing each costs less than the order that a binary search needs.
        self.0.iter().find(|(name, _)| *name == column).map_or(&Cell::Null, |(_, cell)| cell)
    }

    fn place(&self, column: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(name, _)| (*name).cmp(column))
    }

    /// Returns the text of a column; `None` if it is null, a number, or missing.
    #[must_use]
    pub fn get_text(&self, column: &str) -> Option<&str> {
        self.get(column).as_text()
    }

    /// Returns the number of a column; `None` if it is null, text, or missing.
    #[must_use]
    pub fn get_int(&self, column: &str) -> Option<i64> {
        self.get(column).as_int()
    }

    /// Returns true if a column holds a number other than 0.
    #[must_use]
    pub fn get_bool(&self, column: &str) -> bool {
        self.get_int(column).is_some_and(|number| number != 0)
    }

    /// Returns the text of a column that must have one.
    ///
    /// # Errors
    /// [`Error::Column`] when it is null, a number, or missing: the projector and its reader disagree.
    pub fn try_text(&self, column: &str) -> Result<&str, Error> {
        self.get_text(column).ok_or_else(|| Error::Column { column: column.to_owned(), wanted: "text" })
    }

    /// Returns the number of a column that must have one.
    ///
    /// # Errors
    /// [`Error::Column`] when it is null, text, or missing.
    pub fn try_int(&self, column: &str) -> Result<i64, Error> {
        self.get_int(column).ok_or_else(|| Error::Column { column: column.to_owned(), wanted: "a number" })
    }

    /// Returns the number of a column that must have a non-negative one: an lsn, a revision, a count.
    ///
    /// # Errors
    /// [`Error::Column`] when it is null, text, negative, or missing.
    pub fn try_u64(&self, column: &str) -> Result<u64, Error> {
        let wanted = || Error::Column { column: column.to_owned(), wanted: "a number from 0" };
        self.get_int(column).and_then(|number| u64::try_from(number).ok()).ok_or_else(wanted)
    }

    /// Returns the number of columns.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns all columns, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Cell)> {
        self.0.iter().map(|(column, cell)| (*column, cell))
    }
}

impl FromIterator<(&'static str, Cell)> for Row {
    /// For a repeated column, the last value is kept.
    fn from_iter<I: IntoIterator<Item = (&'static str, Cell)>>(cells: I) -> Self {
        let cells: Vec<_> = cells.into_iter().collect();
        if cells.is_sorted_by(|(a, _), (b, _)| a < b) {
            return Self(cells);
        }
        cells.into_iter().fold(Self::new(), |row, (column, cell)| row.with(column, cell))
    }
}

impl<const N: usize> From<[(&'static str, Cell); N]> for Row {
    fn from(cells: [(&'static str, Cell); N]) -> Self {
        cells.into_iter().collect()
    }
}

impl serde::Serialize for Row {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}
