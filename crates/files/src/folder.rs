//! Access to the protocol's folders; no other code touches them. It uses only descriptors that were opened without
//! following a link, so that a process with write access there can't redirect us to another file.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use switchboard_protocol::error::Failure;

/// Maximum number of entries read from one folder; further ones are read once these are gone.
const MAX_ENTRIES: usize = 20_000;

/// Maximum length of a file name, in bytes; files with longer names are ignored.
const MAX_NAME_BYTES: usize = 160;

/// Folder, opened without following links below the root.
#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
}

/// Entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Name of the entry.
    pub name: String,
    /// True if the entry is a folder.
    pub is_folder: bool,
}

/// Reason for which a file was not read.
#[derive(Debug)]
pub enum Unusable {
    /// The file no longer exists.
    Gone,
    /// The file is refused.
    Refused(Failure),
    /// The system reports an error.
    Io(io::Error),
}

/// State of a file: its size, its time of change in nanoseconds, and its identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    size: i64,
    changed: (i64, i64),
    inode: u64,
}

// === impl Folder ===

impl Folder {
    /// Opens the root of the protocol's folders, which we created ourselves.
    ///
    /// # Errors
    /// The error of the system.
    pub fn root(path: &Path) -> io::Result<Self> {
        Ok(Self { fd: rustix::fs::open(path, flags() | OFlags::DIRECTORY, Mode::empty())? })
    }

    /// Opens a folder in this one; `None` if there is none by this name, or if it is a link or a file.
    ///
    /// # Errors
    /// The error of the system.
    pub fn sub(&self, name: &str) -> io::Result<Option<Self>> {
        match rustix::fs::openat(&self.fd, name, flags() | OFlags::DIRECTORY, Mode::empty()) {
            Ok(fd) => Ok(Some(Self { fd })),
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a folder in this one, creating it if there is none.
    ///
    /// # Errors
    /// The error of the system; that there is a link or a file of this name.
    pub fn make(&self, name: &str) -> io::Result<Self> {
        match rustix::fs::mkdirat(&self.fd, name, Mode::RWXU) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        self.sub(name)?.ok_or_else(|| io::Error::from(io::ErrorKind::NotADirectory))
    }

    /// Same as [`make`](Self::make) for a path of several names.
    ///
    /// # Errors
    /// Those of [`make`](Self::make).
    pub fn make_all<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> io::Result<Self> {
        let mut folder = Self { fd: self.fd.try_clone()? };
        for name in names {
            folder = folder.make(name)?;
        }
        Ok(folder)
    }

    /// Returns the entries by name, without hidden ones, and without names that are not UTF-8 or too long.
    ///
    /// # Errors
    /// The error of the system.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.fd)?.take(MAX_ENTRIES) {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if name.starts_with('.') || name.len() > MAX_NAME_BYTES {
                continue;
            }
            let mut found = entry.file_type();
            if found == FileType::Unknown {
                found = self.stat(name).map_or(FileType::Unknown, |stat| kind(&stat));
            }
            let is_folder = found == FileType::Directory;
            entries.push(Entry { name: name.to_owned(), is_folder });
        }
        entries.sort();
        Ok(entries)
    }

    /// Returns the state of a file, to detect whether it still changes.
    ///
    /// # Errors
    /// The error of the system.
    pub fn look(&self, name: &str) -> io::Result<Look> {
        let stat = self.stat(name)?;
        #[expect(clippy::useless_conversion, reason = "the types differ between systems")]
        let changed = (i64::from(stat.st_mtime), i64::try_from(stat.st_mtime_nsec).unwrap_or(0));
        Ok(Look { size: stat.st_size, changed, inode: stat.st_ino })
    }

    /// Returns when a file was last changed, in seconds since 1970.
    ///
    /// # Errors
    /// The error of the system.
    pub fn changed_at(&self, name: &str) -> io::Result<i64> {
        Ok(self.look(name)?.changed.0)
    }

    /// Returns the inode number, which identifies the folder as long as it exists.
    ///
    /// # Errors
    /// The error of the system.
    pub fn inode(&self) -> io::Result<u64> {
        Ok(rustix::fs::fstat(&self.fd)?.st_ino)
    }

    /// Reads a plain file of at most `limit` bytes. The file is opened without blocking and without following a link,
    /// and must not have a second hard link: that could be a file of the user which the writer can't read itself.
    ///
    /// # Errors
    /// `file.unsafe` and `file.too-large` as refusals; the error of the system.
    pub fn read(&self, name: &str, limit: usize) -> Result<Vec<u8>, Unusable> {
        let fd = match rustix::fs::openat(&self.fd, name, flags() | OFlags::NONBLOCK, Mode::empty()) {
            Ok(fd) => fd,
            Err(rustix::io::Errno::NOENT) => return Err(Unusable::Gone),
            Err(rustix::io::Errno::LOOP | rustix::io::Errno::NXIO) => return Err(not_plain("a link or a pipe")),
            Err(error) => return Err(Unusable::Io(error.into())),
        };
        let stat = rustix::fs::fstat(&fd).map_err(|error| Unusable::Io(error.into()))?;
        if kind(&stat) != FileType::RegularFile {
            return Err(not_plain("no plain file"));
        }
        if stat.st_nlink > 1 {
            return Err(not_plain("a file with a second name"));
        }
        if stat.st_size > i64::try_from(limit).unwrap_or(i64::MAX) {
            let what = format!("the file has {} bytes, at most {limit} are read", stat.st_size);
            return Err(Unusable::Refused(Failure::new("file.too-large", what)));
        }
        let mut bytes = Vec::new();
        File::from(fd).take(limit as u64 + 1).read_to_end(&mut bytes).map_err(Unusable::Io)?;
        Ok(bytes)
    }

    /// Writes a file readable by the readers of the folder, and syncs it.
    ///
    /// # Errors
    /// The error of the system.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.write_unsynced(name, bytes)?.sync_all()
    }

    fn write_unsynced(&self, name: &str, bytes: &[u8]) -> io::Result<File> {
        let open = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // An interrupted attempt may have left a file of this name; it is removed.
        self.remove(name)?;
        let fd = rustix::fs::openat(&self.fd, name, open, Mode::RUSR | Mode::WUSR)?;
        let folder = rustix::fs::fstat(&self.fd)?;
        // The readers may include another user, for example of a container, to whom the folder was opened.
        rustix::fs::fchmod(&fd, Mode::from_raw_mode(folder.st_mode & 0o666) | Mode::RUSR | Mode::WUSR)?;
        let mut file = File::from(fd);
        file.write_all(bytes)?;
        Ok(file)
    }

    /// Replaces a file atomically. A power cut may bring the old one back, which is acceptable for the
    /// copies and receipts written here.
    ///
    /// # Errors
    /// The error of the system.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let beside = temporary(name);
        self.write(&beside, bytes)?;
        self.rename(&beside, name)
    }

    /// Same as [`replace`](Self::replace) for a file that may be lost in a power cut.
    ///
    /// # Errors
    /// The error of the system.
    pub fn replace_unsynced(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let beside = temporary(name);
        drop(self.write_unsynced(&beside, bytes)?);
        self.rename(&beside, name)
    }

    /// Renames a file, replacing any file with the new name.
    ///
    /// # Errors
    /// The error of the system.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.fd, from, &self.fd, to)?)
    }

    /// Moves the entry of this name into another folder, under the first free name of those given.
    ///
    /// # Errors
    /// The error of the system.
    pub fn move_to(&self, name: &str, to: &Self, names: impl IntoIterator<Item = String>) -> io::Result<String> {
        for free in names {
            match rustix::fs::renameat_with(&self.fd, name, &to.fd, &free, RenameFlags::NOREPLACE) {
                Ok(()) => return Ok(free),
                Err(rustix::io::Errno::EXIST) => {}
                // Some file systems don't support the flag; then the name is checked before the move.
                Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) if !to.has(&free) => {
                    rustix::fs::renameat(&self.fd, name, &to.fd, &free)?;
                    return Ok(free);
                }
                Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Removes a file; does nothing if there is none.
    ///
    /// # Errors
    /// The error of the system.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a folder if it is empty; returns true if it no longer exists.
    #[must_use]
    pub fn remove_empty(&self, name: &str) -> bool {
        rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR).is_ok()
    }

    /// Returns true if there is an entry of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.stat(name).is_ok()
    }

    /// Makes the names in the folder durable.
    ///
    /// # Errors
    /// The error of the system.
    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(self.fd.as_fd())?)
    }

    fn stat(&self, name: &str) -> io::Result<rustix::fs::Stat> {
        Ok(rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?)
    }
}

/// Returns the hidden name under which a file is written before it is renamed.
#[must_use]
pub fn temporary(name: &str) -> String {
    format!(".{name}.tmp")
}

fn flags() -> OFlags {
    OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY
}

fn kind(stat: &rustix::fs::Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn not_plain(what: &str) -> Unusable {
    Unusable::Refused(Failure::new("file.unsafe", format!("it is {what}")))
}
