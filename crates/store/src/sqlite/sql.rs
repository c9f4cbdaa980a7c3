//! SQL text and the translation of values; every statement that depends on a declaration is built here.

use std::fmt::Write as _;
use std::sync::{Arc, PoisonError, RwLock};

use rusqlite::types::{ToSql, ToSqlOutput, Value, ValueRef};
use rusqlite::{ErrorCode, Row as SqlRow};
use switchboard_protocol::event::Lsn;
use switchboard_protocol::id::Digest;
use switchboard_protocol::time::Millis;

use crate::query::{Condition, Direction, Op};
use crate::record::{Body, Record, SALT_BYTES};
use crate::{Cell, Error, Query, Row, Table, Ty};

/// Columns of an event, in the order in which [`record`] reads them.
pub(super) const RECORD: &str =
    "e.lsn, e.ts, e.kind, e.v, e.subject, e.rev, e.actor, e.facts, e.body_hash, e.prev_hash, e.hash";

/// The store's own tables. `STRICT` makes a flipped type byte an error of the integrity check; events and bodies have
/// their hashes, declared tables can be rebuilt, and the rest has a checksum in each row, because SQLite has none.
pub(super) const OWN_TABLES: &str = "
    CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL, sum INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE events (
        lsn INTEGER PRIMARY KEY, ts INTEGER NOT NULL, kind TEXT NOT NULL, v INTEGER NOT NULL, subject TEXT NOT NULL,
        rev INTEGER NOT NULL, actor TEXT NOT NULL, facts TEXT NOT NULL, body_hash BLOB NOT NULL,
        prev_hash BLOB NOT NULL, hash BLOB NOT NULL) STRICT;
    CREATE UNIQUE INDEX events_by_subject ON events (subject, rev);
    CREATE TABLE bodies (lsn INTEGER PRIMARY KEY, salt BLOB NOT NULL, text TEXT NOT NULL) STRICT;
    CREATE TABLE idempotency (
        caller TEXT NOT NULL, key TEXT NOT NULL, verb TEXT NOT NULL, args BLOB NOT NULL, reply TEXT NOT NULL,
        first INTEGER NOT NULL, last INTEGER NOT NULL, ts INTEGER NOT NULL, sum INTEGER NOT NULL,
        PRIMARY KEY (caller, key))
        STRICT, WITHOUT ROWID;
    CREATE INDEX idempotency_by_time ON idempotency (ts);
    CREATE TABLE cursors (name TEXT PRIMARY KEY, lsn INTEGER NOT NULL, sum INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE projections (name TEXT PRIMARY KEY, shape TEXT NOT NULL) STRICT, WITHOUT ROWID;
";

/// Translates errors of SQLite.
pub(super) fn db(error: rusqlite::Error) -> Error {
    let place = || "the database file".to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Error::DiskFull,
        Some(ErrorCode::DatabaseBusy) => Error::Contended,
        Some(ErrorCode::SystemIoFailure) => Error::Fatal(error.to_string()),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            Error::Corrupt { place: place(), what: error.to_string() }
        }
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            Error::io("the database file can't be used", std::io::Error::other(error))
        }
        Some(ErrorCode::OutOfMemory) => Error::Fatal("out of memory".to_owned()),
        Some(_) => Error::Database(error.to_string()),
        None if matches!(
            error,
            rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::Utf8Error(..)
        ) =>
        {
            Error::Corrupt { place: place(), what: error.to_string() }
        }
        None => Error::Database(error.to_string()),
    }
}

/// Returns the checksum of a row that no hash covers: 8 bytes of a SHA-256.
pub(super) fn sum(parts: &[&[u8]]) -> i64 {
    let Digest(bytes) = Digest::of_parts(parts);
    i64::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]])
}

/// Returns the error for a row whose checksum doesn't match.
pub(super) fn damaged(table: &str, row: &str) -> Error {
    Error::Corrupt { place: format!("table {table}"), what: format!("the row {row:?} doesn't match its checksum") }
}

/// Converts an lsn, revision or count to SQLite's integer.
pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Reads an lsn, revision or count.
pub(super) fn number(row: &SqlRow<'_>, at: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(at)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(at, value))
}

/// Reads a digest.
pub(super) fn digest(row: &SqlRow<'_>, at: usize) -> rusqlite::Result<Digest> {
    row.get(at).map(Digest)
}

/// Reads an event selected as [`RECORD`].
pub(super) fn record(row: &SqlRow<'_>) -> rusqlite::Result<Record> {
    Ok(Record {
        lsn: number(row, 0)?,
        ts: Millis(row.get(1)?),
        kind: row.get(2)?,
        v: row.get(3)?,
        subject: row.get(4)?,
        rev: number(row, 5)?,
        actor: row.get(6)?,
        facts: row.get(7)?,
        body_hash: digest(row, 8)?,
        prev_hash: digest(row, 9)?,
        hash: digest(row, 10)?,
    })
}

/// Reads a body selected as `salt, text` from a column on; `None` if there is none.
pub(super) fn body(row: &SqlRow<'_>, at: usize) -> rusqlite::Result<Option<Body>> {
    let salt: Option<[u8; SALT_BYTES]> = row.get(at)?;
    salt.map(|salt| Ok(Body { salt, text: row.get(at + 1)? })).transpose()
}

/// The fixed statements of a declared table.
pub(crate) struct Statements {
    /// Columns sorted by name: the order in which they are read and written.
    pub(super) names: Vec<&'static str>,
    /// The columns in this order, as SQL.
    pub(super) columns: String,
    /// Condition on the key, whose cells are the first parameters.
    pub(super) key_is: String,
    pub(super) get: String,
    pub(super) put: String,
    pub(super) delete: String,
    /// Cached statements for changes of some columns; there are as many as projectors use.
    made: RwLock<Vec<Made>>,
}

/// Effect of a statement on columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// Sets the columns.
    Patch,
    /// Adds to the columns.
    Add,
}

struct Made {
    act: Act,
    columns: Vec<&'static str>,
    sql: Arc<str>,
}

// === impl Statements ===

impl Statements {
    pub(crate) fn of(table: &Table) -> Self {
        let name = table.name;
        let mut names: Vec<_> = table.columns.iter().map(|column| column.name).collect();
        names.sort_unstable();
        let columns = list(names.iter().copied());
        let test = |(at, name): (usize, &&str)| format!("\"{name}\" = ?{}", at + 1);
        let key_is = table.key.iter().enumerate().map(test).collect::<Vec<_>>().join(" AND ");
        let places = (1..=names.len()).map(|at| format!("?{at}")).collect::<Vec<_>>().join(", ");
        Self {
            get: format!("SELECT {columns} FROM \"{name}\" WHERE {key_is}"),
            put: format!("INSERT OR REPLACE INTO \"{name}\" ({columns}) VALUES ({places})"),
            delete: format!("DELETE FROM \"{name}\" WHERE {key_is}"),
            names,
            columns,
            key_is,
            made: RwLock::default(),
        }
    }

    /// Returns the statement that changes these columns of a row; the key's cells come first, then one for each column.
    pub(super) fn change(&self, table: &Table, act: Act, columns: &[&'static str]) -> Arc<str> {
        let known = |made: &Vec<Made>| {
            let found = made.iter().find(|made| made.act == act && made.columns == columns);
            found.map(|made| Arc::clone(&made.sql))
        };
        if let Some(sql) = known(&self.made.read().unwrap_or_else(PoisonError::into_inner)) {
            return sql;
        }
        let sql: Arc<str> = match act {
            Act::Patch => patch(table, self, columns).into(),
            Act::Add => add(table, columns).into(),
        };
        let made = Made { act, columns: columns.to_vec(), sql: Arc::clone(&sql) };
        self.made.write().unwrap_or_else(PoisonError::into_inner).push(made);
        sql
    }

    /// Reads a row selected as `columns`.
    pub(super) fn row(&self, row: &SqlRow<'_>) -> rusqlite::Result<Row> {
        let cell = |(at, name): (usize, &&'static str)| Ok((*name, cell(row.get_ref(at)?, at)?));
        Ok(Row::sorted(self.names.iter().enumerate().map(cell).collect::<rusqlite::Result<_>>()?))
    }
}

/// Reads one cell of a row.
pub(super) fn cell(value: ValueRef<'_>, at: usize) -> rusqlite::Result<Cell> {
    match value {
        ValueRef::Null => Ok(Cell::Null),
        ValueRef::Integer(number) => Ok(Cell::Int(number)),
        ValueRef::Text(bytes) => Ok(Cell::Text(
            std::str::from_utf8(bytes).map_err(|error| rusqlite::Error::Utf8Error(at, error))?.to_owned(),
        )),
        other @ (ValueRef::Real(_) | ValueRef::Blob(_)) => {
            Err(rusqlite::Error::InvalidColumnType(at, "cell".to_owned(), other.data_type()))
        }
    }
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Value::Null),
            Self::Int(number) => ToSqlOutput::Owned(Value::Integer(*number)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// Returns the statements that create a table and its indexes.
pub(super) fn create(table: &Table) -> String {
    let column = |column: &crate::Column| {
        let ty = match column.ty {
            Ty::Int => "INTEGER",
            Ty::Text => "TEXT",
        };
        format!("\"{}\" {ty}", column.name)
    };
    let declared = table.columns.iter().map(column).collect::<Vec<_>>().join(", ");
    let key = list(table.key.iter().copied());
    let mut sql = format!("CREATE TABLE \"{}\" ({declared}, PRIMARY KEY ({key})) STRICT, WITHOUT ROWID;", table.name);
    let dense = table.indexes.iter().map(|index| (index, String::new()));
    let sparse = table.sparse.iter().map(|index| {
        let first = index.first().copied().unwrap_or_default();
        (index, format!(" WHERE \"{first}\" IS NOT NULL"))
    });
    for (at, (index, rows)) in dense.chain(sparse).enumerate() {
        let on = list(index.iter().copied());
        sql.push_str(&format!("CREATE INDEX \"{}_index_{at}\" ON \"{}\" ({on}){rows};", table.name, table.name));
    }
    sql
}

fn patch(table: &Table, statements: &Statements, columns: &[&str]) -> String {
    let mut sql = format!("UPDATE \"{}\" SET ", table.name);
    for (at, column) in columns.iter().enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        // Writing to a string can't fail.
        let _ = write!(sql, "{comma}\"{column}\" = ?{}", table.key.len() + at + 1);
    }
    let _ = write!(sql, " WHERE {}", statements.key_is);
    sql
}

/// Returns the statement for an addition, which saturates and creates a missing row.
fn add(table: &Table, columns: &[&str]) -> String {
    const MAX: &str = "9223372036854775807";
    const MIN: &str = "(-9223372036854775807 - 1)";
    let key = list(table.key.iter().copied());
    let places = (1..=table.key.len() + columns.len()).map(|at| format!("?{at}")).collect::<Vec<_>>().join(", ");
    let mut sql = format!("INSERT INTO \"{}\" ({key}", table.name);
    for column in columns {
        let _ = write!(sql, ", \"{column}\"");
    }
    let _ = write!(sql, ") VALUES ({places}) ON CONFLICT ({key}) DO UPDATE SET ");
    for (at, column) in columns.iter().enumerate() {
        let (comma, more) = (if at == 0 { "" } else { ", " }, format!("?{}", table.key.len() + at + 1));
        let has = format!("coalesce(\"{column}\", 0)");
        let _ = write!(
            sql,
            "{comma}\"{column}\" = CASE WHEN {more} > 0 AND {has} > {MAX} - {more} THEN {MAX} \
             WHEN {more} < 0 AND {has} < {MIN} - {more} THEN {MIN} ELSE {has} + {more} END"
        );
    }
    sql
}

/// Returns the statement of a query and its parameters; `what` is the selected expression.
pub(super) fn select<'q>(table: &Table, query: &'q Query, what: &str, page: bool) -> (String, Vec<&'q Cell>) {
    let mut parameters = Vec::new();
    let tests: Vec<String> = query.filter.iter().map(|condition| test(condition, &mut parameters)).collect();
    let mut sql = format!("SELECT {what} FROM \"{}\"", table.name);
    if !tests.is_empty() {
        sql.push_str(" WHERE ");
        sql.push_str(&tests.join(" AND "));
    }
    if page {
        sql.push_str(&order(table, query));
        if query.limit.is_some() || query.offset > 0 {
            let limit = query.limit.map_or(-1, int);
            sql.push_str(&format!(" LIMIT {limit} OFFSET {}", int(query.offset)));
        }
    }
    (sql, parameters)
}

fn order(table: &Table, query: &Query) -> String {
    let asked = query.order.iter().map(|(column, direction)| match direction {
        Direction::Asc => format!("\"{column}\""),
        Direction::Desc => format!("\"{column}\" DESC"),
    });
    let ties = table.key.iter().map(|column| format!("\"{column}\""));
    format!(" ORDER BY {}", asked.chain(ties).collect::<Vec<_>>().join(", "))
}

fn test<'q>(condition: &'q Condition, parameters: &mut Vec<&'q Cell>) -> String {
    let column = condition.column;
    let mut compare = |operator: &str, cell: &'q Cell| {
        parameters.push(cell);
        format!("\"{column}\" {operator} ?{}", parameters.len())
    };
    match &condition.op {
        Op::Eq(Cell::Null) => format!("\"{column}\" IS NULL"),
        Op::Ne(Cell::Null) => format!("\"{column}\" IS NOT NULL"),
        Op::Eq(cell) => compare("=", cell),
        Op::Ne(cell) => compare("IS NOT", cell),
        Op::Lt(cell) => compare("<", cell),
        Op::Le(cell) => compare("<=", cell),
        Op::Gt(cell) => compare(">", cell),
        Op::Ge(cell) => compare(">=", cell),
        Op::In(cells) => {
            let places: Vec<String> = cells
                .iter()
                .map(|cell| {
                    parameters.push(cell);
                    format!("?{}", parameters.len())
                })
                .collect();
            format!("\"{column}\" IN ({})", places.join(", "))
        }
    }
}

/// Selects the events after `?1`, with or without their bodies.
pub(super) fn scan(bodies: bool) -> String {
    if bodies {
        format!(
            "SELECT {RECORD}, b.salt, b.text FROM events e LEFT JOIN bodies b USING (lsn) WHERE e.lsn > ?1 ORDER BY e.lsn"
        )
    } else {
        format!("SELECT {RECORD} FROM events e WHERE e.lsn > ?1 ORDER BY e.lsn")
    }
}

/// Selects at most `?3` events of the subject `?1` after its revision `?2`, using the index on subject and revision.
pub(super) fn events_of() -> String {
    format!("SELECT {RECORD} FROM events e WHERE e.subject = ?1 AND e.rev > ?2 ORDER BY e.rev LIMIT ?3")
}

/// Selects the head of a log.
pub(super) const HEAD: &str = "SELECT lsn, hash, ts FROM events ORDER BY lsn DESC LIMIT 1";

/// Returns an lsn as the parameter of a statement.
pub(super) fn at(lsn: Lsn) -> [i64; 1] {
    [int(lsn)]
}
