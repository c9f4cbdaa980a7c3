//! Numbers that each belong to one process at a time: a file with a lock and a mark for each. The kernel releases the locks of a process
//! that dies; the mark names the last owner.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use crate::{Error, Result};

/// Size of a mark, in bytes.
const MARK: u64 = 8;

/// A file of numbers, opened by one owner. Dropping it, or the end of the process, releases what it has claimed; the marks stay.
#[derive(Debug)]
pub struct Slots {
    file: File,
    count: u32,
}

// === impl Slots ===

impl Slots {
    /// Opens or creates the file of `count` numbers, from 0.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn open(path: &Path, count: u32) -> Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        let file = options.open(path).map_err(Error::io(format!("open {}", path.display())))?;
        Ok(Self { file, count })
    }

    /// Returns the number of numbers.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Claims a number and marks it with `owner`, which is not 0. Returns false if another opener of the file has it. Claiming a number again
    /// succeeds.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn claim(&self, number: u32, owner: u64) -> Result<bool> {
        if number >= self.count || !self.lock(number, libc::F_WRLCK)? {
            return Ok(false);
        }
        self.mark(number, owner)?;
        Ok(true)
    }

    /// Releases a number and removes its mark.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn release(&self, number: u32) -> Result<()> {
        self.mark(number, 0)?;
        self.lock(number, libc::F_UNLCK)?;
        Ok(())
    }

    /// Returns the present or last owner of the number, from its mark; `None` if it was released or never claimed.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn owner(&self, number: u32) -> Result<Option<u64>> {
        let mut mark = [0; MARK as usize];
        match self.file.read_exact_at(&mut mark, u64::from(number) * MARK) {
            Ok(()) => Ok(Some(u64::from_le_bytes(mark)).filter(|owner| *owner != 0)),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(Error::io("read a mark")(error)),
        }
    }

    fn mark(&self, number: u32, owner: u64) -> Result<()> {
        let written = self.file.write_all_at(&owner.to_le_bytes(), u64::from(number) * MARK);
        written.map_err(Error::io("write a mark"))
    }

    /// Locks or unlocks the bytes of a number; returns false if another opener has locked them.
    fn lock(&self, number: u32, how: libc::c_int) -> Result<bool> {
        let failed = Error::io("lock a number");
        let Ok(start) = libc::off_t::try_from(u64::from(number) * MARK) else { return Ok(false) };
        let Ok(how) = libc::c_short::try_from(how) else { return Ok(false) };
        let range = libc::flock {
            l_type: how,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: start,
            l_len: MARK as libc::off_t,
            l_pid: 0,
        };
        #[expect(unsafe_code, reason = "rustix locks whole files only")]
        // SAFETY: the descriptor is open as long as `self.file` is, and the kernel only reads `range` in this call.
        let done = unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_OFD_SETLK, &raw const range) };
        if done == 0 {
            return Ok(true);
        }
        let error = std::io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EACCES) => Ok(false),
            Some(_) | None => Err(failed(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("slots");
        (folder, path)
    }

    #[test]
    fn a_number_belongs_to_one_opener_until_it_is_given_back() {
        let (_folder, path) = file();
        let (one, other) = (Slots::open(&path, 3).unwrap(), Slots::open(&path, 3).unwrap());

        assert!(one.claim(1, 7).unwrap());
        assert!(!other.claim(1, 8).unwrap());
        assert!(other.claim(2, 8).unwrap(), "its neighbour is free");
        assert_eq!(other.owner(1).unwrap(), Some(7));

        one.release(1).unwrap();
        assert_eq!(other.owner(1).unwrap(), None);
        assert!(other.claim(1, 8).unwrap());
        assert!(!one.claim(3, 7).unwrap(), "there are three");
    }

    #[test]
    fn what_a_dead_opener_had_is_free_and_still_bears_its_mark() {
        let (_folder, path) = file();
        let one = Slots::open(&path, 2).unwrap();
        assert!(one.claim(0, 7).unwrap());

        drop(one);

        let other = Slots::open(&path, 2).unwrap();
        assert_eq!(other.owner(0).unwrap(), Some(7));
        assert!(other.claim(0, 8).unwrap());
        assert_eq!(other.owner(0).unwrap(), Some(8));
    }
}
