//! File locks: an advisory lock that the kernel releases when its holder dies, on a file that is never deleted.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::fingerprint::Fingerprint;
use crate::{Error, Result};

/// Maximum length of a holder's note that is read, in bytes.
const MAX_NOTE: u64 = 4096;

/// Number of attempts before a lock counts as held: a query of its state holds it for a moment.
const TRIES: u32 = 4;

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

/// How long to wait for a lock whose holder is dead. A child that the holder had just forked keeps the lock until it
/// executes its own program.
const INHERITED: Duration = Duration::from_secs(2);

/// Note that a holder writes into its lock file, for people and for adoption.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// Start time, as in [`Fingerprint`].
    pub start: u64,
    /// Boot id, as in [`Fingerprint`].
    pub boot: String,
    /// Text of the holder's choice: an address, a version.
    #[serde(default)]
    pub extra: String,
}

/// A held lock; dropping it, or the end of the process, releases it. The file stays, so that two processes never lock two files of one
/// name.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

// === impl Holder ===

impl Holder {
    /// Returns the fingerprint of the process that wrote the note.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint { pid: self.pid, start: self.start, boot: self.boot.clone() }
    }
}

// === impl Lock ===

impl Lock {
    /// Takes the lock and writes our note; doesn't wait for a holder.
    ///
    /// # Errors
    /// [`Error::Held`] with the holder's note; [`Error::Io`] when the file can't be opened or written.
    pub fn take(path: &Path, extra: &str) -> Result<Self> {
        let file = open(path, true).map_err(Error::io(format!("open {}", path.display())))?;
        match lock(&file, path, FlockOperation::NonBlockingLockExclusive, TRIES) {
            Ok(()) => {
                let mut lock = Self { file, path: path.to_owned() };
                lock.note(extra)?;
                Ok(lock)
            }
            Err(Errno::WOULDBLOCK) => Err(Error::Held { path: path.to_owned(), holder: read(path) }),
            Err(e) => Err(Error::io(format!("lock {}", path.display()))(e.into())),
        }
    }

    /// Replaces the text of our note.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn note(&mut self, extra: &str) -> Result<()> {
        let Fingerprint { pid, start, boot } = Fingerprint::own();
        let mut text = serde_json::json!(Holder { pid, start, boot, extra: extra.to_owned() }).to_string();
        text.push('\n');
        let mut write = || {
            self.file.set_len(0)?;
            self.file.rewind()?;
            self.file.write_all(text.as_bytes())
        };
        write().map_err(Error::io(format!("write {}", self.path.display())))
    }

    /// Returns false if the lock file was deleted or replaced. A path that can't be looked at counts as unchanged.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        match (self.file.metadata(), std::fs::metadata(&self.path)) {
            (Ok(own), Ok(found)) => (own.dev(), own.ino()) == (found.dev(), found.ino()),
            (_, Err(error)) => error.kind() != std::io::ErrorKind::NotFound,
            (Err(_), Ok(_)) => true,
        }
    }

    /// Returns the path of the lock file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Returns the holder of the lock, or `None` if it is free. The note is unverified; a lock without a readable note is
/// reported as held by pid 0.
///
/// # Errors
/// [`Error::Io`] when the file exists and can't be opened.
pub fn holder(path: &Path) -> Result<Option<Holder>> {
    let file = match open(path, false) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::io(format!("open {}", path.display()))(e)),
    };
    match lock(&file, path, FlockOperation::NonBlockingLockShared, 1) {
        Ok(()) => Ok(None),
        Err(_) => {
            Ok(Some(read(path).unwrap_or(Holder { pid: 0, start: 0, boot: String::new(), extra: String::new() })))
        }
    }
}

/// Locks the file with up to `tries` attempts, and with more while the holder that its note names is dead.
fn lock(file: &File, path: &Path, operation: FlockOperation, tries: u32) -> rustix::io::Result<()> {
    let limit = Instant::now() + INHERITED;
    let is_orphaned = || read(path).is_some_and(|holder| !holder.fingerprint().is_alive());
    let mut tried = 0;
    loop {
        tried += 1;
        match flock(file, operation) {
            Err(Errno::WOULDBLOCK) if tried < tries || (Instant::now() < limit && is_orphaned()) => {
                std::thread::sleep(PAUSE);
            }
            result => return result,
        }
    }
}

fn open(path: &Path, create: bool) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).create(create).truncate(false).mode(0o600).open(path)
}

fn read(path: &Path) -> Option<Holder> {
    let mut text = Vec::new();
    File::open(path).ok()?.take(MAX_NOTE).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_whose_file_is_gone_or_replaced_is_not_in_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let lock = Lock::take(&path, "").unwrap();
        assert!(lock.is_in_place());

        std::fs::remove_file(&path).unwrap();
        assert!(!lock.is_in_place());
        std::fs::write(&path, "").unwrap();
        assert!(!lock.is_in_place());
    }

    #[test]
    fn a_second_taker_is_refused_and_told_who_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = Lock::take(&path, "at 127.0.0.1:1").unwrap();

        let refused = Lock::take(&path, "").unwrap_err();

        let Error::Held { holder: Some(told), .. } = refused else { panic!("{refused}") };
        assert_eq!((told.pid, told.extra.as_str()), (std::process::id(), "at 127.0.0.1:1"));
        assert!(told.fingerprint().is_alive());
        assert_eq!(holder(&path).unwrap(), Some(told));
        drop(first);
        assert_eq!(holder(&path).unwrap(), None);
        assert!(path.exists(), "the file is never deleted");
        Lock::take(&path, "").unwrap();
    }

    #[test]
    fn a_lock_that_a_child_of_its_dead_holder_still_keeps_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let inherited = Lock::take(&path, "").unwrap();
        // A process that once had our pid: it started at another time.
        let Fingerprint { pid, start, boot } = Fingerprint::own();
        let dead = Holder { pid, start: start - 1, boot, extra: String::new() };
        std::fs::write(&path, serde_json::json!(dead).to_string()).unwrap();
        let keeper = std::thread::spawn(move || {
            std::thread::sleep(10 * PAUSE);
            drop(inherited);
        });

        let looked = holder(&path).unwrap();
        let taken = Lock::take(&path, "").unwrap();

        assert_eq!(looked, None);
        assert_eq!(holder(&path).unwrap().map(|holder| holder.pid), Some(std::process::id()));
        keeper.join().unwrap();
        drop(taken);
    }

    #[test]
    fn a_garbled_note_still_counts_as_held() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let lock = Lock::take(&path, "").unwrap();
        std::fs::write(&path, "garbage").unwrap();

        let Error::Held { holder: None, .. } = Lock::take(&path, "").unwrap_err() else {
            panic!("held, by nobody known")
        };
        assert_eq!(holder(&path).unwrap().map(|h| h.pid), Some(0));
        drop(lock);
    }
}
