//! A repository in memory: commits, branches and work trees, without a file.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use switchboard_process::git::{Merged, Oid};

use crate::Error;

type Result<T> = std::result::Result<T, Error>;

/// Content by path.
pub(super) type Files = BTreeMap<Arc<str>, Arc<str>>;

/// The user's branch.
pub(super) const MAIN: &str = "main";

/// A commit.
#[derive(Clone)]
pub(super) struct Made {
    pub(super) tree: Oid,
    parents: Vec<Oid>,
    message: String,
    /// Length of the longest way to a first commit: an ancestor's is always smaller.
    generation: u64,
}

/// A work tree: its branch and what lies in it.
pub(super) struct Work {
    pub(super) branch: String,
    pub(super) files: Files,
}

/// The state of the repository.
pub(super) struct Repo {
    commits: HashMap<Oid, Made>,
    trees: HashMap<Oid, Arc<Files>>,
    pub(super) branches: BTreeMap<String, Oid>,
    pub(super) worktrees: BTreeMap<PathBuf, Work>,
    /// Commits that are kept outside of the branches.
    pub(super) archived: BTreeMap<String, Oid>,
}

/// The files of `after` that `before` lacks or has with other content. Most are shared by both: a pointer tells.
pub(super) fn changed<'a>(before: &'a Files, after: &'a Files) -> Vec<(&'a Arc<str>, &'a Arc<str>)> {
    let is_same = |a: &Arc<str>, b: &Arc<str>| Arc::ptr_eq(a, b) || a == b;
    let mut before = before.iter().peekable();
    let mut changed = Vec::new();
    for (path, content) in after {
        while before.next_if(|(earlier, _)| !is_same(earlier, path) && *earlier < path).is_some() {}
        match before.next_if(|(known, _)| is_same(known, path)) {
            Some((_, known)) if is_same(known, content) => {}
            Some(_) | None => changed.push((path, content)),
        }
    }
    changed
}

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
            archived: BTreeMap::new(),
        };
        let tree = repo.tree(Files::from([("README".into(), "hello".into())]));
        let commit = repo.commit(tree, Vec::new(), "first", 0);
        repo.branches.insert(MAIN.to_owned(), commit);
        repo
    }

    pub(super) fn tree(&mut self, files: Files) -> Oid {
        let mut hasher = DefaultHasher::new();
        files.hash(&mut hasher);
        let id = oid(&hasher);
        self.trees.entry(id.clone()).or_insert_with(|| Arc::new(files));
        id
    }

    pub(super) fn commit(&mut self, tree: Oid, parents: Vec<Oid>, message: &str, at: i64) -> Oid {
        let mut hasher = DefaultHasher::new();
        (tree.as_str(), &parents, message, at).hash(&mut hasher);
        let id = oid(&hasher);
        let generation = parents.iter().map(|parent| self.generation(parent) + 1).max().unwrap_or(0);
        self.commits.insert(id.clone(), Made { tree, parents, message: message.to_owned(), generation });
        id
    }

    pub(super) fn made(&self, commit: &Oid) -> Result<&Made> {
        self.commits.get(commit).ok_or_else(|| Error::Missing(format!("the commit {commit}")))
    }

    fn generation(&self, commit: &Oid) -> u64 {
        self.commits.get(commit).map_or(0, |made| made.generation)
    }

    /// The files of a commit.
    pub(super) fn files(&self, commit: &Oid) -> Result<Arc<Files>> {
        Ok(Arc::clone(&self.trees[&self.made(commit)?.tree]))
    }

    pub(super) fn branch(&self, name: &str) -> Option<Oid> {
        self.branches.get(name).cloned()
    }

    /// The commit of a branch, one by its id, or, with `^` behind it, its first parent.
    pub(super) fn find(&self, revision: &str) -> Option<Oid> {
        if let Some(child) = revision.strip_suffix('^') {
            return self.commits.get(&self.find(child)?)?.parents.first().cloned();
        }
        self.branch(revision).or_else(|| Oid::parse(revision).ok().filter(|oid| self.commits.contains_key(oid)))
    }

    pub(super) fn is_ancestor(&self, ancestor: &Oid, commit: &Oid) -> bool {
        let oldest = self.generation(ancestor);
        // Most commits have one parent: only what merges is looked at more than one way.
        let mut open = vec![commit];
        let mut seen = std::collections::HashSet::new();
        while let Some(mut at) = open.pop() {
            while let Some(made) = self.commits.get(at) {
                if at == ancestor {
                    return true;
                }
                if made.generation <= oldest || (made.parents.len() > 1 && !seen.insert(at)) {
                    break;
                }
                let Some((first, others)) = made.parents.split_first() else { break };
                open.extend(others);
                at = first;
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
        changed(&before, &work.files).iter().any(|(_, content)| is_bad(content))
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

    pub(super) fn merge(&mut self, ours: &Oid, theirs: &Oid) -> Result<Merged> {
        let base = self.files(&self.merge_base(ours, theirs)?)?;
        let (mut files, theirs) = ((*self.files(ours)?).clone(), self.files(theirs)?);
        let mut conflicts = Vec::new();
        for (path, content) in changed(&base, &theirs) {
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
