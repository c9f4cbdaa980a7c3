//! Remains of a work tree whose maker was killed: a locked administrative folder, which `git worktree prune` never removes, and often a folder
//! with a part of the files.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{Worktree, is_half_made, is_ours_in_the_making, place_of, real};
use crate::git::repo::Repo;
use crate::{Error, Result};

// === impl Repo ===

impl Repo {
    /// Removes incomplete work trees of ours, and returns their number: those in `bases`, with their folders, and those that we locked and
    /// that have no folder. None of ours may be in the making meanwhile. Those that git makes elsewhere, or that are locked otherwise, are
    /// left alone.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn worktrees_forget_incomplete(&self, bases: &[PathBuf]) -> Result<usize> {
        let bases = bases.iter().filter_map(|base| real(base).transpose()).collect::<Result<Vec<_>>>()?;
        let folder = self.common_dir.join("worktrees");
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(Error::io(format!("read {}", folder.display()))(error)),
        };
        let mut forgotten = 0;
        for admin in entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|admin| is_half_made(admin)) {
            let is_inside = |path: &Path| bases.iter().any(|base| path != base && path.starts_with(base));
            match place_of(&admin) {
                Some(path) if is_inside(&path) => Worktree { repo: self.clone(), path, admin }.undo()?,
                place if is_ours_in_the_making(&admin) && place.as_ref().is_none_or(|path| !path.exists()) => {
                    self.forget(&admin)?;
                }
                Some(_) | None => continue,
            }
            forgotten += 1;
        }
        Ok(forgotten)
    }
}
