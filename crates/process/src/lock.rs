//! One owner per file: an advisory lock that the kernel frees when its holder dies, on a file that is never deleted.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::fingerprint::Fingerprint;
use crate::{Error, Result};

/// Longest text that a holder's note is read from.
const MAX_NOTE: u64 = 4096;

/// A lock is tried so often before it counts as held: a look at its state takes it for a moment.
const TRIES: u32 = 4;

/// What a holder writes into its lock file, for people and for adoption.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// Start time, as in [`Fingerprint`].
    pub start: u64,
    /// Boot id, as in [`Fingerprint`].
    pub boot: String,
    /// Whatever the holder wants to be known by: an address, a version.
    #[serde(default)]
    pub extra: String,
}

/// A held lock; dropping it, or dying, frees it. The file stays, so that two processes never lock two files of one name.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

// === impl Holder ===

impl Holder {
    /// The process that wrote the note.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint { pid: self.pid, start: self.start, boot: self.boot.clone() }
    }
}

// === impl Lock ===

impl Lock {
    /// Takes the lock and writes who we are; doesn't wait for a holder.
    ///
    /// # Errors
    /// [`Error::Held`] with the holder's note; [`Error::Io`] when the file can't be opened or written.
    pub fn take(path: &Path, extra: &str) -> Result<Self> {
        let file = open(path, true).map_err(Error::io(format!("open {}", path.display())))?;
        for attempt in 0..TRIES {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {
                    let mut lock = Self { file, path: path.to_owned() };
                    lock.note(extra)?;
                    return Ok(lock);
                }
                Err(rustix::io::Errno::WOULDBLOCK) if attempt + 1 < TRIES => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(rustix::io::Errno::WOULDBLOCK) => break,
                Err(e) => return Err(Error::io(format!("lock {}", path.display()))(e.into())),
            }
        }
        Err(Error::Held { path: path.to_owned(), holder: read(path) })
    }

    /// Replaces what the note says besides who we are.
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

    /// Where the lock lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Who holds the lock, or `None` if it is free. The note is the holder's own word; a lock without a readable note is
/// reported as held by pid 0.
///
/// # Errors
/// [`Error::Io`] when the file is there and can't be opened.
pub fn holder(path: &Path) -> Result<Option<Holder>> {
    let file = match open(path, false) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::io(format!("open {}", path.display()))(e)),
    };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(None),
        Err(_) => {
            Ok(Some(read(path).unwrap_or(Holder { pid: 0, start: 0, boot: String::new(), extra: String::new() })))
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
