//! Reads from SQLite, and the transaction that writes to it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use rusqlite::{Connection, OptionalExtension as _, params, params_from_iter};
use switchboard_protocol::event::Lsn;
use switchboard_protocol::time::Millis;

use super::sql::{self, Act, db, digest, int, number};
use crate::log::Visit;
use crate::record::{Body, Entry, Record};
use crate::schema::Schema;
use crate::write::{Remembered, Tx};
use crate::{Cell, Change, Error, Query, Row, Table};

/// One connection; as a [`Tx`], the one that writes.
pub(super) struct Session<'a> {
    pub(super) connection: &'a Connection,
    pub(super) schema: &'a Schema,
}

// === impl Session ===

impl<'a> Session<'a> {
    pub(super) fn new(connection: &'a Connection, schema: &'a Schema) -> Self {
        Self { connection, schema }
    }

    pub(super) fn read_rev(&self, subject: &str) -> Result<u64, Error> {
        let sql = "SELECT rev FROM events WHERE subject = ?1 ORDER BY rev DESC LIMIT 1";
        let mut statement = self.connection.prepare_cached(sql).map_err(db)?;
        let rev = statement.query_row([subject], |row| number(row, 0)).optional().map_err(db)?;
        Ok(rev.unwrap_or(0))
    }

    pub(super) fn read_row(&self, table: &'static Table, key: &[Cell]) -> Result<Option<Row>, Error> {
        let statements = self.schema.statements(table)?;
        let mut statement = self.connection.prepare_cached(&statements.get).map_err(db)?;
        statement.query_row(params_from_iter(key), |row| statements.row(row)).optional().map_err(db)
    }

    pub(super) fn read_rows(&self, query: &Query) -> Result<Vec<Row>, Error> {
        let table = self.schema.table(query.table)?;
        let statements = self.schema.statements(table)?;
        let (sql, parameters) = sql::select(table, query, &statements.columns, true);
        let mut statement = self.connection.prepare_cached(&sql).map_err(db)?;
        let rows = statement.query_map(params_from_iter(parameters), |row| statements.row(row)).map_err(db)?;
        rows.collect::<Result<_, _>>().map_err(db)
    }

    pub(super) fn read_count(&self, query: &Query) -> Result<u64, Error> {
        let table = self.schema.table(query.table)?;
        let (sql, parameters) = sql::select(table, query, "count(*)", false);
        let mut statement = self.connection.prepare_cached(&sql).map_err(db)?;
        statement.query_row(params_from_iter(parameters), |row| number(row, 0)).map_err(db)
    }

    pub(super) fn read_count_up_to(&self, query: &Query, most: u64) -> Result<u64, Error> {
        let table = self.schema.table(query.table)?;
        let (sql, parameters) = sql::select(table, query, "1", false);
        let sql = format!("SELECT count(*) FROM ({sql} LIMIT {})", int(most));
        let mut statement = self.connection.prepare_cached(&sql).map_err(db)?;
        statement.query_row(params_from_iter(parameters), |row| number(row, 0)).map_err(db)
    }

    pub(super) fn read_first_number(&self, query: &Query, column: &str) -> Result<Option<i64>, Error> {
        let table = self.schema.table(query.table)?;
        let (sql, parameters) = sql::select(table, query, &format!("\"{column}\""), true);
        let mut statement = self.connection.prepare_cached(&sql).map_err(db)?;
        statement.query_row(params_from_iter(parameters), |row| row.get(0)).optional().map_err(db)
    }

    pub(super) fn read_cursor(&self, name: &str) -> Result<Lsn, Error> {
        let sql = "SELECT lsn, sum FROM cursors WHERE name = ?1";
        let mut statement = self.connection.prepare_cached(sql).map_err(db)?;
        let read = |row: &rusqlite::Row<'_>| Ok((number(row, 0)?, row.get::<_, i64>(1)?));
        let Some((lsn, found)) = statement.query_row([name], read).optional().map_err(db)? else { return Ok(0) };
        if cursor_sum(name, lsn) != found {
            return Err(sql::damaged("cursors", name));
        }
        Ok(lsn)
    }

    pub(super) fn read_remembered(&self, caller: &str, key: &str) -> Result<Option<Remembered>, Error> {
        let sql = "SELECT verb, args, reply, first, last, ts, sum FROM idempotency WHERE caller = ?1 AND key = ?2";
        let mut statement = self.connection.prepare_cached(sql).map_err(db)?;
        let read = |row: &rusqlite::Row<'_>| {
            let call = Remembered {
                caller: caller.to_owned(),
                key: key.to_owned(),
                verb: row.get(0)?,
                args: digest(row, 1)?,
                reply: row.get(2)?,
                first: number(row, 3)?,
                last: number(row, 4)?,
                ts: Millis(row.get(5)?),
            };
            Ok((call, row.get::<_, i64>(6)?))
        };
        let Some((call, found)) = statement.query_row([caller, key], read).optional().map_err(db)? else {
            return Ok(None);
        };
        if call_sum(&call) != found {
            return Err(sql::damaged("idempotency", key));
        }
        Ok(Some(call))
    }

    /// Visits the events after `from` in order; one statement, so one snapshot of the log.
    pub(super) fn scan(&self, from: Lsn, bodies: bool, visit: &mut Visit<'_>) -> Result<(), Error> {
        let mut statement = self.connection.prepare_cached(&sql::scan(bodies)).map_err(db)?;
        let mut rows = statement.query(sql::at(from)).map_err(db)?;
        while let Some(row) = rows.next().map_err(db)? {
            let record = sql::record(row).map_err(db)?;
            let body = if bodies { sql::body(row, 11).map_err(db)? } else { None };
            if let ControlFlow::Break(()) = visit(record, body)? {
                break;
            }
        }
        Ok(())
    }

    /// Returns the events of a subject after one of its revisions, oldest first.
    pub(super) fn events_of(&self, subject: &str, after: u64, limit: usize) -> Result<Vec<Record>, Error> {
        let mut statement = self.connection.prepare_cached(&sql::events_of()).map_err(db)?;
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = statement.query_map(params![subject, int(after), most], sql::record).map_err(db)?;
        rows.collect::<Result<_, _>>().map_err(db)
    }

    /// Returns the bodies of events, for those that have one.
    pub(super) fn bodies(&self, lsns: &[Lsn]) -> Result<BTreeMap<Lsn, String>, Error> {
        // The list is the outer loop: as a set to search in, SQLite would copy it into a tree of its own first.
        let sql = "SELECT lsn, text FROM json_each(?1) CROSS JOIN bodies ON lsn = value";
        let mut statement = self.connection.prepare_cached(sql).map_err(db)?;
        let list = serde_json::to_string(lsns).map_err(|error| Error::Fatal(error.to_string()))?;
        let rows = statement.query_map([list], |row| Ok((number(row, 0)?, row.get(1)?))).map_err(db)?;
        rows.collect::<Result<_, _>>().map_err(db)
    }

    fn run(&self, sql: &str, parameters: impl rusqlite::Params) -> Result<(), Error> {
        self.connection.prepare_cached(sql).map_err(db)?.execute(parameters).map_err(db)?;
        Ok(())
    }

    fn put(&self, table: &Table, row: &Row) -> Result<(), Error> {
        let statements = self.schema.statements(table)?;
        // Both are sorted by name, and the row's columns have been checked.
        if row.len() == statements.names.len() {
            return self.run(&statements.put, params_from_iter(row.iter().map(|(_, cell)| cell)));
        }
        self.run(&statements.put, params_from_iter(statements.names.iter().map(|name| row.get(name))))
    }

    /// Writes the final state of a row.
    pub(super) fn leave(&self, table: &Table, key: &[Cell], row: Option<&Row>) -> Result<(), Error> {
        row.map_or_else(|| self.delete(table, key), |row| self.put(table, row))
    }

    fn patch(&self, table: &Table, key: &[Cell], set: &[(&'static str, Cell)]) -> Result<(), Error> {
        if set.is_empty() {
            return Ok(());
        }
        let columns: Vec<_> = set.iter().map(|(column, _)| *column).collect();
        let sql = self.schema.statements(table)?.change(table, Act::Patch, &columns);
        self.run(&sql, params_from_iter(key.iter().chain(set.iter().map(|(_, cell)| cell))))
    }

    fn add(&self, table: &Table, key: &[Cell], by: &[(&'static str, i64)]) -> Result<(), Error> {
        if by.is_empty() {
            return Ok(());
        }
        let columns: Vec<_> = by.iter().map(|(column, _)| *column).collect();
        let cells: Vec<_> = by.iter().map(|(_, by)| Cell::Int(*by)).collect();
        let sql = self.schema.statements(table)?.change(table, Act::Add, &columns);
        self.run(&sql, params_from_iter(key.iter().chain(&cells)))
    }

    fn delete(&self, table: &Table, key: &[Cell]) -> Result<(), Error> {
        self.run(&self.schema.statements(table)?.delete, params_from_iter(key))
    }
}

impl Tx for Session<'_> {
    fn remember(&mut self, call: &Remembered) -> Result<(), Error> {
        let sql = "INSERT OR REPLACE INTO idempotency (caller, key, verb, args, reply, first, last, ts, sum)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        let Remembered { caller, key, verb, args, reply, first, last, ts } = call;
        self.run(sql, params![caller, key, verb, args.0, reply, int(*first), int(*last), ts.0, call_sum(call)])
    }

    fn append(&mut self, entry: Entry<'_>, body: Option<&Body>) -> Result<(), Error> {
        let Entry { lsn, ts, kind, v, subject, rev, actor, facts, body_hash, prev_hash, hash } = entry;
        let sql = "INSERT INTO events (lsn, ts, kind, v, subject, rev, actor, facts, body_hash, prev_hash, hash)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
        let (at, number) = (int(lsn), int(rev));
        self.run(sql, params![at, ts.0, kind, v, subject, number, actor, facts, body_hash.0, prev_hash.0, hash.0])?;
        if let Some(Body { salt, text }) = body {
            self.run("INSERT INTO bodies (lsn, salt, text) VALUES (?1, ?2, ?3)", params![at, salt, text])?;
        }
        Ok(())
    }

    fn apply(&mut self, change: &Change) -> Result<(), Error> {
        let table = self.schema.table(change.table())?;
        match change {
            Change::Put { row, .. } => self.put(table, row),
            Change::Patch { key, set, .. } => self.patch(table, key, set),
            Change::Add { key, by, .. } => self.add(table, key, by),
            Change::Delete { key, .. } => self.delete(table, key),
        }
    }

    fn advance(&mut self, cursor: &str, lsn: Lsn) -> Result<(), Error> {
        let lsn = lsn.max(self.read_cursor(cursor)?);
        let sql = "INSERT OR REPLACE INTO cursors (name, lsn, sum) VALUES (?1, ?2, ?3)";
        self.run(sql, params![cursor, int(lsn), cursor_sum(cursor, lsn)])
    }

    fn drop_body(&mut self, lsn: Lsn) -> Result<(), Error> {
        super::search::forget(self, lsn)?;
        self.run("DELETE FROM bodies WHERE lsn = ?1", sql::at(lsn))
    }
}

fn cursor_sum(name: &str, lsn: Lsn) -> i64 {
    sql::sum(&[name.as_bytes(), &lsn.to_le_bytes()])
}

fn call_sum(call: &Remembered) -> i64 {
    let Remembered { caller, key, verb, args, reply, first, last, ts } = call;
    let numbers = [first.to_le_bytes(), last.to_le_bytes(), ts.0.to_le_bytes()].concat();
    let texts = [caller, key, verb, reply].map(String::as_bytes);
    sql::sum(&[texts[0], texts[1], texts[2], texts[3], &args.0, &numbers])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::file;

    #[test]
    fn the_events_of_a_subject_are_found_through_its_index() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        file::make(&path).unwrap();
        let opened = file::open_writer(&path, 256, std::time::Duration::ZERO).unwrap();
        let explain = format!("EXPLAIN QUERY PLAN {}", sql::events_of());

        let mut statement = opened.connection.prepare(&explain).unwrap();
        let steps = statement.query_map(params!["run/a", 0, 10], |row| row.get::<_, String>(3)).unwrap();
        let steps: Vec<_> = steps.collect::<Result<_, _>>().unwrap();

        assert_eq!(steps, ["SEARCH e USING INDEX events_by_subject (subject=? AND rev>?)"]);
    }
}
