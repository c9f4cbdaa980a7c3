//! Captures what a worker left in its tree as one commit on the task's base.

use switchboard_pipeline::subtasks::WorkResult;
use switchboard_pipeline::team::rationalise;
use switchboard_process::git::Oid;
use switchboard_protocol::id::WorkerId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::run::way::StepId;

use super::author::of_worker;
use super::context::Ctx;
use super::denied_writes::denied_writes;
use crate::authorship::message;
use crate::handle::Record;
use crate::port::git::Commit;
use crate::work::says_stuck;
use crate::{Error, needs};

/// Maximum number of files named in the event; the others are only counted.
pub(super) const FILES_NAMED: usize = 50;

pub(crate) async fn capture(
    ctx: &Ctx,
    id: &TaskId,
    attempt: u32,
    worker: &WorkerId,
    (carried, may_keep): (Option<&str>, bool),
) -> Result<Option<RunEvent>, Error> {
    let row = ctx.world.store.get(crate::work::WORKERS, &[worker.as_str().into()])?;
    let row = row.ok_or_else(|| Error::Missing(format!("worker {worker}")))?;
    let (base, start) = (Oid::parse(row.try_text("base")?)?, Oid::parse(row.try_text("start")?)?);
    let (task, settings) = ctx.plan.settings(id)?;
    let author = match super::proposals::take(ctx, id, attempt, worker, &base).await? {
        Some(author) => author,
        None => of_worker(ctx, id, &settings)?,
    };
    let message = message(&ctx.plan.run, &task, attempt);
    let (path, branch) = (ctx.plan.worktree(id), ctx.plan.task_branch(id));
    let result = ctx.plan.shape(id).map(|shape| shape.result).unwrap_or_default();
    let is_compared = result == WorkResult::Candidate;
    // The change of the previous step may already be complete.
    let may_stay = start == base || carried == Some(start.as_str());
    let captured = ctx.world.git(move |git| {
        let commit = Commit { branch: &branch, parent: &base, author: &author, message: &message };
        let Some(captured) = git.capture(&path, &commit)? else { return Ok(None) };
        if captured.tree == git.tree_of(&start)? && !may_stay && captured.left_out.is_empty() {
            return Ok(None);
        }
        let files = git.changed_files(&base, &captured.commit)?;
        let lines = if is_compared { git.changed_lines(&base, &captured.commit)? } else { 0 };
        Ok(Some((captured, files, lines, base.to_string())))
    });
    let captured = captured.await?;
    ctx.world.crash("change-committed");
    let Some((captured, files, lines, base)) = captured else {
        let Some(denied) = needs::ask_about_denied(&ctx.world, &ctx.plan.run, id, worker, row.try_text("agent")?)?
        else {
            if let Some(why) = says_stuck(&row).filter(|why| rationalise::offered(why).is_empty()) {
                return Ok(Some(waits(id, attempt, row.try_text("agent")?, why)));
            }
            let why = if may_keep { String::new() } else { denied_writes(ctx, id, &settings, &row)? };
            let step = may_keep.then(StepId::work);
            return Ok(Some(RunEvent::NothingChanged { task: id.clone(), attempt, step, why }));
        };
        let (steps, beside) = (vec![denied.step], vec![denied.asked]);
        ctx.engine.record(Record { steps, beside, ..Record::default() }).await?;
        return Ok(None);
    };
    let files_total = u32::try_from(files.len()).unwrap_or(u32::MAX);
    let files = files.iter().take(FILES_NAMED).map(|change| crate::plan::text(&change.path)).collect();
    let (commit, tree) = (captured.commit.to_string(), captured.tree.to_string());
    let left_out = captured.left_out.iter().take(FILES_NAMED).map(|path| crate::plan::text(path)).collect();
    let task = id.clone();
    let captured = RunEvent::ChangeCaptured { task, attempt, commit, tree, base, files, files_total, lines, left_out };
    ctx.engine.step(captured).await?;
    ctx.world.crash("change-captured");
    Ok(None)
}

/// Blocks a task whose worker has changed nothing and waits for something that another attempt would not have either.
fn waits(task: &TaskId, attempt: u32, agent: &str, why: &str) -> RunEvent {
    let why = if why.is_empty() { "it does not say for what" } else { why };
    RunEvent::TaskBlocked { task: task.clone(), attempt, retries: None, reason: format!("{agent} waits: {why}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_waits_blocks_its_task_with_what_it_waits_for() {
        let reason = |why: &str| {
            let waits = waits(&TaskId::new("1.1").unwrap(), 3, "ann", why);
            let RunEvent::TaskBlocked { attempt: 3, retries: None, reason, .. } = waits else { panic!("{waits:?}") };
            reason
        };

        assert_eq!(reason("a key"), "ann waits: a key");
        assert_eq!(reason(""), "ann waits: it does not say for what");
    }
}
