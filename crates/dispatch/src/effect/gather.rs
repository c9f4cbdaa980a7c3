//! Puts what a group has merged into its own branch on top of the run branch's head as one change, so that the gates
//! judge the tree that the run's branch will have. Neither branch moves.

use std::path::PathBuf;

use switchboard_process::git::{Author, Merged, Oid};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::RunEvent;

use super::capture::FILES_NAMED;
use super::context::Ctx;
use crate::Error;
use crate::authorship::{author, message};
use crate::port::Git;

/// The two branches, and the message of the commit that joins them.
struct GroupMerge {
    /// Branch that the group is merged into.
    to: String,
    /// Branch of the group.
    group: String,
    author: Author,
    message: String,
}

/// The group's work on top of a head.
struct MergedGroup {
    head: Oid,
    commit: Oid,
    tree: Oid,
    files: Vec<PathBuf>,
}

/// Takes the group's work as the change of its landing; `is_rebase` if the landing already has a change on an earlier
/// head.
pub(super) async fn gather(ctx: &Ctx, id: &TaskId, attempt: u32, is_rebase: bool) -> Result<RunEvent, Error> {
    let (task, _) = ctx.plan.settings(id)?;
    let join = GroupMerge {
        to: ctx.plan.branch_into(id),
        group: ctx.plan.task_branch(id),
        author: author("Switchboard", ctx.world.store.now()),
        message: message(&ctx.plan.run, &task, attempt),
    };
    let joined = ctx.world.git(move |git| join.join(git)).await?;
    let task = id.clone();
    Ok(match joined {
        Err(files) => {
            let files = files.iter().map(|file| crate::plan::text(file)).collect();
            RunEvent::MergeConflicted { task, attempt, files }
        }
        Ok(MergedGroup { head, commit, tree, .. }) if is_rebase => RunEvent::ChangeRebased {
            task,
            attempt,
            commit: commit.to_string(),
            tree: tree.to_string(),
            onto: head.to_string(),
        },
        Ok(MergedGroup { head, commit, tree, files }) => RunEvent::ChangeCaptured {
            task,
            attempt,
            commit: commit.to_string(),
            tree: tree.to_string(),
            base: head.to_string(),
            files_total: u32::try_from(files.len()).unwrap_or(u32::MAX),
            files: files.iter().take(FILES_NAMED).map(|file| crate::plan::text(file)).collect(),
            lines: 0,
            left_out: Vec::new(),
        },
    })
}

// === impl GroupMerge ===

impl GroupMerge {
    /// Returns the group's own commits if the other branch has not moved since the group began, else a merge of both,
    /// or the files in conflict.
    fn join(&self, git: &dyn Git) -> Result<Result<MergedGroup, Vec<PathBuf>>, Error> {
        let head = git.branch(&self.to)?.ok_or_else(|| Error::Missing(format!("the branch {}", self.to)))?;
        let tip = git.branch(&self.group)?.unwrap_or_else(|| head.clone());
        let (commit, tree) = if git.is_ancestor(&head, &tip)? {
            (tip.clone(), git.tree_of(&tip)?)
        } else {
            match git.merge_tree(&head, &tip)? {
                Merged::Conflict { files } => return Ok(Err(files)),
                Merged::Clean { tree } => (git.commit_tree(&tree, &[&head, &tip], &self.author, &self.message)?, tree),
            }
        };
        let files = git.changed_files(&head, &commit)?.into_iter().map(|change| change.path).collect();
        Ok(Ok(MergedGroup { head, commit, tree, files }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Repository;

    fn join() -> GroupMerge {
        let author = author("Switchboard", switchboard_protocol::time::Millis(0));
        GroupMerge {
            to: "switchboard/run_1".into(),
            group: "switchboard-task/run_1/1.slice-api".into(),
            author,
            message: "m".into(),
        }
    }

    #[test]
    fn a_group_keeps_its_commits_where_nothing_else_was_merged_and_is_joined_with_what_was() {
        let repository = Repository::new();
        let first = repository.commit("first");
        let of_group = repository.commit("of the group");
        let repo = &repository.repo;
        repo.update_branch("switchboard/run_1", &first, None).unwrap();
        repo.update_branch("switchboard-task/run_1/1.slice-api", &of_group, None).unwrap();

        let joined = join().join(repo).unwrap().unwrap();

        assert_eq!((joined.head, joined.commit), (first.clone(), of_group.clone()));
        let author = author("a", switchboard_protocol::time::Millis(0));
        let other = repo.commit_tree(&repo.tree_of(&first).unwrap(), &[&first], &author, "other").unwrap();
        repo.update_branch("switchboard/run_1", &other, Some(&first)).unwrap();
        let joined = join().join(repo).unwrap().unwrap();
        assert!(
            repo.is_ancestor(&other, &joined.commit).unwrap() && repo.is_ancestor(&of_group, &joined.commit).unwrap()
        );
        assert_eq!(joined.tree, repo.tree_of(&of_group).unwrap());
    }
}
