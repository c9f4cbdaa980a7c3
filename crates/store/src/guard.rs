//! What must be true of the tables for a batch to be written.

use std::fmt;
use std::sync::Arc;

use switchboard_protocol::error::Failure;

use crate::{Cell, Key, Query, Row};

/// A claim about the tables that the writer checks right before it writes the batch, in the same transaction. When it
/// doesn't hold, the batch leaves no trace and is answered with the guard's refusal.
#[derive(Debug, Clone)]
pub enum Guard {
    /// There is a row with this key.
    Exists {
        /// The table.
        table: &'static str,
        /// The row's key.
        key: Key,
        /// The answer otherwise.
        refusal: Failure,
    },
    /// There is no row with this key.
    Absent {
        /// The table.
        table: &'static str,
        /// The row's key.
        key: Key,
        /// The answer otherwise.
        refusal: Failure,
    },
    /// The row is there and its column has this value: a lease is held with this token.
    Equals {
        /// The table.
        table: &'static str,
        /// The row's key.
        key: Key,
        /// The column.
        column: &'static str,
        /// The value.
        value: Cell,
        /// The answer otherwise.
        refusal: Failure,
    },
    /// The row is there and its column has one of these values: a task is queued or retrying.
    OneOf {
        /// The table.
        table: &'static str,
        /// The row's key.
        key: Key,
        /// The column.
        column: &'static str,
        /// The values.
        values: Vec<Cell>,
        /// The answer otherwise.
        refusal: Failure,
    },
    /// The number is below the limit, where null and a missing row count as 0: an inbox has room.
    Below {
        /// The table.
        table: &'static str,
        /// The row's key.
        key: Key,
        /// A column of numbers.
        column: &'static str,
        /// The first number that is too large.
        limit: i64,
        /// The answer otherwise.
        refusal: Failure,
    },
    /// Fewer rows than this answer the query (`than: 1` means none). The query's limit and offset don't count.
    Fewer {
        /// The query.
        query: Query,
        /// The first count that is too large.
        than: u64,
        /// The answer otherwise.
        refusal: Failure,
    },
    /// A pure rule over the rows that answer the query, for what a query can't say: globs that overlap.
    Holds {
        /// The query.
        query: Query,
        /// The rule.
        rule: Rule,
    },
}

impl Guard {
    /// A [`Guard::Exists`].
    #[must_use]
    pub fn exists(table: &'static str, key: impl IntoIterator<Item = Cell>, refusal: Failure) -> Self {
        Self::Exists { table, key: key.into_iter().collect(), refusal }
    }

    /// A [`Guard::Absent`].
    #[must_use]
    pub fn absent(table: &'static str, key: impl IntoIterator<Item = Cell>, refusal: Failure) -> Self {
        Self::Absent { table, key: key.into_iter().collect(), refusal }
    }

    /// A [`Guard::Equals`].
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

    /// A [`Guard::Below`].
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

    /// A [`Guard::Holds`].
    #[must_use]
    pub fn holds(query: Query, rule: impl Fn(&[Row]) -> Result<(), Failure> + Send + Sync + 'static) -> Self {
        Self::Holds { query, rule: Rule(Arc::new(rule)) }
    }
}

/// A pure function of rows that refuses or doesn't. It runs on the writer's thread: short, without input or output.
#[derive(Clone)]
pub struct Rule(pub Arc<Holds>);

/// What a [`Rule`] is made of.
pub type Holds = dyn Fn(&[Row]) -> Result<(), Failure> + Send + Sync;

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rule(..)")
    }
}
