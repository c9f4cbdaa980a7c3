//! What a store does to its files and what it promises, in the order in which it happens; and faults to be played.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use switchboard_protocol::id::Digest;
use switchboard_store::{IoEvent, IoHook};

/// A file of the store that lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum File {
    /// The database.
    Db,
    /// Its write-ahead log.
    Wal,
    /// The rollback journal, which is there while a store is being made.
    Journal,
    /// The store's own redo log.
    Redo,
}

impl File {
    /// All of them.
    pub(super) const ALL: [Self; 4] = [Self::Db, Self::Wal, Self::Journal, Self::Redo];

    /// Its name in the store's folder.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Db => "store.db",
            Self::Wal => "store.db-wal",
            Self::Journal => "store.db-journal",
            Self::Redo => "store.db.redo",
        }
    }
}

/// Something that happened.
#[derive(Debug, Clone)]
pub(super) enum Op {
    /// Bytes were written.
    Write {
        /// Where.
        file: File,
        /// From which byte on.
        offset: usize,
        /// Which.
        data: Vec<u8>,
    },
    /// A file was cut or grown; to nothing when it was deleted.
    Truncate {
        /// Which.
        file: File,
        /// To how many bytes.
        size: usize,
    },
    /// A file was synced: everything before is on the disk.
    Sync(File),
    /// The note of the head was found to say this.
    Note(Vec<u8>),
    /// A store was opened and has answered with its epoch.
    Opened(u64),
    /// A commit was answered.
    Acked(Ack),
}

/// What an answered commit promises.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ack {
    /// Its last event.
    pub(super) lsn: u64,
    /// Whether a power cut may not take it.
    pub(super) is_synced: bool,
}

/// A call that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    /// Opening a file.
    Open,
    /// Writing.
    Write,
    /// Cutting.
    Truncate,
    /// Syncing.
    Sync,
}

/// A fault to be played once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    /// At which call, counted from 0 over all that can fail.
    pub(super) at: u64,
    /// Whether the disk is full rather than broken, where that can be.
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

/// What was recorded.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// Everything in order.
    pub(super) ops: Vec<Op>,
    /// How many calls could have failed.
    pub(super) calls: u64,
    /// The call that was made to fail.
    pub(super) played: Option<Call>,
}

/// There is one default VFS in a process, so there is one tape.
static TAPE: Mutex<Option<Tape>> = Mutex::new(None);

fn tape() -> MutexGuard<'static, Option<Tape>> {
    TAPE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Who records: one at a time.
static TURN: Mutex<()> = Mutex::new(());

/// A recording in progress.
pub(super) struct Recording(MutexGuard<'static, ()>);

/// Begins to record what happens in a folder, once nobody else records.
pub(super) fn start(folder: &Path, fault: Option<Fault>) -> Recording {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    *tape() = Some(Tape { folder: Some(folder.to_owned()), fault, ..Tape::default() });
    Recording(turn)
}

// === impl Recording ===

impl Recording {
    /// Ends it.
    pub(super) fn stop(self) -> Recorded {
        let tape = tape().take().unwrap_or_default();
        drop(self.0);
        Recorded { ops: tape.ops, calls: tape.calls, played: tape.played }
    }
}

/// Which file of the recorded store a path names.
pub(super) fn which(path: &Path) -> Option<File> {
    let tape = tape();
    let folder = tape.as_ref()?.folder.as_ref()?;
    let name = path.strip_prefix(folder).ok()?.to_str()?;
    File::ALL.into_iter().find(|file| file.name() == name)
}

/// Adds to the tape.
pub(super) fn record(op: Op) {
    if let Some(tape) = tape().as_mut() {
        tape.ops.push(op);
    }
}

/// Counts a call that could fail. Returns whether it is to fail, and with a full disk or a broken one.
pub(super) fn is_to_fail(call: Call) -> Option<bool> {
    let mut tape = tape();
    let tape = tape.as_mut()?;
    let number = tape.calls;
    tape.calls += 1;
    let fault = tape.fault.filter(|fault| fault.at == number)?;
    tape.played = Some(call);
    Some(fault.is_full)
}

/// Hears what the store does to its redo log; SQLite's files have a layer of their own.
#[derive(Debug)]
struct RedoHook;

/// The hook of every store here.
pub(super) fn io_hook() -> Option<Arc<dyn IoHook>> {
    Some(Arc::new(RedoHook))
}

/// Syncs of a redo log so far.
static SYNCS: AtomicU64 = AtomicU64::new(0);

/// Syncs of redo logs since this process began.
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

/// What is promised at a point of the tape.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Promised {
    /// The last event that a power cut may not take.
    pub(super) synced: u64,
    /// The last event that a kill may not take.
    pub(super) written: u64,
    /// The last epoch that was answered.
    pub(super) epoch: u64,
}

// === impl Promised ===

impl Promised {
    /// Takes one more answer into account.
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

/// The note of the head as another boot of the machine would find it: there, what was only written counts no more.
pub(super) fn after_boot(note: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(note);
    let Some((said, _)) = text.rsplit_once("sum ") else { return note.to_vec() };
    let other = |line: &str| if line.starts_with("boot ") { "boot another".to_owned() } else { line.to_owned() };
    let said = said.lines().map(other).collect::<Vec<_>>().join("\n") + "\n";
    let sum = Digest::of(said.as_bytes());
    format!("{said}sum {sum}\n").into_bytes()
}
