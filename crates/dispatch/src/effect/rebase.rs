//! Puts a captured change on top of the run branch's head, in a commit of its own and in its work tree, so that the
//! gates judge the tree that the branch will have. The branch itself does not move.

use switchboard_process::git::{Merged, Oid};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::RunEvent;

use super::author::of_change;
use super::context::Ctx;
use crate::Error;
use crate::authorship::message;

/// Rebases the change of a task, which is in the work tree of `tree_of`.
pub(super) async fn rebase(
    ctx: &Ctx,
    id: &TaskId,
    attempt: u32,
    commit: &str,
    tree_of: &TaskId,
) -> Result<RunEvent, Error> {
    let (task, settings) = ctx.plan.settings(id)?;
    let change = Oid::parse(commit)?;
    let author = of_change(ctx, id, &settings, &change).await?;
    let message = message(&ctx.plan.run, &task, attempt);
    let branch = ctx.plan.branch_into(id);
    let (path, task_branch) = (ctx.plan.worktree(tree_of), ctx.plan.task_branch(tree_of));
    let rebased = ctx.world.git(move |git| {
        let head = git.branch(&branch)?.ok_or_else(|| Error::Missing(format!("the branch {branch}")))?;
        let tree = match git.merge_tree(&head, &change)? {
            Merged::Clean { tree } => tree,
            Merged::Conflict { files } => return Ok(Err(files)),
        };
        let commit = git.commit_tree(&tree, &[&head], &author, &message)?;
        git.worktree_reset(&path, &task_branch, &commit)?;
        Ok(Ok((commit, tree, head)))
    });
    let task = id.clone();
    Ok(match rebased.await? {
        Ok((commit, tree, onto)) => RunEvent::ChangeRebased {
            task,
            attempt,
            commit: commit.to_string(),
            tree: tree.to_string(),
            onto: onto.to_string(),
        },
        Err(files) => {
            let files = files.iter().map(|file| crate::plan::text(file)).collect();
            RunEvent::MergeConflicted { task, attempt, files }
        }
    })
}
