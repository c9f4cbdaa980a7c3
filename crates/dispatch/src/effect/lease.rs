//! Delays a merge while another agent has reserved files of the change.

use switchboard_process::git::Oid;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{HeldBy, RunEvent};

use super::context::Ctx;
use super::merge::Captured;
use crate::Error;

/// Returns the event that delays a merge; `None` if no other agent has reserved a file of the change.
pub(super) async fn held(ctx: &Ctx, captured: Captured<'_>) -> Result<Option<RunEvent>, Error> {
    // Runs that were recorded before ways don't record the base of the change.
    if captured.base.is_empty() {
        return Ok(None);
    }
    let (own, files) = (agent(ctx, captured.task)?, files(ctx, captured).await?);
    let held = ctx.world.ports.leases.held_by_others(Some(&own), &files).await?;
    let (task, attempt) = (captured.task.clone(), captured.attempt);
    Ok(held.map(|lease| RunEvent::MergeHeld { task, attempt, lease }))
}

/// Waits until the lease ends or is replaced by another; returns the event that records it.
pub(super) async fn wait(ctx: &Ctx, captured: Captured<'_>, known: &HeldBy) -> Result<RunEvent, Error> {
    let (own, files) = (agent(ctx, captured.task)?, files(ctx, captured).await?);
    let (task, attempt) = (captured.task.clone(), captured.attempt);
    Ok(match ctx.world.ports.leases.held_by_another(Some(&own), &files, known).await? {
        Some(lease) => RunEvent::MergeHeld { task, attempt, lease },
        None => RunEvent::MergeReleased { task, attempt },
    })
}

/// Returns the name under which the task's worker is on the roster and reserves files.
fn agent(ctx: &Ctx, task: &TaskId) -> Result<AgentName, Error> {
    if let Some(name) = ctx.world.worker_names.of(&ctx.plan.run, task) {
        return Ok(name);
    }
    let (_, settings) = ctx.plan.settings(task)?;
    Ok(ctx.plan.choice(task, &settings)?.name)
}

async fn files(ctx: &Ctx, captured: Captured<'_>) -> Result<Vec<String>, Error> {
    let (base, commit) = (Oid::parse(captured.base)?, Oid::parse(captured.commit)?);
    let changes = ctx.world.git(move |git| git.changed_files(&base, &commit)).await?;
    Ok(changes.iter().map(|change| crate::plan::text(&change.path)).collect())
}
