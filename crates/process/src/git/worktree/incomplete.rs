//! Remains of a work tree whose maker was killed before git knew its path, or whose path is gone since: a locked administrative folder,
//! which `git worktree prune` never removes.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::{is_ours_in_the_making, place_of};
use crate::git::repo::Repo;
use crate::{Error, Result};

// === impl Repo ===

impl Repo {
    /// Unregisters incomplete work trees of ours that have no path, and returns their number. None of ours may be in the making meanwhile;
    /// those that git itself makes, or that are locked otherwise, are left alone.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn worktrees_forget_incomplete(&self) -> Result<usize> {
        let folder = self.common_dir.join("worktrees");
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(Error::io(format!("read {}", folder.display()))(error)),
        };
        let mut forgotten = 0;
        for admin in entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|admin| is_incomplete(admin)) {
            self.forget(&admin)?;
            forgotten += 1;
        }
        Ok(forgotten)
    }
}

fn is_incomplete(admin: &Path) -> bool {
    is_ours_in_the_making(admin) && place_of(admin).is_none_or(|place| !place.exists())
}
