//! Copies of a store: made while it is in use, and restored in its place.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use serde_json::json;
use switchboard_process::file::Draft;
use switchboard_protocol::event::{Lsn, NewEvent};

use super::redo::RedoRecord;
use super::sql::db;
use super::{back, check, file, redo};
use crate::lock::Lock;
use crate::record::Tip;
use crate::schema::Schema;
use crate::verify::{Report, Restored};
use crate::{Config, Error, Head};

/// Page cache for the check of a copy, in KiB.
const CACHE_KIB: u32 = 1024;

/// Number of epochs to skip if the epoch of the replaced store can't be read: more openings than a store sees
/// between two backups.
const EPOCHS: u64 = 1 << 20;

/// Copies a connection's snapshot and the newer records of the redo log into a new file, syncs it and checks it. A copy
/// that does not verify is removed. An earlier copy of the same record is replaced.
pub(super) fn copy(
    connection: &Connection,
    schema: &Schema,
    to: &Path,
    redo_records: &[RedoRecord],
) -> Result<Report, Error> {
    let head = redo::last(redo_records, file::head(connection)?.lsn);
    let chain_id = file::meta(connection, "chain_id")?.unwrap_or_default();
    let draft = Draft::begin(to, |to| is_earlier_copy(to, &chain_id, head));
    let draft = draft.map_err(|error| not_made(to, error))?;
    let name = draft.path().to_str().ok_or_else(|| {
        Error::io(format!("{} is not UTF-8", to.display()), io::Error::from(io::ErrorKind::InvalidInput))
    })?;
    // Only the copy is written; the connection itself was opened for reading.
    connection.pragma_update(None, "query_only", false).map_err(db)?;
    connection.execute("VACUUM INTO ?1", [name]).map_err(db)?;
    take_in(draft.path(), schema, redo_records)?;
    let report = check::closed(draft.path(), schema, CACHE_KIB)?.into_clean()?;
    draft.publish().map_err(|error| not_made(to, error))?;
    Ok(report)
}

fn not_made(to: &Path, error: io::Error) -> Error {
    let to = to.display();
    let what = match error.kind() == io::ErrorKind::AlreadyExists {
        true => format!("{to} is there, and is no earlier copy of this record"),
        false => format!("could not make {to}"),
    };
    Error::io(what, error)
}

/// Returns true if a file is a copy of this chain that holds nothing beyond the record.
fn is_earlier_copy(path: &Path, chain_id: &str, head: Lsn) -> bool {
    let look = || -> Result<bool, Error> {
        let connection = file::open_untouched(path)?;
        let is_copy = file::meta(&connection, file::COPY)?.is_some();
        Ok(is_copy && file::identify(&connection, path)? == chain_id && file::head(&connection)?.lsn <= head)
    };
    look().unwrap_or(false)
}

/// Marks the copy, and adds the records that only the redo log has.
fn take_in(copy: &Path, schema: &Schema, redo_records: &[RedoRecord]) -> Result<(), Error> {
    let connection = Connection::open(copy).map_err(db)?;
    file::set_meta(&connection, file::COPY, "1")?;
    if redo_records.is_empty() {
        return Ok(());
    }
    let (chain_id, tip) = (file::identify(&connection, copy)?, file::head(&connection)?);
    back::replay(&connection, schema, &chain_id, tip, redo_records).map(|_| ())
}

/// See [`crate::restore`]. `record` commits an event to the store of a configuration, closes it, and returns its head and epoch.
pub(crate) fn restore(
    backup: &Path,
    config: &Config,
    schema: &Schema,
    record: impl FnOnce(Config, NewEvent) -> Result<(Head, u64), Error>,
) -> Result<Restored, Error> {
    let path = config.path.as_path();
    let folder = file::folder_of(path);
    private_folder(folder)?;
    crate::mount::refuse_network(folder, path)?;
    let _lock = Lock::take(path)?;
    let beside = StagingFolder::make(folder)?;
    let fresh = beside.0.join("store.db");
    copy_in(backup, &fresh)?;
    let from = check::closed(&fresh, schema, CACHE_KIB)?.into_clean()?;
    let old = Old::look(path);
    begin_after(&fresh, &old)?;
    let (head, epoch) = record(Config { path: fresh.clone(), ..config.clone() }, restored(&from, old.head))?;
    // Everything must be in the one file that is moved.
    let has_more = |ending| with(&fresh, ending).metadata().is_ok_and(|file| file.len() > 0);
    if ["-wal", ".redo"].into_iter().any(has_more) {
        return Err(Error::Busy);
    }
    let aside = folder.join(format!("replaced-{epoch}"));
    let replaced = put_aside(path, &aside)?;
    // From here on, a crash leaves either no store or the new one; never the new file with the old logs.
    for ending in [".head", "-wal", "-shm", ".redo"] {
        remove(&with(path, ending))?;
    }
    let swap = fs::rename(&fresh, path);
    swap.map_err(|error| Error::io(format!("could not put the copy in place as {}", path.display()), error))?;
    sync_folder(folder)?;
    Ok(Restored { from: from.head, head, epoch, replaced: replaced.then_some(aside) })
}

/// What is known about the store that is replaced.
struct Old {
    epoch: Option<u64>,
    is_there: bool,
    head: Head,
}

// === impl Old ===

impl Old {
    /// Examines the store, and moves its write-ahead log into the file if possible, so that the kept file is complete.
    fn look(path: &Path) -> Self {
        let nothing = Self { epoch: None, is_there: path.exists(), head: Head { lsn: 0, hash: Tip::START.hash } };
        if !nothing.is_there {
            return nothing;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let Ok(connection) = Connection::open_with_flags(path, flags) else { return nothing };
        if let Err(error) = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())) {
            tracing::warn!(%error, "the store that is replaced is damaged; it is put aside as it is");
        }
        let epoch = file::meta(&connection, "epoch").ok().flatten().and_then(|text| text.parse().ok());
        let head = file::head(&connection).map_or(nothing.head, |tip| Head { lsn: tip.lsn, hash: tip.hash });
        let redo_records =
            file::identify(&connection, path).and_then(|chain_id| redo::read(path, &chain_id)).unwrap_or_default();
        let last = redo::find(&redo_records, redo::last(&redo_records, head.lsn));
        Self { epoch, head: last.map_or(head, |last| Head { lsn: last.lsn, hash: last.hash }), ..nothing }
    }
}

/// Sets the copy to an epoch after every one of the replaced store, so that decisions from there are stale.
fn begin_after(fresh: &Path, old: &Old) -> Result<(), Error> {
    let connection = Connection::open(fresh).map_err(db)?;
    let own: u64 = file::meta(&connection, "epoch")?.and_then(|text| text.parse().ok()).unwrap_or(0);
    let after = match old.epoch {
        Some(epoch) => own.max(epoch),
        None if old.is_there => own.saturating_add(EPOCHS),
        None => own,
    };
    file::set_meta(&connection, "epoch", &after.to_string())
}

/// Returns the event that records where the copy comes from.
fn restored(from: &Report, old: Head) -> NewEvent {
    let facts = json!({
        "lsn": from.head.lsn, "hash": from.head.hash, "replaced_lsn": old.lsn, "replaced_hash": old.hash,
    });
    NewEvent::new("store_restored", "store", "switchboard", facts)
}

/// Folder in which a copy is prepared, on the file system of the store. Leftovers of an earlier try are removed, and
/// the folder itself when this value is dropped.
struct StagingFolder(PathBuf);

// === impl StagingFolder ===

impl StagingFolder {
    fn make(folder: &Path) -> Result<Self, Error> {
        let path = folder.join("restoring");
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::io(format!("could not remove {}", path.display()), error));
            }
            Ok(()) | Err(_) => {}
        }
        private_folder(&path)?;
        Ok(Self(path))
    }
}

impl Drop for StagingFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, path = %self.0.display(), "could not be removed");
        }
    }
}

/// Copies a backup, together with its logs if it is a store that was never closed.
fn copy_in(backup: &Path, fresh: &Path) -> Result<(), Error> {
    let copy = |from: &Path, to: &Path| {
        let mut reader = File::open(from)?;
        let mut writer = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
        io::copy(&mut reader, &mut writer)?;
        writer.sync_all()
    };
    copy(backup, fresh).map_err(|error| Error::io(format!("could not copy {}", backup.display()), error))?;
    for ending in ["-wal", ".redo"] {
        let log = with(backup, ending);
        if log.metadata().is_ok_and(|found| found.len() > 0) {
            let copied = copy(&log, &with(fresh, ending));
            copied.map_err(|error| Error::io(format!("could not copy {}", log.display()), error))?;
        }
    }
    Ok(())
}

/// Links the files of the old store into a folder of their own; returns true if there were any.
fn put_aside(path: &Path, aside: &Path) -> Result<bool, Error> {
    if !path.exists() {
        return Ok(false);
    }
    private_folder(aside)?;
    for ending in ["", "-wal", ".redo", ".head"] {
        let (from, to) = (with(path, ending), aside.join(format!("store.db{ending}")));
        match fs::hard_link(&from, &to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::io(format!("could not keep {} as {}", from.display(), to.display()), error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    sync_folder(aside)?;
    sync_folder(file::folder_of(aside))?;
    Ok(true)
}

fn with(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io(format!("could not remove {}", path.display()), error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn private_folder(path: &Path) -> Result<(), Error> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| Error::io(format!("could not make {}", path.display()), error))
}

fn sync_folder(folder: &Path) -> Result<(), Error> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| Error::io(format!("could not sync {}", folder.display()), error))
}

/// Copies a store that no process has open, in the same way as one in use.
pub(crate) fn copy_closed(config: &Config, schema: &Schema, to: &Path) -> Result<Report, Error> {
    let path = config.path.as_path();
    if let Err(error) = path.metadata() {
        return Err(Error::io(format!("there is no store at {}", path.display()), error));
    }
    let _lock = Lock::take(path)?;
    let connection = file::open_reader(path, CACHE_KIB).map_err(|error| file::at(path, error))?;
    let chain_id = file::identify(&connection, path)?;
    copy(&connection, schema, to, &redo::read(path, &chain_id)?)
}
