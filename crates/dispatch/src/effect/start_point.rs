//! Start point of a worker: the base commit of its change, and the content of its tree.

use std::path::Path;

use switchboard_process::git::{Author, Merged, Oid};
use switchboard_protocol::run::StartFrom;

use crate::Error;
use crate::handle::LastWorker;
use crate::port::Git;

/// Start point of a worker.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StartPoint {
    /// Base commit of the worker's change.
    pub(super) base: Oid,
    /// Commit that the tree starts as; leaving exactly that is no change.
    pub(super) start: Oid,
    /// Commit that the tree is set to; `None` leaves it as it is.
    pub(super) content: Option<Oid>,
}

// === impl StartPoint ===

impl StartPoint {
    /// Continues in the tree at `path`; `None` unless the tree was made for the last worker. A daemon that dies between
    /// recording a worker and making its tree leaves the tree of the previous attempt. On the new base, its content
    /// would undo what others have merged meanwhile.
    pub(super) fn of_tree(git: &dyn Git, path: &Path, last: &LastWorker) -> Result<Option<Self>, Error> {
        let (base, start) = (Oid::parse(&last.base)?, Oid::parse(&last.start)?);
        let Some(tip) = git.worktree_tip(path)? else { return Ok(None) };
        Ok(git.is_ancestor(&start, &tip)?.then_some(Self { base, start, content: None }))
    }

    /// Starts in a tree that is set to the attempt's start; `head` is looked up only if that is the head of the run's
    /// branch.
    pub(super) fn fresh(
        git: &dyn Git,
        head: impl FnOnce() -> Result<Oid, Error>,
        last: Option<LastWorker>,
        from: StartFrom,
        author: &Author,
    ) -> Result<Self, Error> {
        match (from, last) {
            (StartFrom::Change { commit, base }, last) if last.is_some() || !base.is_empty() => {
                let commit = Oid::parse(&commit)?;
                let base = if base.is_empty() { last.map_or(base, |last| last.base) } else { base };
                Ok(Self { base: Oid::parse(&base)?, start: commit.clone(), content: Some(commit) })
            }
            (StartFrom::Rebased { commit }, _) => {
                let head = head()?;
                match git.merge_tree(&head, &Oid::parse(&commit)?)? {
                    Merged::Clean { tree } => {
                        let message = "An earlier attempt on the run's present head";
                        let content = git.commit_tree(&tree, &[&head], author, message)?;
                        Ok(Self { base: head.clone(), start: head, content: Some(content) })
                    }
                    Merged::Conflict { .. } => Ok(Self::at(head)),
                }
            }
            (StartFrom::RunHead | StartFrom::Change { .. }, _) => head().map(Self::at),
        }
    }

    fn at(head: Oid) -> Self {
        Self { base: head.clone(), start: head.clone(), content: Some(head) }
    }
}

/// Returns the head of the run's branch. Until something is merged into it, that is `first`: the branch is made there
/// with the first work tree.
pub(super) fn run_head(git: &dyn Git, branch: &str, first: Option<&Oid>) -> Result<Oid, Error> {
    match first {
        Some(first) => Ok(first.clone()),
        None => git.branch(branch)?.ok_or_else(|| Error::Missing(format!("the branch {branch}"))),
    }
}

/// Returns the head of a group's branch; the first caller creates it at the run's head.
pub(super) fn group_head(git: &dyn Git, branch: &str, head: Oid) -> Result<Oid, Error> {
    if let Some(found) = git.branch(branch)? {
        return Ok(found);
    }
    match git.update_branch(branch, &head, None) {
        Ok(()) => Ok(head),
        Err(error) => git.branch(branch)?.ok_or(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Repository;

    #[test]
    fn a_run_begins_where_it_was_told_to_until_something_is_merged_into_its_branch() {
        let repository = Repository::new();
        let first = repository.commit("the run begins here");
        let merged = repository.commit("merged");
        let repo = &repository.repo;

        assert_eq!(run_head(repo, "switchboard/run_1", Some(&first)).unwrap(), first);
        assert!(matches!(run_head(repo, "switchboard/run_1", None), Err(Error::Missing(_))));
        repo.update_branch("switchboard/run_1", &merged, None).unwrap();
        assert_eq!(run_head(repo, "switchboard/run_1", None).unwrap(), merged);
    }

    #[test]
    fn a_group_begins_at_the_runs_head_and_goes_on_where_it_stands() {
        let repository = Repository::new();
        let (first, later) = (repository.commit("the run stands here"), repository.commit("and here later"));
        let repo = &repository.repo;

        assert_eq!(group_head(repo, "switchboard-task/run_1/1.slice-api", first.clone()).unwrap(), first);
        assert_eq!(group_head(repo, "switchboard-task/run_1/1.slice-api", later).unwrap(), first);
    }

    #[test]
    fn only_the_tree_that_was_made_for_the_last_worker_is_gone_on_with() {
        let repository = Repository::new();
        let before = repository.commit("what the attempt before began on");
        let after = repository.commit("merged meanwhile");
        let repo = &repository.repo;
        let tree = repository.folder.path().canonicalize().unwrap().join("trees/1");
        let of_tree = |start: &Oid| {
            let last = LastWorker { base: start.to_string(), start: start.to_string() };
            StartPoint::of_tree(repo, &tree, &last).unwrap()
        };

        assert_eq!(of_tree(&before), None);
        repo.worktree_add(&tree, "switchboard/task", &before, &[]).unwrap();

        let kept = StartPoint { base: before.clone(), start: before.clone(), content: None };
        assert_eq!(of_tree(&before), Some(kept));
        assert_eq!(of_tree(&after), None);
    }
}
