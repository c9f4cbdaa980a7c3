//! Who owns the store: an exclusive lock on a file that is never deleted, with the owner's name in it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::Error;

/// The lock, held as long as this value lives. The file stays behind: deleting a locked file would let a second owner
/// lock a new one of the same name.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

// === impl Lock ===

impl Lock {
    /// Takes the lock beside a database, or names who has it.
    pub(crate) fn take(database: &Path) -> Result<Self, Error> {
        let path = path_of(database);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(|error| Error::io(format!("could not open {}", path.display()), error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Locked { path: database.to_owned(), holder: holder(&mut file) });
            }
            Err(TryLockError::Error(error)) => {
                return Err(Error::io(format!("could not lock {}", path.display()), error));
            }
        }
        let mut lock = Self { file };
        lock.announce("")?;
        Ok(lock)
    }

    /// Writes who owns the store: process id, boot id, and the address at which it can be reached.
    pub(crate) fn announce(&mut self, address: &str) -> Result<(), Error> {
        let text = format!("pid {}\nboot {}\naddress {}\n", std::process::id(), boot_id(), address.replace('\n', " "));
        self.rewrite(&text).map_err(|error| Error::io("could not write the owner into the lock file", error))
    }

    fn rewrite(&mut self, text: &str) -> std::io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        self.file.set_len(0)?;
        self.file.write_all(text.as_bytes())
    }
}

/// `<db>.lock`.
fn path_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

/// Who holds the lock, as far as the owner got with writing it.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    if file.take(1024).read_to_string(&mut text).is_err() {
        return "another process".to_owned();
    }
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name).and_then(|rest| rest.strip_prefix(' ')));
        line.filter(|value| !value.is_empty()).map(str::to_owned)
    };
    match (field("pid"), field("address")) {
        (Some(pid), Some(address)) => format!("process {pid} at {address}"),
        (Some(pid), None) => format!("process {pid}"),
        (None, Some(_) | None) => "another process".to_owned(),
    }
}

/// Tells this boot of the machine from others, so that a process id can't be mistaken for an older one.
pub(crate) fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}
