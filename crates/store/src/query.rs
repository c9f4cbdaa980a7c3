//! Queries of the tables and filters of the log.

use crate::Cell;

/// A test of one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Equal; null equals null.
    Eq(Cell),
    /// Not equal; a null differs from every value.
    Ne(Cell),
    /// Less. Comparisons with null are false.
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
    /// Name of the column.
    pub column: &'static str,
    /// Test of the column.
    pub op: Op,
}

/// Sort direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Smallest first.
    Asc,
    /// Largest first.
    Desc,
}

/// A query of one table: returns rows for which all conditions hold, sorted by `order` and then by key, at most `limit`
/// rows.
///
/// ```
/// use switchboard_store::Query;
/// let unread = Query::table("messages").eq("recipient", "coder").gt("seq", 5_i64).asc("seq").limit(20);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Name of the table.
    pub table: &'static str,
    /// Conditions that must all hold.
    pub filter: Vec<Condition>,
    /// Columns to sort by; the key breaks ties, so that the order is always total.
    pub order: Vec<(&'static str, Direction)>,
    /// Maximum number of rows to return; `None` returns all.
    pub limit: Option<u64>,
    /// Number of rows to skip first.
    pub offset: u64,
}

impl Query {
    /// Creates a query for all rows of a table.
    #[must_use]
    pub fn table(table: &'static str) -> Self {
        Self { table, filter: Vec::new(), order: Vec::new(), limit: None, offset: 0 }
    }

    /// Adds a condition.
    #[must_use]
    pub fn filter(mut self, column: &'static str, op: Op) -> Self {
        self.filter.push(Condition { column, op });
        self
    }

    /// Requires that the column equals the value.
    #[must_use]
    pub fn eq(self, column: &'static str, value: impl Into<Cell>) -> Self {
        self.filter(column, Op::Eq(value.into()))
    }

    /// Requires that the column differs from the value.
    #[must_use]
    pub fn ne(self, column: &'static str, value: impl Into<Cell>) -> Self {
        self.filter(column, Op::Ne(value.into()))
    }

    /// Requires that the column is less than the value.
    #[must_use]
    pub fn lt(self, column: &'static str, value: impl Into<Cell>) -> Self {
        self.filter(column, Op::Lt(value.into()))
    }

    /// Requires that the column is at most the value.
    #[must_use]
    pub fn le(self, column: &'static str, value: impl Into<Cell>) -> Self {
        self.filter(column, Op::Le(value.into()))
    }

    /// Requires that the column is greater than the value.
    #[must_use]
    pub fn gt(self, column: &'static str, value: impl Into<Cell>) -> Self {
        self.filter(column, Op::Gt(value.into()))
    }

    /// Requires that the column is at least the value.
    #[must_use]
    pub fn ge(self, column: &'static str, value: impl Into<Cell>) -> Self {
        self.filter(column, Op::Ge(value.into()))
    }

    /// Requires that the column equals one of the values.
    #[must_use]
    pub fn is_in<C: Into<Cell>>(self, column: &'static str, values: impl IntoIterator<Item = C>) -> Self {
        self.filter(column, Op::In(values.into_iter().map(Into::into).collect()))
    }

    /// Requires that the column is null.
    #[must_use]
    pub fn is_null(self, column: &'static str) -> Self {
        self.filter(column, Op::Eq(Cell::Null))
    }

    /// Sorts by the column in ascending order.
    #[must_use]
    pub fn asc(mut self, column: &'static str) -> Self {
        self.order.push((column, Direction::Asc));
        self
    }

    /// Sorts by the column in descending order.
    #[must_use]
    pub fn desc(mut self, column: &'static str) -> Self {
        self.order.push((column, Direction::Desc));
        self
    }

    /// Limits the number of rows.
    #[must_use]
    pub fn limit(mut self, rows: u64) -> Self {
        self.limit = Some(rows);
        self
    }

    /// Skips this number of rows first.
    #[must_use]
    pub fn offset(mut self, rows: u64) -> Self {
        self.offset = rows;
        self
    }
}

/// Filter for events of the log; an empty one accepts all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Accepted kinds; empty accepts all.
    pub kinds: Vec<String>,
    /// Accepted prefix of subjects: `run/run_7f3a`, `agent/`.
    pub subject_prefix: Option<String>,
}

impl Filter {
    /// Accepts every event.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Accepts only events of these kinds.
    #[must_use]
    pub fn kinds<K: Into<String>>(kinds: impl IntoIterator<Item = K>) -> Self {
        Self { kinds: kinds.into_iter().map(Into::into).collect(), subject_prefix: None }
    }

    /// Accepts only events whose subject begins with this prefix.
    #[must_use]
    pub fn subject(mut self, prefix: impl Into<String>) -> Self {
        self.subject_prefix = Some(prefix.into());
        self
    }
}

// === impl Filter ===

impl Filter {
    /// Returns true if an event passes.
    #[must_use]
    pub fn wants(&self, kind: &str, subject: &str) -> bool {
        (self.kinds.is_empty() || self.kinds.iter().any(|wanted| wanted == kind))
            && self.subject_prefix.as_deref().is_none_or(|prefix| subject.starts_with(prefix))
    }
}
