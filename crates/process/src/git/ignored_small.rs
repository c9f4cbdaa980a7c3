//! Ignored files in a work tree that is about to be removed: small files are kept, the others are reported.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::repo::OWN_FOLDER;
use super::worktree::Worktree;
use crate::Result;

/// Maximum size of a kept file, in bytes.
const MAX_FILE_BYTES: u64 = 256 << 10;

/// Maximum size in bytes and number of files kept from one tree: notes, settings and results, not the folders of a package manager or a
/// build.
const MAX_KEPT: (u64, usize) = (4 << 20, 500);

/// Maximum number of reported names of files that were not kept.
const MAX_REPORTED_NAMES: usize = 20;

/// Files that git ignores.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ignored {
    /// Small files, which are kept.
    pub kept: Vec<PathBuf>,
    /// Files and folders that are too large or are nested repositories.
    pub left_out: Vec<PathBuf>,
}

/// Remaining budget for kept files.
struct Room {
    bytes: u64,
    files: usize,
}

// === impl Ignored ===

impl Ignored {
    /// Returns a sentence about the files that were not kept; `None` if there are none.
    #[must_use]
    pub fn left_out_notice(&self) -> Option<String> {
        if self.left_out.is_empty() {
            return None;
        }
        let names: Vec<_> =
            self.left_out.iter().take(MAX_REPORTED_NAMES).map(|path| path.display().to_string()).collect();
        let more = self.left_out.len().saturating_sub(MAX_REPORTED_NAMES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        Some(format!("Left out, because git ignores them and they are large: {}{more}", names.join(", ")))
    }
}

// === impl Worktree ===

impl Worktree {
    /// Returns the files that git ignores in the work tree. Files that the user's tree has with the same content are neither kept nor
    /// reported.
    ///
    /// # Errors
    /// [`crate::Error::Git`].
    pub fn ignored(&self, users: &Path) -> Result<Ignored> {
        let listed = self.call(["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"])?;
        let listed = listed.bytes()?;
        let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        let paths = paths.map(|path| PathBuf::from(OsStr::from_bytes(path.strip_suffix(b"/").unwrap_or(path))));
        let (mut found, mut room) = (Ignored::default(), Room { bytes: MAX_KEPT.0, files: MAX_KEPT.1 });
        for path in paths.filter(|path| !path.starts_with(OWN_FOLDER)) {
            let before = found.kept.len();
            match self.take(&path, users, &mut room, &mut found.kept) {
                Some(()) => {}
                None => {
                    found.kept.truncate(before);
                    found.left_out.push(path);
                }
            }
        }
        Ok(found)
    }

    /// Takes a file, or all files of a folder; returns `None` if they are too large, or can't be read.
    fn take(&self, path: &Path, users: &Path, room: &mut Room, kept: &mut Vec<PathBuf>) -> Option<()> {
        let full = self.path.join(path);
        let data = fs::symlink_metadata(&full).ok()?;
        if data.is_dir() {
            if full.join(".git").exists() {
                return None;
            }
            for entry in fs::read_dir(&full).ok()? {
                self.take(&path.join(entry.ok()?.file_name()), users, room, kept)?;
            }
            return Some(());
        }
        if !data.is_file() && !data.is_symlink() {
            // A socket or a pipe has no content.
            return Some(());
        }
        if data.len() > MAX_FILE_BYTES {
            return None;
        }
        if data.is_file()
            && fs::read(users.join(path)).is_ok_and(|theirs| fs::read(&full).is_ok_and(|ours| ours == theirs))
        {
            return Some(());
        }
        room.files = room.files.checked_sub(1)?;
        room.bytes = room.bytes.checked_sub(data.len())?;
        kept.push(path.to_owned());
        Some(())
    }
}
