//! Ends a run: records the end, then removes its work trees and merges its branch if that was requested.

use switchboard_pipeline::subtasks::WorkResult;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{RunEvent, RunOutcome, TaskView};

use super::context::Ctx;
use crate::handle::Outcome;
use crate::{confirm_merge, plan};

pub(super) async fn finish(ctx: &Ctx, outcome: RunOutcome) -> Outcome {
    if let Err(error) = ctx.engine.step(RunEvent::RunFinished { outcome }).await {
        tracing::error!(run = %ctx.plan.run, %error, "the end of the run was not recorded");
        return Outcome::default();
    }
    ctx.world.crash("run-finished");
    tidy(ctx).await;
    confirm_merge::resolve(&ctx.world, &ctx.plan.run).await;
    Outcome::default()
}

/// Rule by which the branch of a finished task is kept.
#[derive(Clone, Copy)]
enum Kept {
    Yes,
    /// Kept if it holds something that the run's branch doesn't.
    IfChanged,
    No,
}

/// Removes the work trees and branches of merged tasks and, once none is left, the file that says how agents are
/// started.
async fn tidy(ctx: &Ctx) {
    let views = match ctx.engine.view().await {
        Ok(views) => views,
        Err(error) => return tracing::debug!(%error, "nothing is tidied"),
    };
    let is_merged = |view: &TaskView| view.state.is_done();
    let is_whole = views.iter().all(is_merged);
    let open: Vec<_> = views.iter().filter(|view| !is_merged(view)).map(|view| view.task.clone()).collect();
    let merged = views.into_iter().filter(is_merged);
    // A proposal that its task may still take stays in its tree.
    let is_proposal = |task: &TaskId| ctx.plan.shape(task).is_some_and(|shape| shape.is_proposal);
    let whole = |task: &TaskId| ctx.plan.shape(task).and_then(|shape| shape.of.clone());
    let is_wanted = |task: &TaskId| is_proposal(task) && whole(task).is_some_and(|whole| open.contains(&whole));
    // A change that was not chosen stays in its branch.
    let is_candidate = |task: &TaskId| ctx.plan.shape(task).is_some_and(|shape| shape.result == WorkResult::Candidate);
    let kept = |task: &TaskId| match (is_candidate(task), is_proposal(task)) {
        (true, _) => Kept::Yes,
        (false, true) => Kept::IfChanged,
        (false, false) => Kept::No,
    };
    let merged = merged.filter(|view| !is_wanted(&view.task)).map(|view| view.task);
    let trees: Vec<_> = merged.map(|id| (ctx.plan.worktree(&id), ctx.plan.task_branch(&id), kept(&id))).collect();
    let run_branch = ctx.plan.branch.clone();
    let shared = [ctx.plan.gate_trees(), ctx.plan.reader_trees()];
    let (base, run, files) = (ctx.plan.worktrees.clone(), ctx.plan.run.clone(), ctx.world.ports.files.clone());
    let (agents, setup_env) =
        (plan::agents_file(&ctx.world.config, &run), plan::setup_env_file(&ctx.world.config, &run));
    let done = ctx.world.git(move |git| {
        let head = git.branch(&run_branch)?;
        for (path, branch, kept) in trees {
            git.worktree_remove(&path, &base)?;
            let Some(tip) = git.branch(&branch)? else { continue };
            let is_kept = match (kept, &head) {
                (Kept::Yes, _) | (Kept::IfChanged, None) => true,
                (Kept::IfChanged, Some(head)) => !git.is_ancestor(&tip, head)?,
                (Kept::No, _) => false,
            };
            if !is_kept {
                git.delete_branch(&branch, &tip)?;
            }
        }
        for folder in &shared {
            git.worktrees_remove(folder, &base)?;
        }
        // A retry of the remaining tasks needs the files that say how agents are started and trees set up.
        if is_whole {
            files.remove(&agents)?;
            files.remove(&setup_env)?;
        }
        files.remove_empty_folder(&base.join(run.as_str()))
    });
    if let Err(error) = done.await {
        tracing::warn!(run = %ctx.plan.run, %error, "work trees of merged tasks could not be removed; `switchboard doctor --fix` does it");
    }
}
