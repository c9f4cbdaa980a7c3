//! [`Store::backup`], and operations on a store that no process has open.

use std::path::Path;

use switchboard_protocol::event::NewEvent;

use super::{Backend, Store};
use crate::schema::Schema;
use crate::verify::{Report, Restored};
use crate::{Batch, Config, Error, Head, Projection, sqlite};

impl Store {
    /// Copies a snapshot of the store into a new file while it is in use, syncs the copy and checks all of it. The
    /// report is about the copy. Readers and writers continue meanwhile. Takes as long as reading and writing
    /// everything twice.
    ///
    /// # Errors
    /// [`Error::Io`] when the file exists or can't be created, or the store is in memory; [`Error::Corrupt`] when the
    /// copy does not verify, because the store doesn't; it is then removed. [`Error::DiskFull`].
    pub fn backup(&self, to: &Path) -> Result<Report, Error> {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.backup(&self.inner.core, to),
            Backend::Memory(_) => {
                let none = std::io::Error::from(std::io::ErrorKind::Unsupported);
                Err(Error::io("a store in memory has no file to copy", none))
            }
        }
    }
}

/// Copies a store that no process has open; otherwise as [`Store::backup`].
///
/// # Errors
/// Those of [`Store::backup`], and [`Error::Locked`].
pub fn backup_file(config: &Config, projections: Vec<Box<dyn Projection>>, to: &Path) -> Result<Report, Error> {
    sqlite::copy_closed(config, &Schema::new(projections)?, to)
}

/// Checks all of a store that no process has open, without changing it; also one that [`Store::open`] refuses.
///
/// # Errors
/// [`Error::Locked`]; [`Error::Newer`]; [`Error::Io`] when there is none or it can't be read. Damage is in the report.
pub fn verify_file(config: &Config, projections: Vec<Box<dyn Projection>>) -> Result<Report, Error> {
    sqlite::verify_file(config, &Schema::new(projections)?)
}

/// Restores a backup in place of a store that no process has open. The backup is checked first; nothing changes if it
/// does not verify. The replaced files are kept in a folder `replaced-<epoch>` beside the store. The restored store
/// begins after every epoch of the replaced one, so that decisions from there are refused, and records the restore as
/// an event `store_restored`.
///
/// # Errors
/// [`Error::Locked`] names the owner; [`Error::Corrupt`] names what is wrong with the backup; [`Error::Io`];
/// [`Error::NetworkFileSystem`]; [`Error::Newer`]; [`Error::DiskFull`].
pub fn restore(
    backup: &Path,
    config: &Config,
    projections: impl Fn() -> Vec<Box<dyn Projection>>,
) -> Result<Restored, Error> {
    let record = |config, event| record(config, projections(), event);
    sqlite::restore(backup, config, &Schema::new(projections())?, record)
}

/// Opens a store, commits an event and closes it; returns its head and epoch then.
fn record(config: Config, projections: Vec<Box<dyn Projection>>, event: NewEvent) -> Result<(Head, u64), Error> {
    let store = Store::open(config, projections)?;
    store.commit_blocking(Batch::synced().event(event))?;
    let state = (store.head(), store.epoch());
    store.close();
    Ok(state)
}
