//! The declared tables on disk: created, rebuilt from the log after a change of their declaration, and compared with
//! it.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use rusqlite::{Connection, params};

use super::sql::{self, Statements, db};
use super::tx::Session;
use crate::log::{Chain, DamageSite};
use crate::schema::Schema;
use crate::write::Tx as _;
use crate::{Error, Row, Table};

/// Brings the tables on disk in line with the declarations, in one transaction.
pub(super) fn prepare(connection: &Connection, schema: &Schema) -> Result<(), Error> {
    let stale: BTreeSet<usize> = stale(connection, schema)?;
    let orphans = orphans(connection, schema)?;
    if stale.is_empty() && orphans.is_empty() {
        return Ok(());
    }
    connection.execute_batch("BEGIN IMMEDIATE").map_err(db)?;
    let done = drop_tables(connection, &orphans).and_then(|()| remake(connection, schema, &stale));
    match done {
        Ok(()) => connection.execute_batch("COMMIT").map_err(db),
        Err(error) => {
            connection.execute_batch("ROLLBACK").map_err(db)?;
            Err(error)
        }
    }
}

/// Returns the projections with a table that is missing or was created by another version.
fn stale(connection: &Connection, schema: &Schema) -> Result<BTreeSet<usize>, Error> {
    let known = known(connection)?;
    let is_stale = |table: &&'static Table| {
        let shape = schema.shape(table);
        !known.iter().any(|(name, known)| name == table.name && *known == shape)
    };
    Ok(schema.tables().filter(is_stale).map(|table| schema.owner(table)).collect())
}

/// Returns the tables that no part declares any more.
fn orphans(connection: &Connection, schema: &Schema) -> Result<Vec<String>, Error> {
    let known = known(connection)?.into_iter().map(|(name, _)| name);
    Ok(known.filter(|name| schema.table(name).is_err()).collect())
}

fn known(connection: &Connection) -> Result<Vec<(String, String)>, Error> {
    let mut statement = connection.prepare("SELECT name, shape FROM projections").map_err(db)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(db)?;
    rows.collect::<Result<_, _>>().map_err(db)
}

fn drop_tables(connection: &Connection, names: &[String]) -> Result<(), Error> {
    for name in names {
        connection.execute_batch(&format!("DROP TABLE IF EXISTS \"{}\"", name.replace('"', "\"\""))).map_err(db)?;
        connection.execute("DELETE FROM projections WHERE name = ?1", [name]).map_err(db)?;
    }
    Ok(())
}

fn remake(connection: &Connection, schema: &Schema, owners: &BTreeSet<usize>) -> Result<(), Error> {
    for table in schema.tables().filter(|table| owners.contains(&schema.owner(table))) {
        drop_tables(connection, &[table.name.to_owned()])?;
        connection.execute_batch(&sql::create(table)).map_err(db)?;
        let shape = schema.shape(table);
        connection
            .execute("INSERT INTO projections (name, shape) VALUES (?1, ?2)", params![table.name, shape])
            .map_err(db)?;
    }
    replay(connection, connection, schema, owners)
}

/// Runs projections over the whole log of one connection into the tables of another.
fn replay(from: &Connection, into: &Connection, schema: &Schema, owners: &BTreeSet<usize>) -> Result<(), Error> {
    let mut target = Session::new(into, schema);
    Session::new(from, schema).scan(0, false, &mut |record, _| {
        let event = record.into_event(schema, None)?;
        for owner in owners {
            for change in schema.project_one(*owner, &event)? {
                target.apply(&change)?;
            }
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// Compares all tables with ones that are rebuilt from the log; returns the number of compared rows.
pub(super) fn compare(connection: &Connection, schema: &Schema, chain: &mut Chain<'_>) -> Result<u64, Error> {
    let rebuilt = Connection::open("").map_err(db)?;
    // Tables of another version of the program are rebuilt at the next opening, so there is nothing to compare.
    let stale = stale(connection, schema)?;
    let tables: Vec<_> = schema.tables().filter(|table| !stale.contains(&schema.owner(table))).collect();
    let owners = tables.iter().map(|table| schema.owner(table)).collect();
    for table in &tables {
        rebuilt.execute_batch(&sql::create(table)).map_err(db)?;
    }
    rebuilt.execute_batch("BEGIN").map_err(db)?;
    if let Err(error) = replay(connection, &rebuilt, schema, &owners) {
        chain.found(DamageSite::File, format!("the tables can't be rebuilt from the log: {error}"));
        return Ok(0);
    }
    let mut rows = 0;
    for table in tables {
        match compare_table(connection, &rebuilt, table) {
            Ok((count, None)) => rows += count,
            Ok((_, Some(what))) => chain.found(DamageSite::Table(table.name.to_owned()), what),
            Err(Error::Corrupt { what, .. }) => chain.found(DamageSite::Table(table.name.to_owned()), what),
            Err(other) => return Err(other),
        }
    }
    Ok(rows)
}

/// Walks a table and its rebuilt copy in the order of their keys; returns the first difference.
fn compare_table(stored: &Connection, rebuilt: &Connection, table: &Table) -> Result<(u64, Option<String>), Error> {
    let key = table.key.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    let statements = Statements::of(table);
    let sql = format!("SELECT {} FROM \"{}\" ORDER BY {key}", statements.columns, table.name);
    let (mut left, mut right) = (stored.prepare(&sql).map_err(db)?, rebuilt.prepare(&sql).map_err(db)?);
    let (mut left, mut right) = (left.query([]).map_err(db)?, right.query([]).map_err(db)?);
    let mut count = 0;
    loop {
        let found = left.next().map_err(db)?.map(|row| statements.row(row)).transpose().map_err(db)?;
        let wanted = right.next().map_err(db)?.map(|row| statements.row(row)).transpose().map_err(db)?;
        match (found, wanted) {
            (None, None) => return Ok((count, None)),
            (found, wanted) if found == wanted => count += 1,
            (found, wanted) => {
                let at = name_of(table, found.as_ref().or(wanted.as_ref()));
                return Ok((count, Some(format!("the row {at} is not what the log says"))));
            }
        }
    }
}

fn name_of(table: &Table, row: Option<&Row>) -> String {
    let cell = |name: &&str| row.map_or_else(String::new, |row| format!("{:?}", row.get(name)));
    table.key.iter().map(cell).collect::<Vec<_>>().join(", ")
}
