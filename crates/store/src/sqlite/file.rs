//! Creates, opens and checks the database file.

use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};
use switchboard_protocol::event::Lsn;
use switchboard_protocol::id::Digest;
use switchboard_protocol::time::Millis;

use super::sql::{self, OWN_TABLES, db, digest, number, sum};
use super::tx::Session;
use crate::Error;
use crate::log::Chain;
use crate::record::Tip;
use crate::schema::Schema;

/// Marks the file as a store (`PRAGMA application_id`): "SWBD".
const APPLICATION_ID: i64 = 0x5357_4244;

/// Size of a page of a new file. Three messages of 1,000 bytes fit into a page of 4,096, which is SQLite's default, and seven into one
/// of this size.
const PAGE_BYTES: u32 = 8192;

/// Format of the store's own tables (`PRAGMA user_version`).
const FORMAT: i64 = 1;

/// Marks a file as a copy in its table of metadata. Opening a store removes the mark.
pub(super) const COPY: &str = "copy";

/// How long a checkpoint waits for readers.
pub(super) const BUSY: Duration = Duration::from_millis(50);

/// Number of statements that a connection keeps prepared.
const STATEMENTS: usize = 192;

/// An open connection with the metadata of its file.
pub(super) struct Opened {
    pub(super) connection: Connection,
    pub(super) chain_id: String,
    pub(super) epoch: u64,
}

/// Creates the folder and the file for the owner alone.
pub(super) fn make(path: &Path) -> Result<(), Error> {
    let folder = folder_of(path);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| Error::io(format!("could not make {}", folder.display()), error))?;
    let mut open = OpenOptions::new();
    open.read(true).write(true).create(true).truncate(false).mode(0o600);
    open.open(path).map_err(|error| Error::io(format!("could not open {}", path.display()), error))?;
    let sync = |folder: &Path| File::open(folder)?.sync_all();
    sync(folder).map_err(|error| Error::io(format!("could not sync {}", folder.display()), error))
}

/// Returns the folder that contains the database.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Opens the write connection; creates the store's own tables in a new file, and begins a new epoch.
/// Until the store is open, it waits up to `lock_wait` for another process that holds a lock.
pub(super) fn open_writer(path: &Path, cache_kib: u32, lock_wait: Duration) -> Result<Opened, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| at(path, db(error)))?;
    prepare(&connection, path, cache_kib, lock_wait).map_err(|error| at(path, error))?;
    let (chain_id, epoch) = begin_epoch(&connection).map_err(|error| at(path, error))?;
    Ok(Opened { connection, chain_id, epoch })
}

/// Opens a connection that can't write.
pub(super) fn open_reader(path: &Path, cache_kib: u32) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(db)?;
    configure(&connection, cache_kib)?;
    connection.pragma_update(None, "query_only", true).map_err(db)?;
    Ok(connection)
}

/// Opens a file that no process writes, without creating or reading any other file beside it.
pub(super) fn open_untouched(path: &Path) -> Result<Connection, Error> {
    let escaped = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(format!("file:{escaped}?immutable=1"), flags).map_err(db)
}

/// Configures a connection. No memory map: a flipped or missing page must be an error, not a signal.
fn configure(connection: &Connection, cache_kib: u32) -> Result<(), Error> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Otherwise SQLite replans a prepared statement whenever a parameter changes that a partial index could depend on.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(db)?;
    connection.busy_timeout(BUSY).map_err(db)?;
    connection.pragma_update(None, "cache_size", -i64::from(cache_kib)).map_err(db)?;
    connection.pragma_update(None, "mmap_size", 0).map_err(db)?;
    connection.pragma_update(None, "temp_store", "memory").map_err(db)?;
    connection.pragma_update(None, "cell_size_check", true).map_err(db)?;
    connection.pragma_update(None, "trusted_schema", false).map_err(db)
}

/// Returns true if the file is new; rejects files that are not stores, or are of a newer version.
fn is_new(connection: &Connection, path: &Path) -> Result<bool, Error> {
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(db);
    let (application, format, objects) = (pragma("application_id")?, pragma("user_version")?, objects(connection)?);
    if application == 0 && format == 0 && objects == 0 {
        return Ok(true);
    }
    if application != APPLICATION_ID {
        return Err(Error::Corrupt { place: path.display().to_string(), what: "it is not a store".to_owned() });
    }
    if format > FORMAT {
        return Err(Error::Newer { path: path.to_owned(), found: format, known: FORMAT });
    }
    Ok(false)
}

/// Returns the chain's id, for a check of a file that may not be a store.
pub(super) fn identify(connection: &Connection, path: &Path) -> Result<String, Error> {
    if is_new(connection, path)? {
        return Err(Error::Corrupt { place: path.display().to_string(), what: "it is an empty file".to_owned() });
    }
    meta(connection, "chain_id")?.ok_or_else(|| missing("the chain's id"))
}

fn prepare(connection: &Connection, path: &Path, cache_kib: u32, lock_wait: Duration) -> Result<(), Error> {
    connection.busy_timeout(lock_wait).map_err(db)?;
    let is_new = is_new(connection, path)?;
    configure(connection, cache_kib)?;
    connection.busy_timeout(lock_wait).map_err(db)?;
    if is_new {
        connection.pragma_update(None, "page_size", PAGE_BYTES).map_err(db)?;
    }
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0)).map_err(db)?;
    if mode != "wal" {
        return Err(Error::Database(format!("the journal mode is {mode}, not wal")));
    }
    // The writer decides when to checkpoint, and `fullfsync` makes macOS flush the drive too.
    connection.pragma_update(None, "wal_autocheckpoint", 0).map_err(db)?;
    connection.pragma_update(None, "fullfsync", true).map_err(db)?;
    connection.pragma_update(None, "synchronous", "full").map_err(db)?;
    // A dropped body must not remain in free pages.
    connection.pragma_update(None, "secure_delete", true).map_err(db)?;
    if is_new {
        make_tables(connection)?;
    }
    Ok(())
}

fn objects(connection: &Connection) -> Result<i64, Error> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(db)
}

fn make_tables(connection: &Connection) -> Result<(), Error> {
    let mut bits = [0; 8];
    getrandom::fill(&mut bits)
        .map_err(|error| Error::io("the system gave no random bytes", std::io::Error::other(error)))?;
    let chain_id = format!("chain_{:016x}", u64::from_le_bytes(bits));
    let begin = format!(
        "BEGIN IMMEDIATE; {OWN_TABLES} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT};"
    );
    connection.execute_batch(&begin).map_err(db)?;
    set_meta(connection, "chain_id", &chain_id)?;
    set_meta(connection, "epoch", "0")?;
    connection.execute_batch("COMMIT").map_err(db)
}

/// Begins a new epoch, which makes decisions of earlier owners stale.
fn begin_epoch(connection: &Connection) -> Result<(String, u64), Error> {
    let chain_id = meta(connection, "chain_id")?.ok_or_else(|| missing("the chain's id"))?;
    let epoch = meta(connection, "epoch")?.and_then(|text| text.parse::<u64>().ok());
    let epoch = epoch.ok_or_else(|| missing("the epoch"))? + 1;
    set_meta(connection, "epoch", &epoch.to_string())?;
    connection.execute("DELETE FROM meta WHERE name = ?1", [COPY]).map_err(db)?;
    Ok((chain_id, epoch))
}

fn missing(name: &str) -> Error {
    Error::Corrupt { place: "table meta".to_owned(), what: format!("it lacks {name}") }
}

/// Returns a value of the meta table.
pub(super) fn meta(connection: &Connection, name: &str) -> Result<Option<String>, Error> {
    let sql = "SELECT value, sum FROM meta WHERE name = ?1";
    let mut statement = connection.prepare_cached(sql).map_err(db)?;
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?));
    let Some((value, found)) = statement.query_row([name], read).optional().map_err(db)? else { return Ok(None) };
    if sum(&[name.as_bytes(), value.as_bytes()]) != found {
        return Err(sql::damaged("meta", name));
    }
    Ok(Some(value))
}

/// Sets a value of the meta table.
pub(super) fn set_meta(connection: &Connection, name: &str, value: &str) -> Result<(), Error> {
    let sql = "INSERT OR REPLACE INTO meta (name, value, sum) VALUES (?1, ?2, ?3)";
    let sum = sum(&[name.as_bytes(), value.as_bytes()]);
    connection.prepare_cached(sql).map_err(db)?.execute(params![name, value, sum]).map_err(db)?;
    Ok(())
}

/// Returns the last event up to which the chain is known to be intact.
pub(super) fn checked(connection: &Connection) -> Result<(Lsn, Digest), Error> {
    let Some(text) = meta(connection, "checked")? else { return Ok((0, Digest::ZERO)) };
    let parsed = text.split_once(' ').and_then(|(lsn, hash)| Some((lsn.parse().ok()?, Digest::parse(hash)?)));
    parsed.ok_or_else(|| Error::Corrupt { place: "table meta".to_owned(), what: format!("{text:?} is not a head") })
}

/// Records that the chain is intact up to an event.
pub(super) fn set_checked(connection: &Connection, tip: &Tip) -> Result<(), Error> {
    set_meta(connection, "checked", &format!("{} {}", tip.lsn, tip.hash))
}

/// Returns the head of the log, after checking the chain from the last event that is known to be intact.
pub(super) fn checked_head(connection: &Connection, schema: &Schema, chain_id: &str) -> Result<Tip, Error> {
    let (lsn, hash) = checked(connection)?;
    let found = connection
        .query_row("SELECT hash FROM events WHERE lsn = ?1", sql::at(lsn), |row| digest(row, 0))
        .optional()
        .map_err(db)?;
    if lsn > 0 && found != Some(hash) {
        let what = if found.is_some() { "it is not the event that was written" } else { "it is missing" };
        return Err(Error::Corrupt { place: format!("event {lsn}"), what: what.to_owned() });
    }
    let mut chain = Chain::after(chain_id, lsn, hash);
    Session::new(connection, schema).scan(lsn, false, &mut |record, _| {
        chain.follow(&record, None);
        Ok(std::ops::ControlFlow::Continue(()))
    })?;
    match chain.findings.into_iter().next() {
        Some(finding) => Err(Error::Corrupt { place: finding.place.to_string(), what: finding.what }),
        None => head(connection),
    }
}

/// Returns the current head of the log.
pub(super) fn head(connection: &Connection) -> Result<Tip, Error> {
    let read =
        |row: &rusqlite::Row<'_>| Ok(Tip { lsn: number(row, 0)?, hash: digest(row, 1)?, ts: Millis(row.get(2)?) });
    let tip = connection.prepare_cached(sql::HEAD).map_err(db)?.query_row([], read).optional().map_err(db)?;
    Ok(tip.unwrap_or(Tip::START))
}

/// Adds the path of the file to an error that only reports damage.
pub(super) fn at(path: &Path, error: Error) -> Error {
    if let Error::Corrupt { place, what } = &error
        && place == "the database file"
    {
        return Error::Corrupt { place: path.display().to_string(), what: what.clone() };
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_has_pages_of_our_size_and_one_with_others_is_used_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        make(&path).unwrap();
        let open = || open_writer(&path, 256, Duration::ZERO).unwrap();
        let page = |opened: &Opened| {
            let page: u32 = opened.connection.pragma_query_value(None, "page_size", |row| row.get(0)).unwrap();
            page
        };

        let opened = open();
        assert_eq!(page(&opened), PAGE_BYTES);

        opened.connection.execute_batch("PRAGMA journal_mode = delete; PRAGMA page_size = 4096; VACUUM").unwrap();
        let chain = opened.chain_id.clone();
        drop(opened);
        let again = open();
        assert_eq!((page(&again), again.chain_id), (4096, chain));
    }
}
