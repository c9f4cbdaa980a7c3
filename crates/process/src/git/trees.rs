//! The repository as its other work trees see it.

use std::path::Path;

use super::repo::Repo;
use crate::{Error, Result};

// === impl Repo ===

impl Repo {
    /// Returns the name of this work tree in its repository, which stays the same when the repository is moved: empty for the main one, else
    /// `worktrees/NAME`.
    #[must_use]
    pub fn tree_name(&self) -> String {
        let inside = self.git_dir.strip_prefix(&self.common_dir).unwrap_or(Path::new(""));
        inside.to_string_lossy().into_owned()
    }

    /// Returns the repository as the work tree that contains `folder` sees it.
    ///
    /// # Errors
    /// [`Error::OtherRepository`] if it is a work tree of another one; [`Error::NotARepository`], [`Error::Bare`], [`Error::Git`].
    pub fn tree_at(&self, folder: &Path) -> Result<Self> {
        let found = self.git.discover(folder)?;
        if found.common_dir != self.common_dir {
            return Err(Error::OtherRepository { path: folder.to_owned(), repository: self.root.clone() });
        }
        Ok(found)
    }

    /// Returns the repository as the work tree of this name sees it.
    ///
    /// # Errors
    /// [`Error::NotARepository`] when there is no such work tree any more; [`Error::Git`], [`Error::Io`].
    pub fn tree_named(&self, name: &str) -> Result<Self> {
        if name == self.tree_name() {
            return Ok(self.clone());
        }
        let admin = self.common_dir.join(name);
        let path = match name {
            "" => self.worktree_list()?.into_iter().next().map(|main| main.path),
            _ => self.admin_folders()?.into_iter().find(|(folder, _)| *folder == admin).map(|(_, path)| path),
        };
        self.tree_at(&path.unwrap_or(admin))
    }

    /// Returns the repository as the work tree with `branch` checked out sees it; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::Git`].
    pub fn tree_on(&self, branch: &str) -> Result<Option<Self>> {
        let listed = self.worktree_list()?;
        let on = |listed: &&super::Listed| listed.branch.as_deref() == Some(branch) && listed.path.is_dir();
        let Some(listed) = listed.iter().find(on) else { return Ok(None) };
        match listed.path == self.root {
            true => Ok(Some(self.clone())),
            false => self.tree_at(&listed.path).map(Some),
        }
    }
}
