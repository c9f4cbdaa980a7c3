//! The only code that touches the protocol's folders. Everything goes through descriptors that were opened without
//! following a link, so that nobody who may write there can redirect us to another file.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use switchboard_protocol::error::Failure;

/// Most entries of one folder that one look sees; the rest is seen when these are gone.
const MAX_ENTRIES: usize = 20_000;

/// Longest name of a file that is looked at, in bytes.
const MAX_NAME_BYTES: usize = 160;

/// A folder, opened without following links below the root.
#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
}

/// Something in a folder, as its directory says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Whether it is a folder itself.
    pub is_folder: bool,
}

/// Why a file was not read.
#[derive(Debug)]
pub enum Unusable {
    /// It is gone.
    Gone,
    /// It is refused.
    Refused(Failure),
    /// The system says no.
    Io(io::Error),
}

/// How a file looked: its size, its time of change in nanoseconds, and which one it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    size: i64,
    changed: (i64, i64),
    inode: u64,
}

// === impl Folder ===

impl Folder {
    /// Opens the root of the protocol's folders, which we made ourselves.
    ///
    /// # Errors
    /// What the system says.
    pub fn root(path: &Path) -> io::Result<Self> {
        Ok(Self { fd: rustix::fs::open(path, flags() | OFlags::DIRECTORY, Mode::empty())? })
    }

    /// Opens a folder in this one; `None` if there is none by this name, or if it is a link or a file.
    ///
    /// # Errors
    /// What the system says.
    pub fn sub(&self, name: &str) -> io::Result<Option<Self>> {
        match rustix::fs::openat(&self.fd, name, flags() | OFlags::DIRECTORY, Mode::empty()) {
            Ok(fd) => Ok(Some(Self { fd })),
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a folder in this one, making it where there is none.
    ///
    /// # Errors
    /// What the system says; that a link or a file stands there.
    pub fn make(&self, name: &str) -> io::Result<Self> {
        match rustix::fs::mkdirat(&self.fd, name, Mode::RWXU) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        self.sub(name)?.ok_or_else(|| io::Error::from(io::ErrorKind::NotADirectory))
    }

    /// The same for a path of several names.
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

    /// What is in it, by name, without what is hidden, and without names that are no text or too long.
    ///
    /// # Errors
    /// What the system says.
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

    /// How a file looks, to tell whether it still changes.
    ///
    /// # Errors
    /// What the system says.
    pub fn look(&self, name: &str) -> io::Result<Look> {
        let stat = self.stat(name)?;
        #[expect(clippy::useless_conversion, reason = "the types differ between systems")]
        let changed = (i64::from(stat.st_mtime), i64::try_from(stat.st_mtime_nsec).unwrap_or(0));
        Ok(Look { size: stat.st_size, changed, inode: stat.st_ino })
    }

    /// When a file was last changed, in seconds since 1970.
    ///
    /// # Errors
    /// What the system says.
    pub fn changed_at(&self, name: &str) -> io::Result<i64> {
        Ok(self.look(name)?.changed.0)
    }

    /// Which folder it is, as long as it is there.
    ///
    /// # Errors
    /// What the system says.
    pub fn inode(&self) -> io::Result<u64> {
        Ok(rustix::fs::fstat(&self.fd)?.st_ino)
    }

    /// Reads a plain file of at most `limit` bytes. It is opened without waiting and without following a link, and may
    /// have no second name: that could be a file of the user which somebody else can't read.
    ///
    /// # Errors
    /// `file.unsafe` and `file.too-large` as refusals; what the system says.
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

    /// Writes a file that readers of the folder may read, and syncs it.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.write_unsynced(name, bytes)?.sync_all()
    }

    fn write_unsynced(&self, name: &str, bytes: &[u8]) -> io::Result<File> {
        let open = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // An interrupted attempt may have left a file of this name; it is removed.
        self.remove(name)?;
        let fd = rustix::fs::openat(&self.fd, name, open, Mode::RUSR | Mode::WUSR)?;
        let folder = rustix::fs::fstat(&self.fd)?;
        // Another user, say that of a container, reads the files of a folder that was opened to it.
        rustix::fs::fchmod(&fd, Mode::from_raw_mode(folder.st_mode & 0o666) | Mode::RUSR | Mode::WUSR)?;
        let mut file = File::from(fd);
        file.write_all(bytes)?;
        Ok(file)
    }

    /// Replaces a file atomically. A power cut may bring the old one back, which the
    /// copies and receipts that are written here tolerate.
    ///
    /// # Errors
    /// What the system says.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let beside = temporary(name);
        self.write(&beside, bytes)?;
        self.rename(&beside, name)
    }

    /// The same for a file that a power cut may take.
    ///
    /// # Errors
    /// What the system says.
    pub fn replace_unsynced(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let beside = temporary(name);
        drop(self.write_unsynced(&beside, bytes)?);
        self.rename(&beside, name)
    }

    /// Gives a file another name, over whatever has it.
    ///
    /// # Errors
    /// What the system says.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.fd, from, &self.fd, to)?)
    }

    /// Moves what has this name into another folder, under the first of the names that is free.
    ///
    /// # Errors
    /// What the system says.
    pub fn move_to(&self, name: &str, to: &Self, names: impl IntoIterator<Item = String>) -> io::Result<String> {
        for free in names {
            match rustix::fs::renameat_with(&self.fd, name, &to.fd, &free, RenameFlags::NOREPLACE) {
                Ok(()) => return Ok(free),
                Err(rustix::io::Errno::EXIST) => {}
                // Some file systems don't support the flag; then it is checked first.
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

    /// Removes a file; nothing happens when there is none.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a folder if it is empty; returns whether it is gone.
    #[must_use]
    pub fn remove_empty(&self, name: &str) -> bool {
        rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR).is_ok()
    }

    /// Whether something has this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.stat(name).is_ok()
    }

    /// Makes names durable.
    ///
    /// # Errors
    /// What the system says.
    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(self.fd.as_fd())?)
    }

    fn stat(&self, name: &str) -> io::Result<rustix::fs::Stat> {
        Ok(rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?)
    }
}

/// The hidden name under which a file is written before it gets its own.
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
