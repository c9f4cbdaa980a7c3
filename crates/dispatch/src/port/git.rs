//! Git operations of runs on the repository.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use switchboard_process::git::{Author, Captured, Change, Head, Merged, Oid, Repo};
use switchboard_protocol::time::Millis;

use crate::Error;

type Result<T> = std::result::Result<T, Error>;

/// Calls of git. All of them block.
pub(crate) trait Git: Send + Sync {
    /// Returns the top folder of the user's work tree.
    fn root(&self) -> &Path;
    /// Returns the name of the user's work tree, which stays the same when the repository is moved.
    fn tree_name(&self) -> String;
    /// Returns the repository as seen from the user's work tree that contains a folder.
    fn tree_at(&self, folder: &Path) -> Result<Arc<dyn Git>>;
    /// Returns the repository as seen from the user's work tree of this name.
    fn tree_named(&self, name: &str) -> Result<Arc<dyn Git>>;
    /// Returns the repository as seen from the work tree that has a branch checked out; `None` if none has.
    fn tree_on(&self, branch: &str) -> Result<Option<Arc<dyn Git>>>;
    /// Returns the target of the user's `HEAD`.
    fn head(&self) -> Result<Head>;
    /// Returns the paths that differ from `HEAD` in the user's work tree.
    fn dirty(&self) -> Result<Vec<PathBuf>>;
    /// Returns the commit that a revision names; `None` if there is none.
    fn rev_parse(&self, revision: &str) -> Result<Option<Oid>>;
    /// Returns the names of branches, of the remotes' branches and of tags.
    fn names(&self) -> Result<Vec<String>>;
    /// Returns the tip of a branch; `None` if there is no such branch.
    fn branch(&self, name: &str) -> Result<Option<Oid>>;
    /// Returns the branch of the user beside which git can hold none of ours.
    fn branch_in_the_way(&self) -> Result<Option<String>>;
    /// Moves a branch from `old` to `new`, or creates it if `old` is `None`. Fails with `Moved` if the branch is
    /// elsewhere.
    fn update_branch(&self, name: &str, new: &Oid, old: Option<&Oid>) -> Result<()>;
    /// Keeps a commit under a name outside of the branches.
    fn archive(&self, name: &str, commit: &Oid) -> Result<()>;
    /// Returns the archived commits, by their names.
    fn archived(&self) -> Result<Vec<(String, Oid)>>;
    /// Deletes a branch whose tip is `tip`.
    fn delete_branch(&self, name: &str, tip: &Oid) -> Result<()>;
    /// Moves a branch that the user has checked out, with index and files.
    fn advance_checkout(&self, branch: &str, old: &Oid, new: &Oid) -> Result<()>;
    /// Returns true if `commit` is `ancestor` or descends from it.
    fn is_ancestor(&self, ancestor: &Oid, commit: &Oid) -> Result<bool>;
    /// Returns the tree of a commit.
    fn tree_of(&self, commit: &Oid) -> Result<Oid>;
    /// Merges two commits into a tree.
    fn merge_tree(&self, ours: &Oid, theirs: &Oid) -> Result<Merged>;
    /// Creates a commit.
    fn commit_tree(&self, tree: &Oid, parents: &[&Oid], author: &Author, message: &str) -> Result<Oid>;
    /// Returns the author of a commit, with another time.
    fn author_of(&self, commit: &Oid, at: Millis) -> Result<Author>;
    /// Returns the paths that differ between two commits.
    fn changed_files(&self, old: &Oid, new: &Oid) -> Result<Vec<Change>>;
    /// Returns the files of a commit, relative to the root of the repository.
    fn files_of(&self, commit: &Oid) -> Result<Vec<PathBuf>>;
    /// Returns the number of lines added and removed between two commits.
    fn changed_lines(&self, old: &Oid, new: &Oid) -> Result<u32>;
    /// Returns what a person should know about the difference of two commits before a merge, a sentence each.
    fn unusual(&self, old: &Oid, new: &Oid) -> Result<Vec<String>>;
    /// Returns what the user's git would do at a merge and ours does not, a sentence each.
    fn left_out(&self) -> Result<Vec<String>>;
    /// Returns the difference of two commits as text, at most `keep` bytes of each end.
    fn diff_text(&self, old: &Oid, new: &Oid, keep: usize) -> Result<String>;
    /// Returns the tip of the work tree at `path`; `None` if there is none.
    fn worktree_tip(&self, path: &Path) -> Result<Option<Oid>>;
    /// Creates a work tree with `branch` checked out. Creates the branch at `at` if it doesn't exist, and likewise the
    /// branches `beside` it.
    fn worktree_add(&self, path: &Path, branch: &str, at: &Oid, beside: &[(&str, &Oid)]) -> Result<()>;
    /// Creates a work tree with a detached commit checked out, or moves the present one to the commit; ignored files
    /// stay.
    fn worktree_detached(&self, path: &Path, commit: &Oid) -> Result<()>;
    /// Resets a work tree and its branch to a commit.
    fn worktree_reset(&self, path: &Path, branch: &str, commit: &Oid) -> Result<()>;
    /// Returns the paths that differ from the commit in the work tree at `path`, without ignored ones.
    fn worktree_changes(&self, path: &Path) -> Result<Vec<PathBuf>>;
    /// Same as [`worktree_changes`](Self::worktree_changes), with each file listed, also those in an untracked folder.
    fn worktree_files(&self, path: &Path) -> Result<Vec<PathBuf>>;
    /// Returns the files of the work tree at `path` that differ from a commit, committed or not, regardless of its
    /// index; without ignored ones.
    fn worktree_files_unlike(&self, path: &Path, commit: &Oid) -> Result<Vec<PathBuf>>;
    /// Returns the tree of a commit, with these files replaced by those in the work tree at `path`.
    fn worktree_tree(&self, path: &Path, commit: &Oid, files: &[PathBuf]) -> Result<Oid>;
    /// Returns the size in bytes of the files in the work tree at `path`, with ignored ones; `None` if it does not
    /// exist or is removed meanwhile.
    fn worktree_bytes(&self, path: &Path) -> Result<Option<u64>>;
    /// Returns the files of the user's work tree that git ignores and that a pattern file names.
    fn ignored_and_listed(&self, patterns: &Path) -> Result<Vec<PathBuf>>;
    /// Returns the files of the user's index with one of these names, in any folder; sorted.
    fn tracked_named(&self, names: &[&str]) -> Result<Vec<PathBuf>>;
    /// Removes a work tree below `base`.
    fn worktree_remove(&self, path: &Path, base: &Path) -> Result<()>;
    /// Removes all work trees in a folder below `base`, and the folder.
    fn worktrees_remove(&self, folder: &Path, base: &Path) -> Result<()>;
    /// Commits the content of a work tree on `parent`; `None` if it is `parent`'s tree.
    fn capture(&self, path: &Path, commit: &Commit<'_>) -> Result<Option<Captured>>;
    /// Same as [`capture`](Self::capture), with small ignored files; the commit's message names those left out.
    fn capture_whole(&self, path: &Path, commit: &Commit<'_>) -> Result<Option<Captured>>;
}

/// Commit to be made by a capture.
pub(crate) struct Commit<'a> {
    /// Branch of the commit.
    pub(crate) branch: &'a str,
    /// Parent of the commit.
    pub(crate) parent: &'a Oid,
    /// Author of the change.
    pub(crate) author: &'a Author,
    /// Message of the commit.
    pub(crate) message: &'a str,
}

impl Git for Repo {
    fn root(&self) -> &Path {
        Self::root(self)
    }

    fn tree_name(&self) -> String {
        Self::tree_name(self)
    }

    fn tree_at(&self, folder: &Path) -> Result<Arc<dyn Git>> {
        Ok(Arc::new(Self::tree_at(self, folder)?))
    }

    fn tree_named(&self, name: &str) -> Result<Arc<dyn Git>> {
        Ok(Arc::new(Self::tree_named(self, name)?))
    }

    fn tree_on(&self, branch: &str) -> Result<Option<Arc<dyn Git>>> {
        let found = Self::tree_on(self, branch)?;
        Ok(found.map(|tree| Arc::new(tree) as Arc<dyn Git>))
    }

    fn head(&self) -> Result<Head> {
        Ok(Self::head(self)?)
    }

    fn dirty(&self) -> Result<Vec<PathBuf>> {
        Ok(self.status()?.into_iter().map(|dirty| dirty.path).collect())
    }

    fn rev_parse(&self, revision: &str) -> Result<Option<Oid>> {
        Ok(Self::rev_parse(self, revision)?)
    }

    fn names(&self) -> Result<Vec<String>> {
        Ok(Self::names(self)?)
    }

    fn branch(&self, name: &str) -> Result<Option<Oid>> {
        Ok(Self::branch(self, name)?)
    }

    fn branch_in_the_way(&self) -> Result<Option<String>> {
        Ok(Self::branch_in_the_way(self)?)
    }

    fn update_branch(&self, name: &str, new: &Oid, old: Option<&Oid>) -> Result<()> {
        Ok(Self::update_branch(self, name, new, old)?)
    }

    fn archive(&self, name: &str, commit: &Oid) -> Result<()> {
        Ok(Self::archive(self, name, commit)?)
    }

    fn archived(&self) -> Result<Vec<(String, Oid)>> {
        Ok(Self::archived(self)?)
    }

    fn delete_branch(&self, name: &str, tip: &Oid) -> Result<()> {
        Ok(Self::delete_branch(self, name, tip)?)
    }

    fn advance_checkout(&self, branch: &str, old: &Oid, new: &Oid) -> Result<()> {
        Self::advance_checkout(self, branch, old, new)?;
        Ok(())
    }

    fn is_ancestor(&self, ancestor: &Oid, commit: &Oid) -> Result<bool> {
        Ok(Self::is_ancestor(self, ancestor, commit)?)
    }

    fn tree_of(&self, commit: &Oid) -> Result<Oid> {
        Ok(Self::tree_of(self, commit)?)
    }

    fn merge_tree(&self, ours: &Oid, theirs: &Oid) -> Result<Merged> {
        Ok(Self::merge_tree(self, ours, theirs)?)
    }

    fn commit_tree(&self, tree: &Oid, parents: &[&Oid], author: &Author, message: &str) -> Result<Oid> {
        Ok(Self::commit_tree(self, tree, parents, author, message)?)
    }

    fn changed_lines(&self, old: &Oid, new: &Oid) -> Result<u32> {
        Ok(Self::changed_lines(self, old, new)?)
    }

    fn author_of(&self, commit: &Oid, at: Millis) -> Result<Author> {
        Ok(Self::author_of(self, commit, at)?)
    }

    fn changed_files(&self, old: &Oid, new: &Oid) -> Result<Vec<Change>> {
        Ok(Self::changed_files(self, old, new)?)
    }

    fn files_of(&self, commit: &Oid) -> Result<Vec<PathBuf>> {
        Ok(Self::files_of(self, commit)?)
    }

    fn unusual(&self, old: &Oid, new: &Oid) -> Result<Vec<String>> {
        Ok(Self::unusual(self, old, new)?)
    }

    fn left_out(&self) -> Result<Vec<String>> {
        Ok(Self::left_out(self)?)
    }

    fn diff_text(&self, old: &Oid, new: &Oid, keep: usize) -> Result<String> {
        Ok(Self::diff_text(self, old, new, keep)?.text)
    }

    fn worktree_tip(&self, path: &Path) -> Result<Option<Oid>> {
        Ok(Self::worktree_tip(self, path)?)
    }

    fn worktree_add(&self, path: &Path, branch: &str, at: &Oid, beside: &[(&str, &Oid)]) -> Result<()> {
        Self::worktree_add(self, path, branch, at, beside)?;
        Ok(())
    }

    fn worktree_detached(&self, path: &Path, commit: &Oid) -> Result<()> {
        Self::worktree_detached(self, path, commit)?;
        Ok(())
    }

    fn worktree_reset(&self, path: &Path, branch: &str, commit: &Oid) -> Result<()> {
        let tree = self.worktree(path)?.ok_or_else(|| missing(path))?;
        Ok(tree.reset(branch, commit, false)?)
    }

    fn worktree_changes(&self, path: &Path) -> Result<Vec<PathBuf>> {
        let tree = self.worktree(path)?.ok_or_else(|| missing(path))?;
        Ok(tree.changes()?)
    }

    fn worktree_files(&self, path: &Path) -> Result<Vec<PathBuf>> {
        let tree = self.worktree(path)?.ok_or_else(|| missing(path))?;
        Ok(tree.changed_files()?)
    }

    fn worktree_files_unlike(&self, path: &Path, commit: &Oid) -> Result<Vec<PathBuf>> {
        let tree = self.worktree(path)?.ok_or_else(|| missing(path))?;
        Ok(tree.files_unlike(commit)?)
    }

    fn worktree_tree(&self, path: &Path, commit: &Oid, files: &[PathBuf]) -> Result<Oid> {
        let tree = self.worktree(path)?.ok_or_else(|| missing(path))?;
        Ok(tree.tree_with(commit, files)?)
    }

    fn worktree_bytes(&self, path: &Path) -> Result<Option<u64>> {
        switchboard_process::file::bytes_below(path).map_err(crate::error::io(path))
    }

    fn ignored_and_listed(&self, patterns: &Path) -> Result<Vec<PathBuf>> {
        Ok(Self::ignored_and_listed(self, patterns)?)
    }

    fn tracked_named(&self, names: &[&str]) -> Result<Vec<PathBuf>> {
        Ok(Self::tracked_named(self, names.iter().copied())?)
    }

    fn worktree_remove(&self, path: &Path, base: &Path) -> Result<()> {
        Ok(Self::worktree_remove(self, path, base)?)
    }

    fn worktrees_remove(&self, folder: &Path, base: &Path) -> Result<()> {
        Ok(Self::worktrees_remove(self, folder, base)?)
    }

    fn capture(&self, path: &Path, commit: &Commit<'_>) -> Result<Option<Captured>> {
        let tree = self.worktree(path)?.ok_or_else(|| missing(path))?;
        Ok(tree.capture(commit.branch, commit.parent, commit.author, commit.message)?)
    }

    fn capture_whole(&self, path: &Path, commit: &Commit<'_>) -> Result<Option<Captured>> {
        let tree = self.worktree(path)?.ok_or_else(|| missing(path))?;
        let ignored = tree.ignored(Self::root(self))?;
        let message = match ignored.left_out_notice() {
            Some(told) => format!("{}\n\n{told}", commit.message),
            None => commit.message.to_owned(),
        };
        Ok(tree.capture_with(commit.branch, commit.parent, commit.author, &message, &ignored.kept)?)
    }
}

fn missing(path: &Path) -> Error {
    Error::Missing(format!("the work tree {}", path.display()))
}
