//! What a worker left in its tree becomes one commit on the task's base.

use switchboard_process::git::Oid;
use switchboard_protocol::id::WorkerId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::RunEvent;

use super::{Ctx, author};
use crate::Error;

/// Files that the event names; the rest is counted.
const FILES_NAMED: usize = 50;

pub(crate) async fn capture(
    ctx: &Ctx,
    id: &TaskId,
    attempt: u32,
    worker: &WorkerId,
) -> Result<Option<RunEvent>, Error> {
    let row = ctx.inner.store.get(crate::work::WORKERS, &[worker.as_str().into()])?;
    let row = row.ok_or_else(|| Error::Missing(format!("worker {worker}")))?;
    let (base, start) = (Oid::parse(row.try_text("base")?)?, Oid::parse(row.try_text("start")?)?);
    let (task, settings) = ctx.plan.settings(id)?;
    let agent = settings.author.unwrap_or(row.try_text("agent")?.to_owned());
    let author = author(&agent, ctx.inner.store.now());
    let message = super::message(ctx, &task, attempt);
    let (repo, path, branch) = (ctx.repo(), ctx.plan.worktree(id), ctx.plan.task_branch(id));
    let captured = ctx.inner.blocking(move || {
        let tree = repo.worktree(&path)?.ok_or_else(|| Error::Missing(format!("the work tree {}", path.display())))?;
        let Some(captured) = tree.capture(&branch, &base, &author, &message)? else { return Ok(None) };
        if captured.tree == repo.tree_of(&start)? && start != base {
            return Ok(None);
        }
        let files = repo.changed_files(&base, &captured.commit)?;
        Ok(Some((captured, files)))
    });
    let captured = captured.await?;
    ctx.inner.crash("change-committed");
    let Some((captured, files)) = captured else {
        return Ok(Some(RunEvent::NothingChanged { task: id.clone(), attempt }));
    };
    let files_total = u32::try_from(files.len()).unwrap_or(u32::MAX);
    let files = files.iter().take(FILES_NAMED).map(|change| crate::plan::text(&change.path)).collect();
    let (commit, tree) = (captured.commit.to_string(), captured.tree.to_string());
    let captured = RunEvent::ChangeCaptured { task: id.clone(), attempt, commit, tree, files, files_total };
    ctx.engine.step(captured).await?;
    ctx.inner.crash("change-captured");
    Ok(None)
}
