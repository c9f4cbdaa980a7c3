//! Checks a whole store: its file, its own rows, the chain, the tables and the search index.

use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::Connection;
use switchboard_protocol::id::Digest;

use super::tx::Session;
use super::{file, note, projections, redo, search, sql};
use crate::lock::Lock;
use crate::log::{Chain, DamageSite};
use crate::record::Tip;
use crate::schema::Schema;
use crate::verify::Report;
use crate::{Config, Error};

/// Checks a store that no process has open, without changing it; also one that can't be opened.
pub(crate) fn file(config: &Config, schema: &Schema) -> Result<Report, Error> {
    let path = config.path.as_path();
    if let Err(error) = path.metadata() {
        return Err(Error::io(format!("there is no store at {}", path.display()), error));
    }
    let _lock = Lock::take(path)?;
    let report = closed(path, schema, config.cache_kib)?;
    Ok(report)
}

/// As [`file()`], without a lock, for a copy that no other process uses.
pub(super) fn closed(path: &Path, schema: &Schema, cache_kib: u32) -> Result<Report, Error> {
    let opened = file::open_reader(path, cache_kib)
        .and_then(|connection| file::identify(&connection, path).map(|id| (connection, id)));
    let (connection, chain_id) = match opened {
        Ok(opened) => opened,
        Err(error) => return unreadable(error),
    };
    let mut chain = Chain::after(&chain_id, 0, Digest::ZERO);
    connection.execute_batch("BEGIN").map_err(sql::db)?;
    let (_, rows) = all(&connection, schema, true, &mut chain)?;
    if chain.findings.is_empty() {
        behind(path, &connection, &chain_id, &mut chain)?;
    }
    Ok(Report::new(chain, &chain_id, rows))
}

/// Follows the chain into the redo log, and checks that all answered commits are there.
fn behind(path: &Path, connection: &Connection, chain_id: &str, chain: &mut Chain<'_>) -> Result<(), Error> {
    let redo_records = match redo::read(path, chain_id) {
        Ok(redo_records) => redo_records,
        Err(Error::Corrupt { what, .. }) => {
            chain.found(DamageSite::File, what);
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let head = chain.lsn;
    for (record, body) in
        redo_records.iter().flat_map(|redo_record| &redo_record.events).filter(|(record, _)| record.lsn > head)
    {
        chain.follow(record, body.as_ref());
    }
    if let Some(finding) = note::missing(path, connection, &redo_records)? {
        chain.found(finding.place, finding.what);
    }
    Ok(())
}

/// Returns the report on a file that can't be checked any further.
fn unreadable(error: Error) -> Result<Report, Error> {
    let Error::Corrupt { place, what } = error else { return Err(error) };
    let mut chain = Chain::after("", 0, Digest::ZERO);
    chain.found(DamageSite::File, format!("{place}: {what}"));
    Ok(Report::new(chain, "", 0))
}

/// Checks a connection's snapshot in its transaction: the chain, and with `all` everything else. Returns the head and
/// the number of rows that were compared with rebuilt ones.
pub(super) fn all(
    connection: &Connection,
    schema: &Schema,
    all: bool,
    chain: &mut Chain<'_>,
) -> Result<(Tip, u64), Error> {
    if all {
        structure(connection, chain)?;
        own_rows(connection, schema, chain)?;
    }
    let followed = Session::new(connection, schema).scan(0, true, &mut |record, body| {
        chain.follow(&record, body.as_ref());
        Ok(ControlFlow::Continue(()))
    });
    if let Err(error) = followed {
        let Error::Corrupt { what, .. } = error else { return Err(error) };
        chain.found(DamageSite::at(chain.lsn + 1), what);
        return Ok((Tip { lsn: chain.lsn, hash: chain.hash, ..Tip::START }, 0));
    }
    let tip = file::head(connection)?;
    if !all {
        return Ok((tip, 0));
    }
    let rows = projections::compare(connection, schema, chain)?;
    search::compare(connection, schema, chain)?;
    Ok((tip, rows))
}

fn structure(connection: &Connection, chain: &mut Chain<'_>) -> Result<(), Error> {
    let mut statement = connection.prepare("PRAGMA integrity_check(5)").map_err(sql::db)?;
    let lines = statement.query_map([], |row| row.get::<_, String>(0)).map_err(sql::db)?;
    for line in lines {
        match line {
            Ok(line) if line == "ok" => {}
            Ok(line) => chain.found(DamageSite::File, line),
            Err(error) => chain.found(DamageSite::File, error.to_string()),
        }
    }
    Ok(())
}

/// Reads every row that is protected only by a checksum.
fn own_rows(connection: &Connection, schema: &Schema, chain: &mut Chain<'_>) -> Result<(), Error> {
    let session = Session::new(connection, schema);
    for (table, sql) in [
        ("meta", "SELECT name, '' FROM meta"),
        ("cursors", "SELECT name, '' FROM cursors"),
        ("idempotency", "SELECT caller, key FROM idempotency"),
    ] {
        let checked = names(connection, sql).and_then(|rows| {
            rows.iter().try_for_each(|[name, key]| match table {
                "meta" => file::meta(connection, name).map(|_| ()),
                "cursors" => session.read_cursor(name).map(|_| ()),
                _ => session.read_remembered(name, key).map(|_| ()),
            })
        });
        match checked {
            Ok(()) => {}
            Err(Error::Corrupt { what, .. }) => chain.found(DamageSite::Table(table.to_owned()), what),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn names(connection: &Connection, sql: &str) -> Result<Vec<[String; 2]>, Error> {
    let mut statement = connection.prepare(sql).map_err(sql::db)?;
    let rows = statement.query_map([], |row| Ok([row.get(0)?, row.get(1)?])).map_err(sql::db)?;
    rows.collect::<Result<_, _>>().map_err(sql::db)
}
