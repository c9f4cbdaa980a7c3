//! The redo log, in `<db>.redo`: commits that were answered but are not yet safe in the database.
//!
//! A commit is one frame in this file, with one sync if the batch requires it. The rows are written to SQLite later,
//! many commits in one transaction without a sync. An opening rewrites what SQLite lacks. Once SQLite has everything
//! and has synced it, the file restarts in place: its length no longer changes then, and an overwrite in place is the
//! cheapest write for a disk.
//!
//! ```text
//! frame = magic (4) | length (4) | generation (8) | number (8) | sum of the frame before (8) | payload | sum (8)
//! ```
//!
//! All numbers are little-endian. A sum is the beginning of a SHA-256 over the chain's id and everything before it in
//! the frame. A frame is valid if its sum is right and it continues the one before. A torn frame ends the log. Frames
//! from before the restart never continue it, because a generation is random.

mod frame;

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use switchboard_protocol::event::Lsn;

pub(super) use self::frame::{FrameChain, RedoRecord};
use crate::Error;
use crate::io_hook::{IoEvent, IoHook};
use crate::prepared::Prepared;
use crate::record::Record;
use crate::write::Plan;

/// Number of zero bytes that are appended at once: a growing file costs a second disk operation, for its size.
const STEP: u64 = 512 << 10;

/// Space in bytes that a group of commits may need before the file is extended again.
const MARGIN: u64 = 64 << 10;

/// Size in bytes at which everything is moved into the database, so that the file can restart (8 MiB): an opening after
/// a kill reads all of it.
const LARGE: u64 = 8 << 20;

/// Maximum size of a frame in bytes; its length field has four bytes.
const MAX_FRAME: usize = 1 << 30;

/// Space in bytes that SQLite may need for one batch besides its texts: the pages of every tree that it changes.
const PAGES: u64 = 64 << 10;

/// The open file.
pub(super) struct Redo {
    path: PathBuf,
    file: File,
    io_hook: Option<Arc<dyn IoHook>>,
    chain: FrameChain,
    /// Offset of the next frame.
    end: u64,
    /// Known length of the file.
    length: u64,
    buffer: Vec<u8>,
}

// === impl Redo ===

impl Redo {
    /// Opens or creates the file. Its content must have been applied to the database before.
    pub(super) fn begin(database: &Path, chain_id: &str, io_hook: Option<Arc<dyn IoHook>>) -> Result<Self, Error> {
        let path = path_of(database);
        let failed = |error| Error::io(format!("could not open {}", path.display()), error);
        if let Some(io_hook) = &io_hook {
            io_hook.before(&path, IoEvent::Open).map_err(failed)?;
        }
        let mut open = OpenOptions::new();
        open.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = open.open(&path).map_err(failed)?;
        // The file's name must be durable before its content counts as durable.
        File::open(super::file::folder_of(&path)).and_then(|folder| folder.sync_all()).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let chain = FrameChain::begin(chain_id)?;
        let mut redo = Self { path: path.clone(), file, io_hook, chain, end: 0, length, buffer: Vec::new() };
        redo.cut()?;
        Ok(redo)
    }

    /// Writes decided batches as one frame. After an error, nothing of it counts, unless that is [`Error::Fatal`].
    pub(super) fn append<'a>(&mut self, group: impl Iterator<Item = (&'a Prepared, &'a Plan)>) -> Result<(), Error> {
        let mut buffer = std::mem::take(&mut self.buffer);
        self.chain.frame(&mut buffer, group);
        let done = if buffer.len() > MAX_FRAME {
            let what = "what is committed at once".to_owned();
            Err(Error::TooLarge { what, size: buffer.len(), limit: MAX_FRAME, unit: "bytes" })
        } else {
            self.write(&buffer)
        };
        if done.is_ok() {
            self.end += buffer.len() as u64;
            self.length = self.length.max(self.end);
            self.chain.next(&buffer);
        }
        buffer.clear();
        // Frees the memory of an unusually large batch.
        buffer.shrink_to(STEP as usize);
        self.buffer = buffer;
        done
    }

    fn write(&self, data: &[u8]) -> Result<(), Error> {
        let what = IoEvent::Write { offset: self.end, data };
        self.with_hook(what, || self.file.write_all_at(data, self.end))
    }

    /// Syncs everything that was written to the disk.
    pub(super) fn sync(&self) -> Result<(), Error> {
        self.with_hook(IoEvent::Sync, || sync(&self.file))
    }

    /// Returns true if the file is so large that it should restart.
    pub(super) fn is_large(&self) -> bool {
        self.end >= LARGE
    }

    /// Restarts the file after everything in it is safe in the database.
    pub(super) fn restart(&mut self) -> Result<(), Error> {
        self.chain.restart()?;
        self.end = 0;
        Ok(())
    }

    /// Restarts with an empty file.
    pub(super) fn cut(&mut self) -> Result<(), Error> {
        self.restart()?;
        if self.length > 0 {
            self.with_hook(IoEvent::Resize { length: 0 }, || self.file.set_len(0))?;
            self.length = 0;
        }
        Ok(())
    }

    /// Frees the buffer for the next frame.
    pub(super) fn shrink(&mut self) {
        self.buffer = Vec::new();
    }

    /// Extends the file. The log works without it, only slower; disk errors are left to the next commit.
    pub(super) fn make_room(&mut self, batches: usize, bytes: usize) {
        let is_enough = self.end == 0 || self.end + MARGIN <= self.length;
        if is_enough || self.free() < 4 * STEP + needed(batches, bytes) {
            return;
        }
        let length = self.length + STEP;
        let grown = self.with_hook(IoEvent::Resize { length }, || {
            let zeros = vec![0; STEP as usize];
            self.file.write_all_at(&zeros, self.length)
        });
        match grown {
            Ok(()) => self.length = length,
            Err(error) => tracing::debug!(%error, "no room was made for the redo log"),
        }
    }

    /// Returns true if the disk has room for so many batches of so many bytes, here and in the database.
    pub(super) fn has_room(&self, batches: usize, bytes: usize) -> bool {
        self.free() >= needed(batches, bytes)
    }

    /// Returns the free space of the disk in bytes.
    fn free(&self) -> u64 {
        rustix::fs::fstatvfs(&self.file).map_or(u64::MAX, |stat| stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    fn with_hook(&self, what: IoEvent<'_>, work: impl FnOnce() -> std::io::Result<()>) -> Result<(), Error> {
        let before = self.io_hook.as_ref().map_or(Ok(()), |io_hook| io_hook.before(&self.path, what));
        before.and_then(|()| work()).map_err(|error| translate(&error))?;
        if let Some(io_hook) = &self.io_hook {
            io_hook.after(&self.path, what);
        }
        Ok(())
    }
}

fn needed(batches: usize, bytes: usize) -> u64 {
    (batches as u64).saturating_mul(PAGES).saturating_add(4 * bytes as u64)
}

/// Translates an error: a full disk refuses the write; after any other error, the content is unknown.
fn translate(error: &std::io::Error) -> Error {
    if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) {
        return Error::DiskFull;
    }
    Error::Fatal(format!("the redo log: {error}"))
}

#[cfg(target_vendor = "apple")]
fn sync(file: &File) -> std::io::Result<()> {
    // Also flushes the drive's cache.
    file.sync_all()
}

#[cfg(not(target_vendor = "apple"))]
fn sync(file: &File) -> std::io::Result<()> {
    file.sync_data()
}

/// Returns the path `<db>.redo`.
pub(super) fn path_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".redo");
    PathBuf::from(name)
}

/// Reads the batches that were written since the last restart.
pub(super) fn read(database: &Path, chain_id: &str) -> Result<Vec<RedoRecord>, Error> {
    let path = path_of(database);
    let mut bytes = Vec::new();
    match File::open(&path) {
        Ok(mut file) => {
            let read = file.read_to_end(&mut bytes);
            read.map_err(|error| Error::io(format!("could not read {}", path.display()), error))?;
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(Error::io(format!("could not open {}", path.display()), error)),
    }
    frame::redo_records(&bytes, chain_id).map_err(|what| Error::Corrupt { place: path.display().to_string(), what })
}

/// Finds an event in the records.
pub(super) fn find(redo_records: &[RedoRecord], lsn: Lsn) -> Option<&Record> {
    redo_records
        .iter()
        .flat_map(|redo_record| &redo_record.events)
        .map(|(record, _)| record)
        .find(|record| record.lsn == lsn)
}

/// Returns the last event in the records, or `head` if that is later.
pub(super) fn last(redo_records: &[RedoRecord], head: Lsn) -> Lsn {
    redo_records.iter().flat_map(|redo_record| &redo_record.events).map(|(record, _)| record.lsn).fold(head, Lsn::max)
}
