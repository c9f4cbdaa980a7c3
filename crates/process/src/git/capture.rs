//! Makes a commit of what an agent left in its work tree, whatever it did to the index, the branch or the `.git` file.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::call::Call;
use super::repo::{OWN_FOLDER, utf8};
use super::types::{Author, Change, Entry, Oid};
use super::worktree::{Worktree, remove_file};
use crate::{Error, Result};

/// A change that became a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// The commit; its only parent is the one that was named.
    pub commit: Oid,
    /// Its tree.
    pub tree: Oid,
    /// Repositories that the agent made or moved inside the work tree: their content can't be committed and was left out.
    pub left_out: Vec<PathBuf>,
}

// === impl Worktree ===

impl Worktree {
    /// Commits all files of the work tree, new and deleted ones included, ignored ones and [`OWN_FOLDER`] not, onto `parent`, and moves the branch
    /// there. Commits that the agent made itself are folded into it, and the `.git` file is put back as git wrote it. `None` if the files are those of `parent`: then the branch is at
    /// `parent` again. The files stay as they are; gates see them.
    ///
    /// # Errors
    /// [`crate::Error::Moved`] when the branch moves meanwhile; [`crate::Error::Git`], for instance for a file that can't be read.
    pub fn capture(&self, branch: &str, parent: &Oid, author: &Author, message: &str) -> Result<Option<Captured>> {
        self.capture_with(branch, parent, author, message, &[])
    }

    /// The same, also with these files that git ignores.
    ///
    /// # Errors
    /// As [`capture`](Self::capture).
    pub fn capture_with(
        &self,
        branch: &str,
        parent: &Oid,
        author: &Author,
        message: &str,
        ignored: &[PathBuf],
    ) -> Result<Option<Captured>> {
        // What looks at the tree from here on may ask git where it stands, and must not be led to settings that the agent wrote.
        self.restore_link()?;
        let before = self.repo.branch(branch)?;
        let index = self.index_of(parent)?;
        let (tree, left_out) = self.write_tree(&index, parent, ignored)?;
        remove_file(&index)?;
        let is_same = tree == self.repo.tree_of(parent)?;
        let commit = if is_same { parent.clone() } else { self.repo.commit_tree(&tree, &[parent], author, message)? };
        self.repo.update_branch(branch, &commit, before.as_ref())?;
        self.attach(branch)?;
        self.call(["read-tree", commit.as_str()])?.done()?;
        Ok((!is_same).then_some(Captured { commit, tree, left_out }))
    }

    /// Files that are not as in a commit, whether git knows them or not, and whether they were committed or not; ignored ones and [`OWN_FOLDER`] not. By way
    /// of an index of our own, as a capture; where there are such files it takes the place of the tree's index, so that flags which hid them are gone and a
    /// reset brings them back.
    ///
    /// # Errors
    /// [`Error::Git`], [`Error::Io`].
    pub fn files_unlike(&self, commit: &Oid) -> Result<Vec<PathBuf>> {
        self.restore_link()?;
        let index = self.index_of(commit)?;
        let status =
            ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=none"];
        let listed = self.private(&index, &status)?.bytes()?;
        let paths = listed.split(|b| *b == 0).filter_map(|field| field.get(3..)).map(OsStr::from_bytes);
        // A file that was committed and is not in this index is listed twice.
        let paths: BTreeSet<_> = paths.map(PathBuf::from).filter(|path| !path.starts_with(OWN_FOLDER)).collect();
        if paths.is_empty() {
            remove_file(&index)?;
        } else {
            let own = self.admin.join("index");
            std::fs::rename(&index, &own).map_err(Error::io(format!("replace {}", own.display())))?;
        }
        Ok(paths.into_iter().collect())
    }

    /// The tree of a commit with these files as they lie in the work tree; one that is gone is left out of it.
    ///
    /// # Errors
    /// [`Error::Git`], [`Error::Io`].
    pub fn tree_with(&self, commit: &Oid, files: &[PathBuf]) -> Result<Oid> {
        self.restore_link()?;
        let index = self.index_of(commit)?;
        let named = files.iter().flat_map(|path| [b":(top,literal)", path.as_os_str().as_bytes(), b"\0"].concat());
        let add = ["add", "--all", "--force", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul"];
        self.private(&index, &add)?.input(named.collect::<Vec<u8>>()).done()?;
        let tree = self.private_tree(&index)?;
        remove_file(&index)?;
        Ok(tree)
    }

    /// Makes an index of our own of a commit: flags that an agent set in its index hide nothing.
    fn index_of(&self, commit: &Oid) -> Result<PathBuf> {
        let index = self.admin.join("switchboard-capture");
        remove_file(&index)?;
        remove_file(&index.with_extension("lock"))?;
        self.private(&index, &["read-tree", commit.as_str()])?.done()?;
        Ok(index)
    }

    /// The tree of all files, written by way of an index of `parent`.
    fn write_tree(&self, index: &Path, parent: &Oid, ignored: &[PathBuf]) -> Result<(Oid, Vec<PathBuf>)> {
        let mut left_out = self.nested(index)?;
        let mut paths = format!(".\0:(top,exclude,literal){OWN_FOLDER}\0").into_bytes();
        for nested in &left_out {
            paths.extend_from_slice(b":(top,exclude,literal)");
            paths.extend_from_slice(nested.as_os_str().as_bytes());
            paths.push(0);
        }
        let add = ["add", "--all", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul"];
        self.private(index, &add)?.input(paths).done()?;
        if !ignored.is_empty() {
            let named =
                ignored.iter().flat_map(|path| [b":(top,literal)", path.as_os_str().as_bytes(), b"\0"].concat());
            let add = ["add", "--force", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul"];
            self.private(index, &add)?.input(named.collect::<Vec<u8>>()).done()?;
        }
        let tree = self.private_tree(index)?;
        let moved = self.repo.changed_files(parent, &tree)?.into_iter().filter(touches_submodule).collect::<Vec<_>>();
        if moved.is_empty() {
            return Ok((tree, left_out));
        }
        let put_back =
            moved.iter().flat_map(|change| index_line(&change.path, change.before.as_ref(), &tree)).collect::<Vec<_>>();
        self.private(index, &["update-index", "-z", "--index-info"])?.input(put_back).done()?;
        left_out.extend(moved.into_iter().map(|change| change.path));
        Ok((self.private_tree(index)?, left_out))
    }

    /// Folders that are repositories of their own and that git doesn't know: adding one fails or makes a link to nowhere.
    fn nested(&self, index: &Path) -> Result<Vec<PathBuf>> {
        let listed = self.private(index, &["ls-files", "--others", "--exclude-standard", "-z"])?.bytes()?;
        let folders = listed.split(|b| *b == 0).filter_map(|path| path.strip_suffix(b"/"));
        Ok(folders.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect())
    }

    fn private(&self, index: &Path, args: &[&str]) -> Result<Call> {
        Ok(self.call(args.iter().copied())?.env("GIT_INDEX_FILE", utf8(index)?))
    }

    fn private_tree(&self, index: &Path) -> Result<Oid> {
        Oid::parse(self.private(index, &["write-tree"])?.text()?.trim_end())
    }
}

/// A submodule that appeared or points elsewhere: the commit that it names lies in no place that anybody else has.
fn touches_submodule(change: &Change) -> bool {
    change.after.as_ref().is_some_and(Entry::is_submodule)
}

/// One line for `update-index -z --index-info`; no entry removes the path.
pub(super) fn index_line(path: &Path, entry: Option<&Entry>, like: &Oid) -> Vec<u8> {
    let head = match entry {
        Some(entry) => format!("{} {}\t", entry.mode, entry.oid),
        None => format!("0 {}\t", like.zero()),
    };
    [head.as_bytes(), path.as_os_str().as_bytes(), b"\0"].concat()
}
