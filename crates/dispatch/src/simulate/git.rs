//! Simulated git port: its calls change the repository in memory, and sometimes fail.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use switchboard_process::git::{Author, Captured, Change, Head, Merged, Oid};
use switchboard_protocol::error::Failure;
use switchboard_protocol::time::Millis;

use super::repo::{MAIN, Repo};
use super::stage::{GitFailure, Stage};
use crate::Error;
use crate::lock::lock;
use crate::port::Git;
use crate::port::git::Commit;

type Result<T> = std::result::Result<T, Error>;

/// What git says is unusual about any change.
pub(super) const UNUSUAL: &str = "its files are simulated";

/// Git on the repository of a simulation.
pub(super) struct SimGit(pub(super) Arc<Stage>);

// === impl SimGit ===

impl SimGit {
    fn with<T>(&self, call: impl FnOnce(&mut Repo) -> Result<T>) -> Result<T> {
        if self.0.git_fails() {
            return Err(Failure::new("git.failed", "git could not do it, this time").into());
        }
        call(&mut lock(&self.0.repo))
    }

    /// Makes a call with changes: git may fail before it, and also after it.
    fn changing<T>(&self, call: impl FnOnce(&mut Repo) -> Result<T>) -> Result<T> {
        self.0.write()?;
        self.expect_no_failure(GitFailure::Before)?;
        let done = self.with(call)?;
        self.expect_no_failure(GitFailure::After)?;
        self.with(|_| Ok(done))
    }

    /// Fails if a test has said that the next change fails at this time.
    fn expect_no_failure(&self, at: GitFailure) -> Result<()> {
        if self.0.change_fails(at) {
            return Err(Failure::new("git.failed", "git was made to fail").into());
        }
        Ok(())
    }
}

impl Git for SimGit {
    fn root(&self) -> &Path {
        Path::new("/repo")
    }

    fn tree_name(&self) -> String {
        String::new()
    }

    fn tree_at(&self, _folder: &Path) -> Result<Arc<dyn Git>> {
        Ok(Arc::new(Self(Arc::clone(&self.0))))
    }

    fn tree_named(&self, _name: &str) -> Result<Arc<dyn Git>> {
        Ok(Arc::new(Self(Arc::clone(&self.0))))
    }

    fn tree_on(&self, branch: &str) -> Result<Option<Arc<dyn Git>>> {
        let tree = || Arc::new(Self(Arc::clone(&self.0))) as Arc<dyn Git>;
        self.with(|_| Ok((branch == MAIN).then(tree)))
    }

    fn head(&self) -> Result<Head> {
        self.with(|repo| Ok(Head::Branch { name: repo.head.clone(), commit: repo.branches[&repo.head].clone() }))
    }

    fn dirty(&self) -> Result<Vec<PathBuf>> {
        Ok(lock(&self.0.repo).dirty.clone())
    }

    fn rev_parse(&self, revision: &str) -> Result<Option<Oid>> {
        self.with(|repo| Ok(repo.find(revision)))
    }

    fn names(&self) -> Result<Vec<String>> {
        self.with(|repo| Ok(repo.branches.keys().cloned().collect()))
    }

    fn branch(&self, name: &str) -> Result<Option<Oid>> {
        self.with(|repo| Ok(repo.branch(name)))
    }

    fn branch_in_the_way(&self) -> Result<Option<String>> {
        Ok(lock(&self.0.repo).branches.contains_key("switchboard").then(|| "switchboard".to_owned()))
    }

    fn update_branch(&self, name: &str, new: &Oid, old: Option<&Oid>) -> Result<()> {
        self.changing(|repo| {
            let found = repo.branch(name);
            if found.as_ref() != old {
                let found = found.map(|oid| oid.to_string()).unwrap_or_default();
                return Err(switchboard_process::Error::Moved { name: name.to_owned(), found }.into());
            }
            repo.branches.insert(name.to_owned(), new.clone());
            Ok(())
        })
    }

    fn archive(&self, name: &str, commit: &Oid) -> Result<()> {
        self.changing(|repo| {
            repo.archived.insert(name.to_owned(), commit.clone());
            Ok(())
        })
    }

    fn archived(&self) -> Result<Vec<(String, Oid)>> {
        self.with(|repo| Ok(repo.archived.clone().into_iter().collect()))
    }

    fn delete_branch(&self, name: &str, tip: &Oid) -> Result<()> {
        self.changing(|repo| {
            if let Some(found) = repo.branch(name).filter(|found| found != tip) {
                let (name, found) = (name.to_owned(), found.to_string());
                return Err(switchboard_process::Error::Moved { name, found }.into());
            }
            repo.branches.remove(name);
            Ok(())
        })
    }

    fn advance_checkout(&self, branch: &str, old: &Oid, new: &Oid) -> Result<()> {
        self.changing(|repo| {
            let at = repo.branch(branch);
            if at.as_ref() == Some(new) {
                return Ok(());
            }
            if at.as_ref() != Some(old) {
                let found = at.map(|oid| oid.to_string()).unwrap_or_default();
                return Err(switchboard_process::Error::Moved { name: branch.to_owned(), found }.into());
            }
            repo.branches.insert(branch.to_owned(), new.clone());
            Ok(())
        })
    }

    fn is_ancestor(&self, ancestor: &Oid, commit: &Oid) -> Result<bool> {
        self.with(|repo| Ok(repo.is_ancestor(ancestor, commit)))
    }

    fn tree_of(&self, commit: &Oid) -> Result<Oid> {
        self.with(|repo| Ok(repo.made(commit)?.tree.clone()))
    }

    fn merge_tree(&self, ours: &Oid, theirs: &Oid) -> Result<Merged> {
        self.0.write()?;
        self.with(|repo| repo.merge(ours, theirs))
    }

    fn commit_tree(&self, tree: &Oid, parents: &[&Oid], author: &Author, message: &str) -> Result<Oid> {
        self.0.write()?;
        let parents = parents.iter().map(|oid| (*oid).clone()).collect();
        self.with(|repo| Ok(repo.commit(tree.clone(), parents, message, author.at.0)))
    }

    fn author_of(&self, commit: &Oid, at: Millis) -> Result<Author> {
        self.with(|repo| repo.made(commit).map(|_| Author { name: "ann".to_owned(), email: String::new(), at }))
    }

    fn unusual(&self, old: &Oid, new: &Oid) -> Result<Vec<String>> {
        Ok((old != new).then(|| UNUSUAL.to_owned()).into_iter().collect())
    }

    fn left_out(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn changed_files(&self, old: &Oid, new: &Oid) -> Result<Vec<Change>> {
        self.with(|repo| {
            let (before, after) = (repo.files(old)?, repo.files(new)?);
            let changed = after.changed_since(&before).into_iter();
            Ok(changed.map(|(path, _)| Change { path: PathBuf::from(&**path), before: None, after: None }).collect())
        })
    }

    fn files_of(&self, commit: &Oid) -> Result<Vec<PathBuf>> {
        self.with(|repo| Ok(repo.files(commit)?.iter().map(|(path, _)| PathBuf::from(&**path)).collect()))
    }

    fn changed_lines(&self, old: &Oid, new: &Oid) -> Result<u32> {
        let changed = self.changed_files(old, new)?;
        Ok(u32::try_from(changed.len()).unwrap_or(u32::MAX))
    }

    fn diff_text(&self, old: &Oid, new: &Oid, _keep: usize) -> Result<String> {
        let changed = self.changed_files(old, new)?;
        Ok(changed.iter().map(|change| format!("{}\n", change.path.display())).collect())
    }

    fn worktree_tip(&self, path: &Path) -> Result<Option<Oid>> {
        self.with(|repo| Ok(repo.worktrees.get(path).and_then(|work| repo.tip(work))))
    }

    fn worktree_add(&self, path: &Path, branch: &str, at: &Oid, beside: &[(&str, &Oid)]) -> Result<()> {
        self.changing(|repo| {
            for (name, at) in beside {
                repo.branches.entry((*name).to_owned()).or_insert_with(|| (*at).clone());
            }
            if repo.worktrees.contains_key(path) {
                return Ok(());
            }
            if let Some(found) = repo.branch(branch).filter(|found| found != at) {
                let (name, found) = (branch.to_owned(), found.to_string());
                return Err(switchboard_process::Error::Moved { name, found }.into());
            }
            repo.branches.insert(branch.to_owned(), at.clone());
            repo.check_out(path, branch, at)
        })
    }

    fn worktree_detached(&self, path: &Path, commit: &Oid) -> Result<()> {
        self.changing(|repo| {
            repo.check_out(path, "", commit)?;
            repo.detach(path, commit);
            Ok(())
        })
    }

    fn worktree_reset(&self, path: &Path, branch: &str, commit: &Oid) -> Result<()> {
        self.changing(|repo| {
            repo.branches.insert(branch.to_owned(), commit.clone());
            repo.check_out(path, branch, commit)
        })
    }

    fn worktree_changes(&self, path: &Path) -> Result<Vec<PathBuf>> {
        self.with(|repo| repo.changed_in(path))
    }

    fn worktree_files(&self, path: &Path) -> Result<Vec<PathBuf>> {
        self.worktree_changes(path)
    }

    fn worktree_files_unlike(&self, path: &Path, commit: &Oid) -> Result<Vec<PathBuf>> {
        self.with(|repo| repo.changed_from(path, commit))
    }

    /// In gate trees only files of the change are ever written.
    fn worktree_tree(&self, path: &Path, _commit: &Oid, _files: &[PathBuf]) -> Result<Oid> {
        self.changing(|repo| repo.captured(path))
    }

    fn worktree_bytes(&self, path: &Path) -> Result<Option<u64>> {
        self.with(|repo| Ok(repo.worktrees.contains_key(path).then_some(super::repo::TREE_BYTES)))
    }

    fn ignored_and_listed(&self, _patterns: &Path) -> Result<Vec<PathBuf>> {
        Ok(Vec::new())
    }

    fn tracked_named(&self, names: &[&str]) -> Result<Vec<PathBuf>> {
        let repo = lock(&self.0.repo);
        let files = repo.files(&repo.branches[&repo.head])?;
        let is_named = |path: &&str| names.contains(&path.rsplit('/').next().unwrap_or(path));
        Ok(files.iter().map(|(path, _)| &**path).filter(is_named).map(PathBuf::from).collect())
    }

    fn worktree_remove(&self, path: &Path, _base: &Path) -> Result<()> {
        lock(&self.0.set_up).remove(path);
        self.changing(|repo| {
            repo.worktrees.remove(path);
            repo.littered.remove(path);
            Ok(())
        })
    }

    fn worktrees_remove(&self, folder: &Path, _base: &Path) -> Result<()> {
        lock(&self.0.set_up).retain(|path| !path.starts_with(folder));
        self.changing(|repo| {
            repo.worktrees.retain(|path, _| !path.starts_with(folder));
            Ok(())
        })
    }

    fn capture_whole(&self, path: &Path, commit: &Commit<'_>) -> Result<Option<Captured>> {
        self.capture(path, commit)
    }

    fn capture(&self, path: &Path, commit: &Commit<'_>) -> Result<Option<Captured>> {
        #[cfg(test)]
        self.0.note(format!("commit by {} <{}>: {}", commit.author.name, commit.author.email, commit.message));
        self.changing(|repo| {
            let tree = repo.captured(path)?;
            if tree == repo.made(commit.parent)?.tree {
                return Ok(None);
            }
            let made = repo.commit(tree.clone(), vec![commit.parent.clone()], commit.message, commit.author.at.0);
            repo.branches.insert(commit.branch.to_owned(), made.clone());
            Ok(Some(Captured { commit: made, tree, left_out: Vec::new() }))
        })
    }
}
