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

/// Returns the reason in words for a refusal; empty if none is known.
pub(super) fn denied_writes(ctx: &Ctx, id: &TaskId, settings: &Settings, worker: &Row) -> Result<String, Error> {
    if let Some(at) = worker.get_int("failed").and_then(|at| u64::try_from(at).ok()) {
        let title = cut(worker.get_text("failed_title").unwrap_or_default(), TITLE);
        let why = ctx.world.store.body(at)?.unwrap_or_default();
        let why = why.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        return Ok(format!("it could not {title:?}{why}"));
    }
    let choice = ctx.plan.choice(id, settings)?;
    if matches!(choice.driver, DriverSpec::Exec { .. }) {
        return Ok(String::new());
    }
    let level = choice.permissions.in_plan(settings.permissions);
    let has = |what: &str| worker.get_int(what).is_some();
    let why = if level == Permissions::Ask && !has("asked") {
        "it may change nothing without asking (permissions: ask), and it asked nobody"
    } else if !has("has_worked") {
        "it told of no edit and no command"
    } else {
        ""
    };
    Ok(why.to_owned())
}
