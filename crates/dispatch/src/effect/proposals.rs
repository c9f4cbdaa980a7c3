//! Proposals of a debate's participants: each becomes a commit in its own branch, and the verdict may take one.

use std::path::PathBuf;

use switchboard_pipeline::subtasks::{self, PromptSource};
use switchboard_process::git::{Author, Merged, Oid};
use switchboard_protocol::error::Failure;
use switchboard_protocol::frame::ANSWER_FILE;
use switchboard_protocol::id::{WorkerId, fold};
use switchboard_protocol::plan::TaskId;

use super::author::of_worker;
use super::context::Ctx;
use crate::authorship::message;
use crate::history::last_worker;
use crate::port::Git;
use crate::port::git::Commit;
use crate::{Error, plan};

/// Last turn of a participant, if its tree exists.
struct Proposal {
    name: String,
    path: PathBuf,
    branch: String,
    base: Oid,
    author: Author,
    message: String,
}

/// Captures what participants left in their last turns, if the worker that decides may take one of these. If its answer
/// takes one, that change replaces what is in the worker's own tree, and the author is returned.
pub(super) async fn take(
    ctx: &Ctx,
    id: &TaskId,
    attempt: u32,
    worker: &WorkerId,
    base: &Oid,
) -> Result<Option<Author>, Error> {
    let shape = ctx.plan.shape(id);
    let Some(PromptSource::Decision { turns, may_take: true }) = shape.map(|shape| &shape.told) else {
        return Ok(None);
    };
    let proposals = proposals(ctx, turns, attempt)?;
    let folder = plan::worker_folder(&ctx.world.config, &ctx.plan.run, worker);
    let files = std::sync::Arc::clone(&ctx.world.ports.files);
    let answer = ctx.world.blocking(move || files.read(&folder.join(ANSWER_FILE))).await?.unwrap_or_default();
    let wanted = subtasks::taken(&String::from_utf8_lossy(&answer)).map(str::to_owned);
    let (path, branch, base) = (ctx.plan.worktree(id), ctx.plan.task_branch(id), base.clone());
    let taken = ctx.world.git(move |git| {
        let captured = capture(git, &proposals)?;
        let Some(wanted) = wanted else { return Ok(None) };
        let of_name = captured.iter().rev().find(|(proposal, _)| fold(&proposal.name) == fold(&wanted));
        let Some((proposal, commit)) = of_name else { return Err(nothing_to_take(&wanted, &captured).into()) };
        let tree = match git.merge_tree(&base, commit)? {
            Merged::Clean { tree } => tree,
            Merged::Conflict { files } => return Err(conflict(&proposal.name, &files).into()),
        };
        let commit = git.commit_tree(&tree, &[&base], &proposal.author, &proposal.message)?;
        git.worktree_reset(&path, &branch, &commit)?;
        Ok(Some(proposal.author.clone()))
    });
    taken.await
}

/// Returns the last turn of each participant that has one.
fn proposals(ctx: &Ctx, turns: &[(u32, String, TaskId)], attempt: u32) -> Result<Vec<Proposal>, Error> {
    let mut found: Vec<Proposal> = Vec::new();
    for (_, name, turn) in turns {
        let Some(row) = last_worker(&ctx.world, &ctx.plan.run, turn)? else { continue };
        let (task, settings) = ctx.plan.settings(turn)?;
        let proposal = Proposal {
            name: name.clone(),
            path: ctx.plan.worktree(turn),
            branch: ctx.plan.task_branch(turn),
            base: Oid::parse(row.try_text("base")?)?,
            author: of_worker(ctx, turn, &settings)?,
            message: message(&ctx.plan.run, &task, attempt),
        };
        found.retain(|other| other.name != *name);
        found.push(proposal);
    }
    Ok(found)
}

/// Commits each tree in which something has changed.
fn capture<'a>(git: &dyn Git, proposals: &'a [Proposal]) -> Result<Vec<(&'a Proposal, Oid)>, Error> {
    let mut captured = Vec::new();
    for proposal in proposals {
        if git.worktree_tip(&proposal.path)?.is_none() {
            continue;
        }
        let Proposal { path, branch, base, author, message, .. } = proposal;
        let commit = Commit { branch, parent: base, author, message };
        captured.extend(git.capture(path, &commit)?.map(|captured| (proposal, captured.commit)));
    }
    Ok(captured)
}

fn nothing_to_take(wanted: &str, captured: &[(&Proposal, Oid)]) -> Failure {
    let names: Vec<_> = captured.iter().map(|(proposal, _)| proposal.name.as_str()).collect();
    let left = if names.is_empty() { "nobody".to_owned() } else { names.join(", ") };
    let what = format!("the verdict takes the change of {}, and {left} left one", crate::event::cut(wanted, 60));
    Failure::new("dispatch.no-change", what)
}

fn conflict(name: &str, files: &[PathBuf]) -> Failure {
    let files: Vec<_> = files.iter().take(5).map(|file| plan::text(file)).collect();
    let what = format!("the change of {name}, which the verdict takes, conflicts in {}", files.join(", "));
    Failure::new("dispatch.merge-conflict", what)
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::time::Millis;

    use super::*;

    fn proposal(name: &str) -> Proposal {
        Proposal {
            name: name.to_owned(),
            path: PathBuf::new(),
            branch: String::new(),
            base: Oid::parse(&"1".repeat(40)).unwrap(),
            author: crate::authorship::author(name, Millis(0)),
            message: String::new(),
        }
    }

    #[test]
    fn a_verdict_that_takes_a_change_that_is_not_there_is_refused_with_those_that_are() {
        let (ann, ben) = (proposal("ann"), proposal("ben"));
        let commit = || ann.base.clone();

        let none = nothing_to_take("eve", &[]);
        let others = nothing_to_take("eve", &[(&ann, commit()), (&ben, commit())]);

        assert_eq!(none.what, "the verdict takes the change of eve, and nobody left one");
        assert_eq!(others.what, "the verdict takes the change of eve, and ann, ben left one");
    }

    #[test]
    fn a_change_that_conflicts_is_refused_with_at_most_five_files() {
        let files: Vec<PathBuf> = (1..=6).map(|number| format!("{number}").into()).collect();

        let refused = conflict("ann", &files);

        assert_eq!(refused.code, "dispatch.merge-conflict");
        assert_eq!(refused.what, "the change of ann, which the verdict takes, conflicts in 1, 2, 3, 4, 5");
    }
}
