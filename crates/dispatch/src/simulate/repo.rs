//! A repository in memory: commits, branches and work trees, without a file.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{Hash, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use switchboard_process::git::{Merged, Oid};

use super::files::Files;
use crate::Error;

type Result<T> = std::result::Result<T, Error>;

/// Name of the user's branch.
pub(super) const MAIN: &str = "main";

/// Size that every work tree has.
pub(super) const TREE_BYTES: u64 = 64;

/// Number of tasks of the first phase that remove a file in addition to what they write.
pub(super) const REMOVERS: u64 = 8;

/// Text that a formatter appends to a file.
const TIDY: &str = "\ntidy";

/// Simulated commit.
#[derive(Clone)]
pub(super) struct Made {
    id: Oid,
    pub(super) tree: Oid,
    /// Indexes of the parents among all commits.
    parents: Vec<usize>,
    message: String,
    /// Length of the longest path to a first commit: an ancestor's is always smaller.
    generation: u64,
}

/// File changes by path; `None` removes a file.
type Changes = BTreeMap<Arc<str>, Option<Arc<str>>>;

/// Files of a commit, and the sum of their hashes, from which the tree's id is made: the cost of a change depends on
/// its size.
struct Tree {
    files: Arc<Files>,
    sum: u64,
}

/// Work tree: its branch, the tree that was checked out, and the changes since.
pub(super) struct Work {
    pub(super) branch: String,
    /// Commit of a work tree without a branch.
    pub(super) detached: Option<Oid>,
    tree: Oid,
    changes: Changes,
}

/// The state of the repository.
pub(super) struct Repo {
    commits: Vec<Made>,
    by_id: HashMap<Oid, usize>,
    trees: HashMap<Oid, Tree>,
    pub(super) branches: BTreeMap<String, Oid>,
    /// Branch that the user's work tree has checked out.
    pub(super) head: String,
    /// Files of the user's work tree with uncommitted changes.
    pub(super) dirty: Vec<PathBuf>,
    pub(super) worktrees: BTreeMap<PathBuf, Work>,
    /// Folders that are no work trees and in which a worker has left a file.
    pub(super) littered: BTreeSet<PathBuf>,
    /// Commits kept outside the branches.
    pub(super) archived: BTreeMap<String, Oid>,
}

/// Returns the file that a task of the simulated plan removes; the first tasks of each phase have one.
pub(super) fn removed_by(task: &str) -> String {
    format!("old/{task}")
}

fn oid(hash: u64) -> Oid {
    Oid::parse(&format!("{:040x}", u128::from(hash) << 3 | 1)).expect("forty hex digits")
}

fn hash(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

// === impl Repo ===

impl Repo {
    /// Creates a repository with one commit on the user's branch.
    pub(super) fn new() -> Self {
        let mut repo = Self {
            commits: Vec::new(),
            by_id: HashMap::new(),
            trees: HashMap::new(),
            branches: BTreeMap::new(),
            head: MAIN.to_owned(),
            dirty: Vec::new(),
            worktrees: BTreeMap::new(),
            littered: BTreeSet::new(),
            archived: BTreeMap::new(),
        };
        let old = (1..=REMOVERS).map(|n| (removed_by(&format!("1.{n}")).into(), "old".into()));
        let first = old.chain([("README".into(), "hello".into())]).map(|(path, content)| (path, Some(content)));
        let empty = oid(0);
        repo.trees.insert(empty.clone(), Tree { files: Arc::default(), sum: 0 });
        let tree = repo.tree(&empty, &first.collect());
        let commit = repo.commit(tree, Vec::new(), "first", 0);
        repo.branches.insert(MAIN.to_owned(), commit);
        repo
    }

    /// Returns the tree that results from applying a change to another tree.
    fn tree(&mut self, from: &Oid, changes: &Changes) -> Oid {
        let Tree { files, sum } = &self.trees[from];
        let entry = |path: &Arc<str>, content: Option<&Arc<str>>| content.map_or(0, |content| hash((path, content)));
        let sum = changes.iter().fold(*sum, |sum, (path, content)| {
            sum.wrapping_sub(entry(path, files.get(path))).wrapping_add(entry(path, content.as_ref()))
        });
        let id = oid(sum);
        if !self.trees.contains_key(&id) {
            let mut files = (**files).clone();
            for (path, content) in changes {
                match content {
                    Some(content) => files.insert(Arc::clone(path), Arc::clone(content)),
                    None => files.remove(path),
                }
            }
            self.trees.insert(id.clone(), Tree { files: Arc::new(files), sum });
        }
        id
    }

    pub(super) fn commit(&mut self, tree: Oid, parents: Vec<Oid>, message: &str, at: i64) -> Oid {
        let id = oid(hash((tree.as_str(), &parents, message, at)));
        if !self.by_id.contains_key(&id) {
            let parents: Vec<_> = parents.iter().filter_map(|parent| self.by_id.get(parent).copied()).collect();
            let generation = parents.iter().map(|parent| self.commits[*parent].generation + 1).max().unwrap_or(0);
            self.by_id.insert(id.clone(), self.commits.len());
            self.commits.push(Made { id: id.clone(), tree, parents, message: message.to_owned(), generation });
        }
        id
    }

    pub(super) fn made(&self, commit: &Oid) -> Result<&Made> {
        self.known(commit).ok_or_else(|| Error::Missing(format!("the commit {commit}")))
    }

    fn known(&self, commit: &Oid) -> Option<&Made> {
        self.by_id.get(commit).map(|at| &self.commits[*at])
    }

    fn parent(&self, made: &Made) -> Option<&Made> {
        made.parents.first().map(|at| &self.commits[*at])
    }

    /// Returns the files of a commit.
    pub(super) fn files(&self, commit: &Oid) -> Result<Arc<Files>> {
        Ok(Arc::clone(&self.trees[&self.made(commit)?.tree].files))
    }

    pub(super) fn branch(&self, name: &str) -> Option<Oid> {
        self.branches.get(name).cloned()
    }

    /// Returns the commit that a work tree has checked out.
    pub(super) fn tip(&self, work: &Work) -> Option<Oid> {
        work.detached.clone().or_else(|| self.branch(&work.branch))
    }

    /// Finds a commit by branch or id; with `^` appended, its first parent.
    pub(super) fn find(&self, revision: &str) -> Option<Oid> {
        if let Some(child) = revision.strip_suffix('^') {
            return self.parent(self.known(&self.find(child)?)?).map(|made| made.id.clone());
        }
        self.branch(revision).or_else(|| Oid::parse(revision).ok().filter(|oid| self.by_id.contains_key(oid)))
    }

    pub(super) fn is_ancestor(&self, ancestor: &Oid, commit: &Oid) -> bool {
        let place = |commit| self.by_id.get(commit).copied();
        let (Some(ancestor), Some(commit)) = (place(ancestor), place(commit)) else { return false };
        let oldest = self.commits[ancestor].generation;
        // Most commits have one parent: only merges are followed on more than one path.
        let mut open = vec![commit];
        let mut seen = std::collections::HashSet::new();
        while let Some(mut at) = open.pop() {
            while at != ancestor {
                let made = &self.commits[at];
                if made.generation <= oldest || (made.parents.len() > 1 && !seen.insert(at)) {
                    break;
                }
                let Some((first, others)) = made.parents.split_first() else { break };
                open.extend(others);
                at = *first;
            }
            if at == ancestor {
                return true;
            }
        }
        false
    }

    /// Returns the messages of the commits from `base` to `tip` along first parents, newest first.
    pub(super) fn messages(&self, base: &Oid, tip: &Oid) -> Vec<String> {
        let first_parents = std::iter::successors(self.known(tip), |made| self.parent(made));
        first_parents.take_while(|made| made.id != *base).map(|made| made.message.clone()).collect()
    }

    /// Commits to a branch as a person would.
    pub(super) fn commit_by_hand(&mut self, branch: &str, n: u64) {
        self.commit_file(branch, &format!("hand/{n}"));
    }

    /// Commits one file to a branch as a person would.
    pub(super) fn commit_file(&mut self, branch: &str, path: &str) {
        let Some(head) = self.branch(branch) else { return };
        let Ok(tree) = self.made(&head).map(|made| made.tree.clone()) else { return };
        let by_hand = (path.into(), Some("by hand".into()));
        let tree = self.tree(&tree, &Changes::from([by_hand]));
        let commit = self.commit(tree, vec![head], "by hand", 0);
        self.branches.insert(branch.to_owned(), commit);
    }

    // === work trees ===

    /// Checks a commit out, with a branch of that name if it has one.
    pub(super) fn check_out(&mut self, at: &Path, branch: &str, commit: &Oid) -> Result<()> {
        let tree = self.made(commit)?.tree.clone();
        self.worktrees
            .insert(at.to_owned(), Work { branch: branch.to_owned(), detached: None, tree, changes: Changes::new() });
        Ok(())
    }

    /// Returns the tree of a work tree's content.
    pub(super) fn captured(&mut self, at: &Path) -> Result<Oid> {
        let work = self.worktrees.get(at).ok_or_else(|| Error::Missing(format!("the work tree {}", at.display())))?;
        let (tree, changes) = (work.tree.clone(), work.changes.clone());
        Ok(self.tree(&tree, &changes))
    }

    /// Removes a file in a work tree, if the tree exists.
    pub(super) fn remove(&mut self, at: &Path, path: &str) {
        self.change(at, path, None);
    }

    /// Writes a file in a work tree, or in a folder that is none.
    pub(super) fn write(&mut self, at: &Path, path: &str, content: &str) {
        self.change(at, path, Some(content.into()));
    }

    fn change(&mut self, at: &Path, path: &str, content: Option<Arc<str>>) {
        match self.worktrees.get_mut(at) {
            Some(work) => {
                work.changes.insert(path.into(), content);
            }
            None => {
                self.littered.insert(at.to_owned());
            }
        }
    }

    /// Commits the content of a work tree, as an agent would.
    pub(super) fn commit_in(&mut self, at: &Path) {
        let Some(work) = self.worktrees.get(at) else { return };
        let branch = work.branch.clone();
        let Some(tip) = self.tip(work) else { return };
        let Ok(tree) = self.captured(at) else { return };
        let commit = self.commit(tree, vec![tip], "by an agent", 0);
        match self.worktrees.get_mut(at).filter(|work| work.detached.is_some()) {
            Some(work) => work.detached = Some(commit),
            None => drop(self.branches.insert(branch, commit)),
        }
    }

    /// Checks a commit out without a branch.
    pub(super) fn detach(&mut self, at: &Path, commit: &Oid) {
        if let Some(work) = self.worktrees.get_mut(at) {
            work.detached = Some(commit.clone());
        }
    }

    /// Returns the paths in a work tree that differ from the commit that it has checked out.
    pub(super) fn changed_in(&mut self, at: &Path) -> Result<Vec<PathBuf>> {
        let missing = || Error::Missing(format!("the work tree {}", at.display()));
        let work = self.worktrees.get(at).ok_or_else(missing)?;
        let tip = self.tip(work).ok_or_else(missing)?;
        self.changed_from(at, &tip)
    }

    /// Returns the paths of a work tree that differ from a commit.
    pub(super) fn changed_from(&mut self, at: &Path, commit: &Oid) -> Result<Vec<PathBuf>> {
        let before = self.files(commit)?;
        let tree = self.captured(at)?;
        let changed = self.trees[&tree].files.changed_since(&before);
        Ok(changed.iter().map(|(path, _)| PathBuf::from(&***path)).collect())
    }

    /// Returns true if any file of a work tree that differs from a commit satisfies `is_bad`.
    pub(super) fn any_changed(&mut self, at: &Path, base: &Oid, is_bad: impl Fn(&str) -> bool) -> bool {
        let (Ok(tree), Ok(before)) = (self.captured(at), self.files(base)) else { return false };
        let changed = self.trees[&tree].files.changed_since(&before).into_iter();
        changed.filter_map(|(_, content)| content).any(|text| is_bad(text))
    }

    /// Formats the files of a work tree that differ from a commit; a formatted file stays as it is.
    pub(super) fn tidy(&mut self, at: &Path, base: &Oid) {
        let (Ok(tree), Ok(before)) = (self.captured(at), self.files(base)) else { return };
        let changed = self.trees[&tree].files.changed_since(&before).into_iter();
        let untidy = changed.filter_map(|(path, content)| Some((path.to_string(), content.as_ref()?.to_string())));
        let untidy: Vec<_> = untidy.filter(|(_, content)| !content.ends_with(TIDY)).collect();
        for (path, content) in untidy {
            self.write(at, &path, &format!("{content}{TIDY}"));
        }
    }

    // === merging ===

    fn merge_base(&self, ours: &Oid, theirs: &Oid) -> Result<Oid> {
        let mut at = self.made(theirs)?;
        while !self.is_ancestor(&at.id, ours) {
            at = self.parent(at).ok_or_else(|| Error::Missing("a common ancestor".to_owned()))?;
        }
        Ok(at.id.clone())
    }

    pub(super) fn merge(&mut self, ours: &Oid, theirs: &Oid) -> Result<Merged> {
        let base = self.files(&self.merge_base(ours, theirs)?)?;
        let (files, theirs) = (self.files(ours)?, self.files(theirs)?);
        let (mut changes, mut conflicts) = (Changes::new(), Vec::new());
        for (path, content) in theirs.changed_since(&base) {
            // Changes on their side only, or the same on both sides. A file removed on one side and changed on the
            // other is a conflict.
            if files.get(path) == base.get(path) || files.get(path) == content {
                changes.insert(Arc::clone(path), content.cloned());
            } else {
                conflicts.push(PathBuf::from(&**path));
            }
        }
        let ours = self.made(ours)?.tree.clone();
        if conflicts.is_empty() {
            Ok(Merged::Clean { tree: self.tree(&ours, &changes) })
        } else {
            Ok(Merged::Conflict { files: conflicts })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a commit on the first one without its README, but with these files.
    fn on_first(repo: &mut Repo, files: &[(&str, &str)]) -> Oid {
        let first = repo.branch(MAIN).unwrap();
        let tree = repo.made(&first).unwrap().tree.clone();
        let mut changes = Changes::from([("README".into(), None)]);
        changes.extend(files.iter().map(|(path, content)| ((*path).into(), Some((*content).into()))));
        let tree = repo.tree(&tree, &changes);
        repo.commit(tree, vec![first], "x", 1)
    }

    fn merged(
        ours: &[(&str, &str)],
        theirs: &[(&str, &str)],
    ) -> std::result::Result<Vec<(String, String)>, Vec<PathBuf>> {
        let mut repo = Repo::new();
        let (ours, theirs) = (on_first(&mut repo, ours), on_first(&mut repo, theirs));
        match repo.merge(&ours, &theirs).unwrap() {
            Merged::Clean { tree } => {
                let is_new = |(path, _): &(&Arc<str>, &Arc<str>)| !path.starts_with("old/");
                let files = repo.trees[&tree].files.iter().filter(is_new);
                Ok(files.map(|(path, content)| (path.to_string(), content.to_string())).collect())
            }
            Merged::Conflict { files } => Err(files),
        }
    }

    #[test]
    fn a_merge_removes_what_one_side_removed_and_conflicts_where_the_other_changed_it() {
        let a = ("a".to_owned(), "1".to_owned());
        let readme = ("README", "hello");

        assert_eq!(merged(&[("a", "1"), readme], &[]), Ok(vec![a.clone()]), "they removed it");
        assert_eq!(merged(&[], &[("a", "1"), readme]), Ok(vec![a]), "we removed it");
        assert_eq!(merged(&[], &[]), Ok(Vec::new()));
        assert_eq!(merged(&[("README", "changed")], &[]), Err(vec!["README".into()]));
        assert_eq!(merged(&[], &[("README", "changed")]), Err(vec!["README".into()]));
    }
}
