//! Records the operations of a store on its files and its promises, in order; and injects faults.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use switchboard_protocol::id::Digest;
use switchboard_store::{IoEvent, IoHook};

/// A durable file of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum File {
    /// The database.
    Db,
    /// Its write-ahead log.
    Wal,
    /// The rollback journal, which exists while a store is being created.
    Journal,
    /// The store's own redo log.
    Redo,
}

impl File {
    /// All durable files.
    pub(super) const ALL: [Self; 4] = [Self::Db, Self::Wal, Self::Journal, Self::Redo];

    /// Returns its name in the store's folder.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Db => "store.db",
            Self::Wal => "store.db-wal",
            Self::Journal => "store.db-journal",
            Self::Redo => "store.db.redo",
        }
    }
}

/// A recorded operation.
#[derive(Debug, Clone)]
pub(super) enum Op {
    /// Bytes were written.
    Write {
        /// File that was written.
        file: File,
        /// Offset of the first byte.
        offset: usize,
        /// Bytes that were written.
        data: Vec<u8>,
    },
    /// A file was truncated or extended; a deletion is a truncation to 0 bytes.
    Truncate {
        /// File that was truncated.
        file: File,
        /// New size in bytes.
        size: usize,
    },
    /// A file was synced: everything before is on the disk.
    Sync(File),
    /// The head record had this content.
    Note(Vec<u8>),
    /// A store was opened and returned its epoch.
    Opened(u64),
    /// A commit was answered.
    Acked(Ack),
}

/// Promise of an answered commit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ack {
    /// Last event of the commit.
    pub(super) lsn: u64,
    /// True if a power cut may not lose it.
    pub(super) is_synced: bool,
}

/// Kind of call that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    /// Opening a file.
    Open,
    /// Writing a file.
    Write,
    /// Truncating a file.
    Truncate,
    /// Syncing a file.
    Sync,
}

/// A fault to inject once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    /// Number of the call, from 0, over all that can fail.
    pub(super) at: u64,
    /// True if the disk is full rather than broken, where that is possible.
    pub(super) is_full: bool,
}

/// The recording.
#[derive(Debug, Default)]
pub(super) struct Tape {
    folder: Option<PathBuf>,
    ops: Vec<Op>,
    calls: u64,
    fault: Option<Fault>,
    played: Option<Call>,
}

/// Results of a recording.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// Operations in order.
    pub(super) ops: Vec<Op>,
    /// Number of calls that could have failed.
    pub(super) calls: u64,
    /// Call that was made to fail.
    pub(super) played: Option<Call>,
}

/// The current tape; a process has one default VFS, so there is one tape.
static TAPE: Mutex<Option<Tape>> = Mutex::new(None);

fn tape() -> MutexGuard<'static, Option<Tape>> {
    TAPE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lock of the recorder: one at a time.
static TURN: Mutex<()> = Mutex::new(());

/// A recording in progress.
pub(super) struct Recording(MutexGuard<'static, ()>);

/// Starts to record operations in a folder, once no other recording is in progress.
pub(super) fn start(folder: &Path, fault: Option<Fault>) -> Recording {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    *tape() = Some(Tape { folder: Some(folder.to_owned()), fault, ..Tape::default() });
    Recording(turn)
}

// === impl Recording ===

impl Recording {
    /// Ends the recording.
    pub(super) fn stop(self) -> Recorded {
        let tape = tape().take().unwrap_or_default();
        drop(self.0);
        Recorded { ops: tape.ops, calls: tape.calls, played: tape.played }
    }
}

/// Returns which file of the recorded store a path names.
pub(super) fn which(path: &Path) -> Option<File> {
    let tape = tape();
    let folder = tape.as_ref()?.folder.as_ref()?;
    let name = path.strip_prefix(folder).ok()?.to_str()?;
    File::ALL.into_iter().find(|file| file.name() == name)
}

/// Adds an operation to the tape.
pub(super) fn record(op: Op) {
    if let Some(tape) = tape().as_mut() {
        tape.ops.push(op);
    }
}

/// Counts a call that could fail. Returns `Some` if it is to fail: true for a full disk, false for a broken one.
pub(super) fn is_to_fail(call: Call) -> Option<bool> {
    let mut tape = tape();
    let tape = tape.as_mut()?;
    let number = tape.calls;
    tape.calls += 1;
    let fault = tape.fault.filter(|fault| fault.at == number)?;
    tape.played = Some(call);
    Some(fault.is_full)
}

/// Hook that records the store's operations on its redo log; SQLite's files have a separate layer.
#[derive(Debug)]
struct RedoHook;

/// Returns the hook of every store under torture.
pub(super) fn io_hook() -> Option<Arc<dyn IoHook>> {
    Some(Arc::new(RedoHook))
}

/// Number of syncs of redo logs so far.
static SYNCS: AtomicU64 = AtomicU64::new(0);

/// Returns the number of syncs of redo logs since this process began.
pub(super) fn syncs() -> u64 {
    SYNCS.load(Ordering::Relaxed)
}

impl IoHook for RedoHook {
    fn before(&self, path: &Path, what: IoEvent<'_>) -> std::io::Result<()> {
        let Some(file) = which(path) else { return Ok(()) };
        let call = match what {
            IoEvent::Open => Call::Open,
            IoEvent::Write { .. } => Call::Write,
            IoEvent::Resize { .. } => Call::Truncate,
            IoEvent::Sync => Call::Sync,
        };
        match (is_to_fail(call), call) {
            (Some(true), Call::Write) => return Err(std::io::ErrorKind::StorageFull.into()),
            (Some(_), _) => return Err(std::io::Error::other("a fault was played")),
            (None, _) => {}
        }
        if let IoEvent::Write { offset, data } = what {
            record(Op::Write { file, offset: usize::try_from(offset).unwrap_or(0), data: data.to_vec() });
        }
        Ok(())
    }

    fn after(&self, path: &Path, what: IoEvent<'_>) {
        if matches!(what, IoEvent::Sync) {
            SYNCS.fetch_add(1, Ordering::Relaxed);
        }
        let Some(file) = which(path) else { return };
        match what {
            IoEvent::Resize { length } => record(Op::Truncate { file, size: usize::try_from(length).unwrap_or(0) }),
            IoEvent::Sync => record(Op::Sync(file)),
            IoEvent::Open | IoEvent::Write { .. } => {}
        }
    }
}

/// Promises at a point of the tape.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Promised {
    /// Last event that a power cut may not lose.
    pub(super) synced: u64,
    /// Last event that a kill may not lose.
    pub(super) written: u64,
    /// Last epoch that was answered.
    pub(super) epoch: u64,
}

// === impl Promised ===

impl Promised {
    /// Applies one more operation.
    pub(super) fn take(&mut self, op: &Op) {
        match op {
            Op::Acked(ack) => {
                self.written = self.written.max(ack.lsn);
                self.synced = if ack.is_synced { self.synced.max(ack.lsn) } else { self.synced };
            }
            Op::Opened(epoch) => self.epoch = *epoch,
            Op::Write { .. } | Op::Truncate { .. } | Op::Sync(_) | Op::Note(_) => {}
        }
    }
}

/// Returns the head record as another boot of the machine would find it: data that was only written does not count any
/// more.
pub(super) fn after_boot(note: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(note);
    let Some((said, _)) = text.rsplit_once("sum ") else { return note.to_vec() };
    let other = |line: &str| if line.starts_with("boot ") { "boot another".to_owned() } else { line.to_owned() };
    let said = said.lines().map(other).collect::<Vec<_>>().join("\n") + "\n";
    let sum = Digest::of(said.as_bytes());
    format!("{said}sum {sum}\n").into_bytes()
}
