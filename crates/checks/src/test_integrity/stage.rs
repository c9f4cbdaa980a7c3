//! The checkout in which tests of the base run against a change, with or without its code.

use std::path::Path;

use switchboard_protocol::finding::CheckCommand;

use super::change::Change;
use super::restored::Restored;
use crate::error::Error;
use crate::git::Git;
use crate::limits::Limits;

/// A checkout at the commit of a change. Who writes into it resets it with [`Stage::reset`].
pub(super) struct Stage<'a> {
    pub(super) root: &'a Path,
    pub(super) git: &'a Git,
    pub(super) change: &'a Change,
    /// Test command of the plan.
    pub(super) command: &'a CheckCommand,
    pub(super) limits: &'a Limits,
    pub(super) base: &'a str,
    pub(super) commit: &'a str,
}

// === impl Stage ===

impl Stage<'_> {
    /// Brings the checkout back to the commit.
    pub(super) fn reset(&self) -> Result<(), Error> {
        self.git.reset_to(self.commit)
    }

    /// Puts the files of the change back to the base.
    pub(super) fn reset_to_base(&self) -> Result<(), Error> {
        self.reset()?;
        Restored::all_of(self.change).write(self.root, self.git, self.base)
    }

    /// Writes a file. Returns false where it is a link, or its resolved folder lies outside the checkout.
    pub(super) fn write(&self, path: &str, text: &str) -> Result<bool, Error> {
        let place = self.root.join(path);
        let root = self.root.canonicalize().unwrap_or_else(|_| self.root.to_owned());
        let folder = place.parent().and_then(|folder| folder.canonicalize().ok());
        if place.is_symlink() || !folder.is_some_and(|folder| folder.starts_with(root)) {
            return Ok(false);
        }
        std::fs::write(&place, text).map_err(|source| Error::Root { root: path.to_owned(), source })?;
        Ok(true)
    }
}
