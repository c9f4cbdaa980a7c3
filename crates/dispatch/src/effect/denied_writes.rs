//! Reasons that may have kept a worker from changing anything: a tool that failed, or a permission that it never
//! requested. Codex reports nothing itself if its sandbox or the file system denies all writes.

use switchboard_pipeline::settings::Settings;
use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::permission::Permissions;
use switchboard_protocol::plan::TaskId;
use switchboard_store::Row;

use super::context::Ctx;
use crate::Error;
use crate::event::cut;

/// Maximum length of a tool's title, in bytes.
const TITLE: usize = 100;

/// Returns the reasons in words for a refusal; empty if none is known.
pub(super) fn denied_writes(ctx: &Ctx, id: &TaskId, settings: &Settings, worker: &Row) -> Result<String, Error> {
    let failed = failed_tool(ctx, worker)?;
    let choice = ctx.plan.choice(id, settings)?;
    let untold = match choice.driver {
        DriverSpec::Exec { .. } => "",
        _ => untold(choice.permissions.in_plan(settings.permissions), worker, failed.is_some()),
    };
    let reasons = failed.as_deref().into_iter().chain((!untold.is_empty()).then_some(untold));
    Ok(reasons.collect::<Vec<_>>().join("; "))
}

/// Returns the tool that failed last, with what it told.
fn failed_tool(ctx: &Ctx, worker: &Row) -> Result<Option<String>, Error> {
    let Some(at) = worker.get_int("failed").and_then(|at| u64::try_from(at).ok()) else { return Ok(None) };
    let title = cut(worker.get_text("failed_title").unwrap_or_default(), TITLE);
    let why = ctx.world.store.body(at)?.unwrap_or_default();
    let why = why.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    let why = if why.is_empty() { String::new() } else { format!(": {why}") };
    Ok(Some(format!("it could not {title:?}{why}")))
}

/// Returns what the agent left out: a request for a permission that it needed, or any work.
fn untold(level: Permissions, worker: &Row, has_failed: bool) -> &'static str {
    let has = |what: &str| worker.get_int(what).is_some();
    if level == Permissions::Ask && !has("asked") {
        "it may change nothing without asking (permissions: ask), and it asked nobody"
    } else if !has("has_worked") && !has_failed {
        "it told of no edit and no command"
    } else {
        ""
    }
}
