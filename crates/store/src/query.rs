//! Questions to the tables and to the log.

use crate::Cell;

/// A test of one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Equal; null equals null.
    Eq(Cell),
    /// Not equal; a null differs from every value.
    Ne(Cell),
    /// Less. Nothing compares with null.
    Lt(Cell),
    /// Less or equal.
    Le(Cell),
    /// Greater.
    Gt(Cell),
    /// Greater or equal.
    Ge(Cell),
    /// One of several values, at most 1,000; never matches null.
    In(Vec<Cell>),
}

/// A column and its test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The column.
    pub column: &'static str,
    /// The test.
    pub op: Op,
}

/// Which way to sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Smallest first.
    Asc,
    /// Largest first.
    Desc,
}

/// A question to one table: all conditions hold, sorted as asked and then by key, at most `limit` rows.
///
/// ```
/// use switchboard_store::Query;
/// let unread = Query::table("messages").eq("recipient", "coder").gt("seq", 5_i64).asc("seq").limit(20);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The table.
    pub table: &'static str,
    /// What must hold, all of it.
    pub filter: Vec<Condition>,
    /// Columns to sort by; the key breaks ties, so that the order is always total.
    pub order: Vec<(&'static str, Direction)>,
    /// Most rows to return; `None` returns all.
    pub limit: Option<u64>,
    /// Rows to skip first.
    pub offset: u64,
}

impl Query {
    /// All rows of a table.
    #[must_use]
    pub fn table(table: &'static str) -> Self {
        Self { table, filter: Vec::new(), order: Vec::new(), limit: None, offset: 0 }
    }

    /// Adds any test.
    #[must_use]
    pub fn filter(mut self, column: &'static str, op: Op) -> Self {
        self.filter.push(Condition { column, op });
        self
    }

    /// The column equals the value.
    #[must_use]
    pub fn eq(self, column: &'static str, value: impl Into<Cell>) -> Self {
        self.filter(column, Op::Eq(value.into()))
    }

    /// The column differs from the value.
    #[must_use]
    pub fn ne(self, column: &'static str, value: impl Into<Cell>) -> Self {
        self.filter(column, Op::Ne(value.into()))
    }

    /// The column is less than the value.
    #[must_use]
    pub fn lt(self, column: &'static str, value: impl Into<Cell>) -> Self {
        self.filter(column, Op::Lt(value.into()))
    }

    /// The column is at most the value.
    #[must_use]
    pub fn le(self, column: &'static str, value: impl Into<Cell>) -> Self {
        self.filter(column, Op::Le(value.into()))
    }

    /// The column is greater than the value.
    #[must_use]
    pub fn gt(self, column: &'static str, value: impl Into<Cell>) -> Self {
        self.filter(column, Op::Gt(value.into()))
    }

    /// The column is at least the value.
    #[must_use]
    pub fn ge(self, column: &'static str, value: impl Into<Cell>) -> Self {
        self.filter(column, Op::Ge(value.into()))
    }

    /// The column equals one of the values.
    #[must_use]
    pub fn is_in<C: Into<Cell>>(self, column: &'static str, values: impl IntoIterator<Item = C>) -> Self {
        self.filter(column, Op::In(values.into_iter().map(Into::into).collect()))
    }

    /// The column is null.
    #[must_use]
    pub fn is_null(self, column: &'static str) -> Self {
        self.filter(column, Op::Eq(Cell::Null))
    }

    /// Sorts, smallest first.
    #[must_use]
    pub fn asc(mut self, column: &'static str) -> Self {
        self.order.push((column, Direction::Asc));
        self
    }

    /// Sorts, largest first.
    #[must_use]
    pub fn desc(mut self, column: &'static str) -> Self {
        self.order.push((column, Direction::Desc));
        self
    }

    /// Returns at most so many rows.
    #[must_use]
    pub fn limit(mut self, rows: u64) -> Self {
        self.limit = Some(rows);
        self
    }

    /// Skips so many rows first.
    #[must_use]
    pub fn offset(mut self, rows: u64) -> Self {
        self.offset = rows;
        self
    }
}

/// Which events a reader of the log wants; an empty filter wants all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Only these kinds, when there are any.
    pub kinds: Vec<String>,
    /// Only subjects that begin so: `run/run_7f3a`, `agent/`.
    pub subject_prefix: Option<String>,
}

impl Filter {
    /// Every event.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Only events of these kinds.
    #[must_use]
    pub fn kinds<K: Into<String>>(kinds: impl IntoIterator<Item = K>) -> Self {
        Self { kinds: kinds.into_iter().map(Into::into).collect(), subject_prefix: None }
    }

    /// Only events whose subject begins so.
    #[must_use]
    pub fn subject(mut self, prefix: impl Into<String>) -> Self {
        self.subject_prefix = Some(prefix.into());
        self
    }
}

// === impl Filter ===

impl Filter {
    /// Whether an event passes.
    #[must_use]
    pub fn wants(&self, kind: &str, subject: &str) -> bool {
        (self.kinds.is_empty() || self.kinds.iter().any(|wanted| wanted == kind))
            && self.subject_prefix.as_deref().is_none_or(|prefix| subject.starts_with(prefix))
    }
}
