//! Merges without a work tree: from two commits to a tree or a list of conflicts.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::repo::Repo;
use super::types::{Author, Oid};
use crate::{Error, Result};

/// Result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// A tree without conflicts.
    Clean {
        /// Id of the tree.
        tree: Oid,
    },
    /// Both sides changed the same place.
    Conflict {
        /// Conflicting files.
        files: Vec<PathBuf>,
    },
}

// === impl Repo ===

impl Repo {
    /// Merges two commits by git's own strategy, in the object store only.
    ///
    /// # Errors
    /// [`Error::Git`], also when the commits share no history.
    pub fn merge_tree(&self, ours: &Oid, theirs: &Oid) -> Result<Merged> {
        let args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours.as_str(), theirs.as_str()];
        let (code, answer) = self.call(args).answer(&[0, 1])?;
        let mut fields = answer.split(|b| *b == 0).filter(|field| !field.is_empty());
        let tree = fields.next().map(|f| String::from_utf8_lossy(f).trim_end().to_owned()).unwrap_or_default();
        if code == 0 {
            return Ok(Merged::Clean { tree: Oid::parse(&tree)? });
        }
        let files: Vec<_> = fields.map(|f| PathBuf::from(OsStr::from_bytes(f))).collect();
        if files.is_empty() {
            let why = "a conflict without files".to_owned();
            return Err(Error::GitAnswer { call: "merge-tree".to_owned(), why });
        }
        Ok(Merged::Conflict { files })
    }

    /// Commits a tree; moves no branch. The committer is Switchboard, the time is the author's.
    ///
    /// # Errors
    /// [`Error::Git`].
    pub fn commit_tree(&self, tree: &Oid, parents: &[&Oid], author: &Author, message: &str) -> Result<Oid> {
        let mut call = self.call(["commit-tree", tree.as_str()]);
        for parent in parents {
            call = call.arg("-p").arg(parent.as_str());
        }
        for (name, value) in author.variables() {
            call = call.env(name, value);
        }
        let message = message.replace('\0', "");
        let text = call.setting("i18n.commitEncoding=UTF-8").arg("-F").arg("-").input(message).text()?;
        Oid::parse(text.trim_end())
    }
}
