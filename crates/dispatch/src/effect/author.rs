//! Who is named as author of what is merged.

use switchboard_pipeline::settings::Settings;
use switchboard_process::git::{Author, Oid};
use switchboard_protocol::plan::TaskId;

use super::context::Ctx;
use crate::Error;
use crate::authorship::author;

/// Who is the author of a task's change when it is put into another commit: the agent that the task names, or, where the change of another one was
/// chosen, its own author.
pub(super) async fn of_change(ctx: &Ctx, id: &TaskId, settings: &Settings, commit: &Oid) -> Result<Author, Error> {
    let now = ctx.world.store.now();
    if ctx.plan.shape(id).is_some_and(|shape| !shape.among.is_empty()) {
        let commit = commit.clone();
        return ctx.world.git(move |git| git.author_of(&commit, now)).await;
    }
    let agent = settings.author.clone().or_else(|| ctx.plan.agent_name(settings));
    Ok(author(agent.as_deref().unwrap_or("exec"), now))
}
