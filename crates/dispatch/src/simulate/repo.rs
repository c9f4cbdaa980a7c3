//! A repository in memory: commits, branches and work trees, without a file.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use switchboard_process::git::{Author, Captured, Change, Head, Merged, Oid};
use switchboard_protocol::error::Failure;

use super::stage::Stage;
use crate::Error;
use crate::port::Git;
use crate::port::git::Commit;
use crate::world::lock;

type Result<T> = std::result::Result<T, Error>;

/// Content by path.
type Files = BTreeMap<Arc<str>, Arc<str>>;

/// The user's branch.
pub(super) const MAIN: &str = "main";

#[derive(Clone)]
struct Made {
    tree: Oid,
    parents: Vec<Oid>,
    message: String,
}

struct Work {
    branch: String,
    files: Files,
}

/// The state of the repository.
pub(super) struct Repo {
    commits: HashMap<Oid, Made>,
    trees: HashMap<Oid, Arc<Files>>,
    branches: BTreeMap<String, Oid>,
    worktrees: BTreeMap<PathBuf, Work>,
}

/// The port.
pub(super) struct SimGit(pub(super) Arc<Stage>);

fn oid(hasher: &DefaultHasher) -> Oid {
    Oid::parse(&format!("{:040x}", u128::from(hasher.finish()) << 3 | 1)).expect("forty hex digits")
}

// === impl Repo ===

impl Repo {
    /// A repository with one commit on the user's branch.
    pub(super) fn new() -> Self {
        let mut repo = Self {
            commits: HashMap::new(),
            trees: HashMap::new(),
            branches: BTreeMap::new(),
            worktrees: BTreeMap::new(),
        };
        let tree = repo.tree(Files::from([("README".into(), "hello".into())]));
        let commit = repo.commit(tree, Vec::new(), "first", 0);
        repo.branches.insert(MAIN.to_owned(), commit);
        repo
    }

    fn tree(&mut self, files: Files) -> Oid {
        let mut hasher = DefaultHasher::new();
        files.hash(&mut hasher);
        let id = oid(&hasher);
        self.trees.entry(id.clone()).or_insert_with(|| Arc::new(files));
        id
    }

    fn commit(&mut self, tree: Oid, parents: Vec<Oid>, message: &str, at: i64) -> Oid {
        let mut hasher = DefaultHasher::new();
        (tree.as_str(), &parents, message, at).hash(&mut hasher);
        let id = oid(&hasher);
        self.commits.insert(id.clone(), Made { tree, parents, message: message.to_owned() });
        id
    }

    fn made(&self, commit: &Oid) -> Result<&Made> {
        self.commits.get(commit).ok_or_else(|| Error::Missing(format!("the commit {commit}")))
    }

    /// The files of a commit.
    pub(super) fn files(&self, commit: &Oid) -> Result<Arc<Files>> {
        Ok(Arc::clone(&self.trees[&self.made(commit)?.tree]))
    }

    pub(super) fn branch(&self, name: &str) -> Option<Oid> {
        self.branches.get(name).cloned()
    }

    fn is_ancestor(&self, ancestor: &Oid, commit: &Oid) -> bool {
        let mut open = vec![commit];
        let mut seen = std::collections::HashSet::new();
        while let Some(at) = open.pop() {
            if at == ancestor {
                return true;
            }
            if seen.insert(at)
                && let Some(made) = self.commits.get(at)
            {
                open.extend(&made.parents);
            }
        }
        false
    }

    /// Messages of the commits that lead from `base` to `tip` by first parents, newest first.
    pub(super) fn messages(&self, base: &Oid, tip: &Oid) -> Vec<String> {
        let (mut at, mut messages) = (tip.clone(), Vec::new());
        while at != *base {
            let Some(made) = self.commits.get(&at) else { break };
            messages.push(made.message.clone());
            let Some(parent) = made.parents.first() else { break };
            at = parent.clone();
        }
        messages
    }

    /// A person commits to a branch by hand.
    pub(super) fn commit_by_hand(&mut self, branch: &str, n: u64) {
        let Some(head) = self.branch(branch) else { return };
        let Ok(files) = self.files(&head) else { return };
        let mut files = (*files).clone();
        files.insert(format!("hand/{n}").into(), "by hand".into());
        let tree = self.tree(files);
        let commit = self.commit(tree, vec![head], "by hand", 0);
        self.branches.insert(branch.to_owned(), commit);
    }

    // === work trees ===

    /// Writes a file in a work tree, if it is there.
    pub(super) fn write(&mut self, at: &Path, path: &str, content: &str) {
        if let Some(work) = self.worktrees.get_mut(at) {
            work.files.insert(path.into(), content.into());
        }
    }

    /// Whether anything in a work tree that differs from a commit satisfies `is_bad`.
    pub(super) fn any_changed(&self, at: &Path, base: &Oid, is_bad: impl Fn(&str) -> bool) -> bool {
        let (Some(work), Ok(before)) = (self.worktrees.get(at), self.files(base)) else { return false };
        work.files.iter().any(|(path, content)| before.get(path) != Some(content) && is_bad(content))
    }

    // === merging ===

    fn merge_base(&self, ours: &Oid, theirs: &Oid) -> Result<Oid> {
        let mut at = theirs.clone();
        while !self.is_ancestor(&at, ours) {
            let parents = &self.made(&at)?.parents;
            at = parents.first().cloned().ok_or_else(|| Error::Missing("a common ancestor".to_owned()))?;
        }
        Ok(at)
    }

    fn merge(&mut self, ours: &Oid, theirs: &Oid) -> Result<Merged> {
        let base = self.files(&self.merge_base(ours, theirs)?)?;
        let (mut files, changed) = ((*self.files(ours)?).clone(), self.files(theirs)?);
        let mut conflicts = Vec::new();
        for (path, content) in changed.iter().filter(|(path, content)| base.get(*path) != Some(*content)) {
            if files.get(path) == base.get(path) || files.get(path) == Some(content) {
                files.insert(Arc::clone(path), Arc::clone(content));
            } else {
                conflicts.push(PathBuf::from(&**path));
            }
        }
        if conflicts.is_empty() {
            Ok(Merged::Clean { tree: self.tree(files) })
        } else {
            Ok(Merged::Conflict { files: conflicts })
        }
    }
}

// === impl SimGit ===

impl SimGit {
    fn with<T>(&self, call: impl FnOnce(&mut Repo) -> Result<T>) -> Result<T> {
        if self.0.git_fails() {
            return Err(Failure::new("git.failed", "git could not do it, this time").into());
        }
        call(&mut lock(&self.0.repo))
    }

    /// A call that changes something: git may fail before it, and also after it.
    fn changing<T>(&self, call: impl FnOnce(&mut Repo) -> Result<T>) -> Result<T> {
        let done = self.with(call)?;
        self.with(|_| Ok(done))
    }
}

impl Git for SimGit {
    fn root(&self) -> &Path {
        Path::new("/repo")
    }

    fn head(&self) -> Result<Head> {
        self.with(|repo| Ok(Head::Branch { name: MAIN.to_owned(), commit: repo.branches[MAIN].clone() }))
    }

    fn dirty(&self) -> Result<Vec<PathBuf>> {
        Ok(Vec::new())
    }

    fn rev_parse(&self, revision: &str) -> Result<Option<Oid>> {
        self.with(|repo| Ok(repo.branch(revision)))
    }

    fn branch(&self, name: &str) -> Result<Option<Oid>> {
        self.with(|repo| Ok(repo.branch(name)))
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

    fn delete_branch(&self, name: &str, _tip: &Oid) -> Result<()> {
        self.changing(|repo| {
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
        self.with(|repo| repo.merge(ours, theirs))
    }

    fn commit_tree(&self, tree: &Oid, parents: &[&Oid], author: &Author, message: &str) -> Result<Oid> {
        let parents = parents.iter().map(|oid| (*oid).clone()).collect();
        self.with(|repo| Ok(repo.commit(tree.clone(), parents, message, author.at.0)))
    }

    fn changed_files(&self, old: &Oid, new: &Oid) -> Result<Vec<Change>> {
        self.with(|repo| {
            let (before, after) = (repo.files(old)?, repo.files(new)?);
            let changed = after.iter().filter(|(path, content)| before.get(*path) != Some(*content));
            Ok(changed.map(|(path, _)| Change { path: PathBuf::from(&**path), before: None, after: None }).collect())
        })
    }

    fn diff_text(&self, _old: &Oid, _new: &Oid, _keep: usize) -> Result<String> {
        Ok(String::new())
    }

    fn has_worktree(&self, path: &Path) -> Result<bool> {
        self.with(|repo| Ok(repo.worktrees.contains_key(path)))
    }

    fn worktree_tip(&self, path: &Path) -> Result<Option<Oid>> {
        self.with(|repo| Ok(repo.worktrees.get(path).and_then(|work| repo.branch(&work.branch))))
    }

    fn worktree_add(&self, path: &Path, branch: &str, at: &Oid) -> Result<()> {
        self.changing(|repo| {
            if repo.worktrees.contains_key(path) {
                return Ok(());
            }
            let at = repo.branches.entry(branch.to_owned()).or_insert_with(|| at.clone()).clone();
            let files = (*repo.files(&at)?).clone();
            repo.worktrees.insert(path.to_owned(), Work { branch: branch.to_owned(), files });
            Ok(())
        })
    }

    fn worktree_reset(&self, path: &Path, branch: &str, commit: &Oid) -> Result<()> {
        self.changing(|repo| {
            let files = (*repo.files(commit)?).clone();
            repo.branches.insert(branch.to_owned(), commit.clone());
            repo.worktrees.insert(path.to_owned(), Work { branch: branch.to_owned(), files });
            Ok(())
        })
    }

    fn worktree_remove(&self, path: &Path, _base: &Path) -> Result<()> {
        self.changing(|repo| {
            repo.worktrees.remove(path);
            Ok(())
        })
    }

    fn capture(&self, path: &Path, commit: &Commit<'_>) -> Result<Option<Captured>> {
        self.changing(|repo| {
            let work =
                repo.worktrees.get(path).ok_or_else(|| Error::Missing(format!("the work tree {}", path.display())))?;
            let files = work.files.clone();
            let tree = repo.tree(files);
            if tree == repo.made(commit.parent)?.tree {
                return Ok(None);
            }
            let made = repo.commit(tree.clone(), vec![commit.parent.clone()], commit.message, commit.author.at.0);
            repo.branches.insert(commit.branch.to_owned(), made.clone());
            Ok(Some(Captured { commit: made, tree, left_out: Vec::new() }))
        })
    }
}
