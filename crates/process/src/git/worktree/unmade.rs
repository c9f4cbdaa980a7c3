//! What is left of a work tree whose maker was killed before git knew its place, or whose place is gone since: its administrative folder, locked, so that
//! `git worktree prune` leaves it alone for ever.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::{is_ours_in_the_making, place_of};
use crate::git::repo::Repo;
use crate::{Error, Result};

// === impl Repo ===

impl Repo {
    /// Forgets work trees that we began to make and that have no place, and returns how many. Nothing of ours may be in the making meanwhile; what
    /// git itself makes, or somebody has locked, is left alone.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn worktrees_forget_unmade(&self) -> Result<usize> {
        let folder = self.common_dir.join("worktrees");
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(Error::io(format!("read {}", folder.display()))(error)),
        };
        let mut forgotten = 0;
        for admin in entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|admin| is_unmade(admin)) {
            self.forget(&admin)?;
            forgotten += 1;
        }
        Ok(forgotten)
    }
}

fn is_unmade(admin: &Path) -> bool {
    is_ours_in_the_making(admin) && place_of(admin).is_none_or(|place| !place.exists())
}
