//! The search index: an FTS5 table beside the log with its own cursor, created at the first search.
//!
//! It is derived from the bodies and stores no text, so it can always be rebuilt.

use std::ops::ControlFlow;

use rusqlite::{Connection, OptionalExtension as _, params};
use switchboard_protocol::event::Lsn;
use switchboard_protocol::id::Digest;

use super::file;
use super::sql::{db, int, number};
use super::tx::Session;
use crate::Error;
use crate::log::{Chain, DamageSite};
use crate::record::{Body, Record};
use crate::schema::Schema;
use crate::search::{Search, Term, indexed};
use crate::write::Tx as _;

/// Name of the cursor of the index.
const CURSOR: &str = "store/search";

/// Version of the rules for splitting a text into words; raised whenever they change.
const VERSION: u32 = 1;

/// Maximum number of bodies, bytes of text and events in one step; limits how long commits wait for it.
const STEP: (usize, usize, usize) = (256, 1 << 20, 4_096);

/// Words are already split, so every byte except spaces belongs to one. Without column sizes: nothing is ranked.
/// `secure-delete` removes the words of a dropped body at once instead of marking them as deleted.
const CREATE: &str = "
    CREATE VIRTUAL TABLE search USING fts5(text, content='', columnsize=0, tokenize='ascii');
    INSERT INTO search (search, rank) VALUES ('secure-delete', 1);
    CREATE VIRTUAL TABLE search_words USING fts5vocab('search', 'instance');";

/// Removes an index that another version of the program created.
pub(super) fn prepare(connection: &Connection, schema: &Schema) -> Result<(), Error> {
    let found = file::meta(connection, "search")?;
    if found.is_none_or(|found| found == shape(schema)) {
        return Ok(());
    }
    connection.execute_batch("BEGIN IMMEDIATE").map_err(db)?;
    let done = discard(connection);
    connection.execute_batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).map_err(db)?;
    done
}

/// Returns true if there is an index.
pub(super) fn exists(connection: &Connection) -> Result<bool, Error> {
    Ok(file::meta(connection, "search")?.is_some())
}

/// Removes the index; inside a transaction.
pub(super) fn discard(connection: &Connection) -> Result<(), Error> {
    let sql = "DROP TABLE IF EXISTS search_words; DROP TABLE IF EXISTS search; DELETE FROM meta WHERE name = 'search'";
    connection.execute_batch(sql).map_err(db)?;
    connection.execute("DELETE FROM cursors WHERE name = ?1", [CURSOR]).map_err(db)?;
    Ok(())
}

/// Indexes further bodies, creating the index if there is none; inside a transaction. Returns the last event that is
/// indexed.
pub(super) fn step(session: &mut Session<'_>) -> Result<Lsn, Error> {
    if !exists(session.connection)? {
        session.connection.execute_batch(CREATE).map_err(db)?;
        file::set_meta(session.connection, "search", &shape(session.schema))?;
    }
    let from = session.read_cursor(CURSOR)?;
    let upto = fill(session, session.connection, from, Lsn::MAX, STEP)?;
    if upto > from {
        session.advance(CURSOR, upto)?;
    }
    Ok(upto)
}

/// Returns the last event that is indexed; `None` if there is no index.
pub(super) fn reached(session: &Session<'_>) -> Result<Option<Lsn>, Error> {
    if exists(session.connection)? { session.read_cursor(CURSOR).map(Some) } else { Ok(None) }
}

/// Removes the words of a body that is about to be dropped from the index. If that fails, the whole index is removed.
pub(super) fn forget(session: &Session<'_>, lsn: Lsn) -> Result<(), Error> {
    if reached(session)?.is_none_or(|reached| lsn > reached) {
        return Ok(());
    }
    let sql = "SELECT e.kind, b.text FROM bodies b JOIN events e USING (lsn) WHERE b.lsn = ?1";
    let mut statement = session.connection.prepare_cached(sql).map_err(db)?;
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
    let Some((kind, text)) = statement.query_row([int(lsn)], read).optional().map_err(db)? else { return Ok(()) };
    if !session.schema.is_searched(&kind) {
        return Ok(());
    }
    let sql = "INSERT INTO search (search, rowid, text) VALUES ('delete', ?1, ?2)";
    let mut statement = session.connection.prepare_cached(sql).map_err(db)?;
    match statement.execute(params![int(lsn), indexed(&text)]).map_err(db) {
        Err(Error::Corrupt { what, .. }) => {
            tracing::warn!(what, "the index of words is damaged; it is made anew when it is needed");
            drop(statement);
            discard(session.connection)
        }
        done => done.map(|_| ()),
    }
}

/// Queries the index.
pub(super) fn ask(connection: &Connection, search: &Search<'_>) -> Result<Vec<Lsn>, Error> {
    let sql = "SELECT rowid FROM search WHERE search MATCH ?1 AND rowid < ?2 ORDER BY rowid DESC LIMIT ?3";
    let mut statement = connection.prepare_cached(sql).map_err(db)?;
    let question = question(search.words.terms());
    let rows = statement.query_map(params![question, int(search.before), int(search.limit)], |row| number(row, 0));
    rows.map_err(db)?.collect::<Result<_, _>>().map_err(db)
}

/// Returns the query in FTS5 syntax. Words hold letters and digits only, so they need no escaping.
fn question(terms: &[Term]) -> String {
    let phrase = |term: &Term| format!("\"{}\"{}", term.words.join(" "), if term.is_prefix { " *" } else { "" });
    let list = |excluded, between| {
        let phrases = terms.iter().filter(|term| term.is_excluded == excluded).map(phrase);
        phrases.collect::<Vec<_>>().join(between)
    };
    match list(true, " OR ") {
        none if none.is_empty() => list(false, " AND "),
        excluded => format!("({}) NOT ({excluded})", list(false, " AND ")),
    }
}

/// Adds the words of bodies after `from`, up to `last`, to the index of another connection; returns where it stopped.
fn fill(
    session: &Session<'_>,
    into: &Connection,
    from: Lsn,
    last: Lsn,
    limits: (usize, usize, usize),
) -> Result<Lsn, Error> {
    let sql = "INSERT INTO search (rowid, text) VALUES (?1, ?2)";
    let mut insert = into.prepare(sql).map_err(db)?;
    let (mut upto, mut bodies, mut bytes, mut events) = (from, 0, 0, 0);
    session.scan(from, true, &mut |record: Record, body: Option<Body>| {
        if record.lsn > last {
            return Ok(ControlFlow::Break(()));
        }
        (upto, events) = (record.lsn, events + 1);
        if let Some(body) = body.filter(|_| session.schema.is_searched(&record.kind)) {
            insert.execute(params![int(record.lsn), indexed(&body.text)]).map_err(db)?;
            (bodies, bytes) = (bodies + 1, bytes + body.text.len());
        }
        let is_full = bodies >= limits.0 || bytes >= limits.1 || events >= limits.2;
        Ok(if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    Ok(upto)
}

/// Compares the index with one that is rebuilt from the log.
pub(super) fn compare(connection: &Connection, schema: &Schema, chain: &mut Chain<'_>) -> Result<(), Error> {
    let session = Session::new(connection, schema);
    let is_ours = file::meta(connection, "search").is_ok_and(|found| found == Some(shape(schema)));
    if !is_ours {
        return Ok(());
    }
    let compared = session.read_cursor(CURSOR).and_then(|upto| {
        let rebuilt = Connection::open("").map_err(db)?;
        rebuilt.execute_batch(CREATE).map_err(db)?;
        rebuilt.execute_batch("BEGIN").map_err(db)?;
        fill(&session, &rebuilt, 0, upto, (usize::MAX, usize::MAX, usize::MAX))?;
        difference(connection, &rebuilt)
    });
    let what = match compared {
        Ok(None) => return Ok(()),
        Ok(Some(what)) => what,
        Err(Error::Corrupt { what, .. } | Error::Database(what)) => what,
        Err(other) => return Err(other),
    };
    chain.found(DamageSite::Table("search".to_owned()), what);
    Ok(())
}

/// Returns the first difference between two indexes, walking both in their own order.
fn difference(stored: &Connection, rebuilt: &Connection) -> Result<Option<String>, Error> {
    let sql = "SELECT term, doc, offset FROM search_words";
    let (mut left, mut right) = (stored.prepare(sql).map_err(db)?, rebuilt.prepare(sql).map_err(db)?);
    let (mut left, mut right) = (left.query([]).map_err(db)?, right.query([]).map_err(db)?);
    let read = |row: &rusqlite::Row<'_>| -> rusqlite::Result<(String, i64, i64)> {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    };
    loop {
        let found = left.next().map_err(db)?.map(read).transpose().map_err(db)?;
        let wanted = right.next().map_err(db)?.map(read).transpose().map_err(db)?;
        if found != wanted {
            let lsn = [&found, &wanted].into_iter().flatten().map(|(_, doc, _)| *doc).min().unwrap_or(0);
            return Ok(Some(format!("the words of event {lsn} are not what its body says")));
        }
        if found.is_none() {
            return Ok(None);
        }
    }
}

/// Returns a text that changes whenever the index must be rebuilt.
fn shape(schema: &Schema) -> String {
    let kinds: Vec<_> = schema.searched().into_iter().collect();
    format!("{VERSION}:{}", Digest::of(kinds.join(" ").as_bytes()).hex())
}
