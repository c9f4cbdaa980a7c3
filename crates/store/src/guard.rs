//! Conditions on the tables for a batch to be written.

use std::fmt;
use std::sync::Arc;

use switchboard_protocol::error::Failure;

use crate::{Cell, Key, Query, Row};

/// A condition on the tables that the writer checks right before it writes the batch, in the same transaction. If it
/// doesn't hold, the batch has no effect and is answered with the guard's refusal.
#[derive(Debug, Clone)]
pub enum Guard {
    /// There is a row with this key.
    Exists {
        /// Name of the table.
        table: &'static str,
        /// Key of the row.
        key: Key,
        /// Answer if the condition doesn't hold.
        refusal: Failure,
    },
    /// There is no row with this key.
    Absent {
        /// Name of the table.
        table: &'static str,
        /// Key of the row.
        key: Key,
        /// Answer if the condition doesn't hold.
        refusal: Failure,
    },
    /// The row exists and its column has this value: a lease is held with this token.
    Equals {
        /// Name of the table.
        table: &'static str,
        /// Key of the row.
        key: Key,
        /// Name of the column.
        column: &'static str,
        /// Required value.
        value: Cell,
        /// Answer if the condition doesn't hold.
        refusal: Failure,
    },
    /// The row exists and its column has one of these values: a task is queued or retrying.
    OneOf {
        /// Name of the table.
        table: &'static str,
        /// Key of the row.
        key: Key,
        /// Name of the column.
        column: &'static str,
        /// Allowed values.
        values: Vec<Cell>,
        /// Answer if the condition doesn't hold.
        refusal: Failure,
    },
    /// The number is below the limit, where null and a missing row count as 0: an inbox has room.
    Below {
        /// Name of the table.
        table: &'static str,
        /// Key of the row.
        key: Key,
        /// Name of a column of numbers.
        column: &'static str,
        /// Exclusive limit: the smallest number that is too large.
        limit: i64,
        /// Answer if the condition doesn't hold.
        refusal: Failure,
    },
    /// Fewer rows than `than` match the query (`than: 1` means none). The query's limit and offset are ignored.
    Fewer {
        /// The query.
        query: Query,
        /// Exclusive limit: the smallest count that is too large.
        than: u64,
        /// Answer if the condition doesn't hold.
        refusal: Failure,
    },
    /// A pure rule over the rows that match the query, for conditions that a query can't express, such as overlapping
    /// globs.
    Holds {
        /// The query.
        query: Query,
        /// The rule.
        rule: Rule,
    },
}

impl Guard {
    /// Creates a [`Guard::Exists`].
    #[must_use]
    pub fn exists(table: &'static str, key: impl IntoIterator<Item = Cell>, refusal: Failure) -> Self {
        Self::Exists { table, key: key.into_iter().collect(), refusal }
    }

    /// Creates a [`Guard::Absent`].
    #[must_use]
    pub fn absent(table: &'static str, key: impl IntoIterator<Item = Cell>, refusal: Failure) -> Self {
        Self::Absent { table, key: key.into_iter().collect(), refusal }
    }

    /// Creates a [`Guard::Equals`].
    #[must_use]
    pub fn equals(
        table: &'static str,
        key: impl IntoIterator<Item = Cell>,
        column: &'static str,
        value: impl Into<Cell>,
        refusal: Failure,
    ) -> Self {
        Self::Equals { table, key: key.into_iter().collect(), column, value: value.into(), refusal }
    }

    /// Creates a [`Guard::Below`].
    #[must_use]
    pub fn below(
        table: &'static str,
        key: impl IntoIterator<Item = Cell>,
        column: &'static str,
        limit: i64,
        refusal: Failure,
    ) -> Self {
        Self::Below { table, key: key.into_iter().collect(), column, limit, refusal }
    }

    /// Creates a [`Guard::Holds`].
    #[must_use]
    pub fn holds(query: Query, rule: impl Fn(&[Row]) -> Result<(), Failure> + Send + Sync + 'static) -> Self {
        Self::Holds { query, rule: Rule(Arc::new(rule)) }
    }
}

/// A pure function of rows that accepts or refuses. It runs on the writer's thread, so it must be short and without
/// input or output.
#[derive(Clone)]
pub struct Rule(pub Arc<Holds>);

/// Function type of a [`Rule`].
pub type Holds = dyn Fn(&[Row]) -> Result<(), Failure> + Send + Sync;

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rule(..)")
    }
}
