//! Commits what an agent left in its work tree, whatever it did to the index, the branch or the `.git` file.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::call::Call;
use super::repo::{OWN_FOLDER, utf8};
use super::types::{Author, Change, Entry, Oid};
use super::worktree::{Worktree, remove_file};
use crate::{Error, Result};

/// A captured change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// The commit; its only parent is the given one.
    pub commit: Oid,
    /// Tree of the commit.
    pub tree: Oid,
    /// Repositories that the agent made or moved inside the work tree, and submodules with files that are not the submodule's: their content
    /// can't be committed and was left out.
    pub left_out: Vec<PathBuf>,
}

// === impl Worktree ===

impl Worktree {
    /// Commits all files of the work tree onto `parent`, including new and deleted ones but not ignored ones and [`OWN_FOLDER`], and moves
    /// the branch there. Commits that the agent made itself are folded into it, and the `.git` file is restored as git wrote it. Returns
    /// `None` if the files are those of `parent`: then the branch is at `parent` again. The files stay unchanged, for the gates.
    ///
    /// # Errors
    /// [`crate::Error::Moved`] when the branch moves meanwhile; [`crate::Error::Git`], for instance for a file that can't be read.
    pub fn capture(&self, branch: &str, parent: &Oid, author: &Author, message: &str) -> Result<Option<Captured>> {
        self.capture_with(branch, parent, author, message, &[])
    }

    /// As [`capture`](Self::capture), but includes these files that git ignores.
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
        // Later readers of the tree may ask git where the tree is, and must not be led to settings that the agent wrote.
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
        let is_unchanged = is_same && left_out.is_empty();
        Ok((!is_unchanged).then_some(Captured { commit, tree, left_out }))
    }

    /// Returns the files that differ from a commit, known to git or not, committed or not, without ignored ones and [`OWN_FOLDER`]. Uses a
    /// separate index, as a capture does; if there are such files, it replaces the tree's index, so that flags which hid them are gone and
    /// a reset restores them.
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

    /// Returns the tree of a commit with these files as they are in the work tree; deleted ones are left out.
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

    /// Makes a separate index of a commit, so that flags that an agent set in its own index hide nothing.
    fn index_of(&self, commit: &Oid) -> Result<PathBuf> {
        let index = self.admin.join("switchboard-capture");
        remove_file(&index)?;
        remove_file(&index.with_extension("lock"))?;
        self.private(&index, &["read-tree", commit.as_str()])?.done()?;
        Ok(index)
    }

    /// Writes the tree of all files, starting from an index of `parent`.
    fn write_tree(&self, index: &Path, parent: &Oid, ignored: &[PathBuf]) -> Result<(Oid, Vec<PathBuf>)> {
        let mut left_out = self.nested(index)?;
        left_out.extend(self.written_in_empty_submodules(index)?);
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

    /// Returns nested repositories that git doesn't know: adding one fails or makes a broken link.
    fn nested(&self, index: &Path) -> Result<Vec<PathBuf>> {
        let listed = self.private(index, &["ls-files", "--others", "--exclude-standard", "-z"])?.bytes()?;
        let folders = listed.split(|b| *b == 0).filter_map(|path| path.strip_suffix(b"/"));
        Ok(folders.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect())
    }

    /// Returns submodules that nobody has checked out and in whose folders there are files, which git takes for the submodule's own.
    fn written_in_empty_submodules(&self, index: &Path) -> Result<Vec<PathBuf>> {
        if !self.path.join(".gitmodules").is_file() {
            return Ok(Vec::new());
        }
        let listed = self.private(index, &["ls-files", "--stage", "-z"])?.bytes()?;
        let submodules = listed.split(|b| *b == 0).filter(|line| line.starts_with(b"160000 "));
        let paths = submodules.filter_map(|line| line.split(|b| *b == b'\t').nth(1)).map(OsStr::from_bytes);
        let is_written = |path: &&OsStr| {
            let folder = self.path.join(path);
            let has_files = std::fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some());
            has_files && !folder.join(".git").exists()
        };
        Ok(paths.filter(is_written).map(PathBuf::from).collect())
    }

    fn private(&self, index: &Path, args: &[&str]) -> Result<Call> {
        Ok(self.call(args.iter().copied())?.env("GIT_INDEX_FILE", utf8(index)?))
    }

    fn private_tree(&self, index: &Path) -> Result<Oid> {
        Oid::parse(self.private(index, &["write-tree"])?.text()?.trim_end())
    }
}

/// Returns true for a submodule that was added or changed: the commit that it names may exist nowhere else.
fn touches_submodule(change: &Change) -> bool {
    change.after.as_ref().is_some_and(Entry::is_submodule)
}

/// Returns one line for `update-index -z --index-info`; no entry removes the path.
pub(super) fn index_line(path: &Path, entry: Option<&Entry>, like: &Oid) -> Vec<u8> {
    let head = match entry {
        Some(entry) => format!("{} {}\t", entry.mode, entry.oid),
        None => format!("0 {}\t", like.zero()),
    };
    [head.as_bytes(), path.as_os_str().as_bytes(), b"\0"].concat()
}
