//! Author of merged changes.

use switchboard_pipeline::author::CommitAuthor;
use switchboard_pipeline::settings::Settings;
use switchboard_process::git::{Author, Oid};
use switchboard_protocol::plan::TaskId;

use super::context::Ctx;
use crate::Error;
use crate::authorship::author;

/// Returns the author of a task's change when it is put into another commit: the agent that the task names, or, if the
/// change of another agent was chosen, its own author.
pub(super) async fn of_change(ctx: &Ctx, id: &TaskId, settings: &Settings, commit: &Oid) -> Result<Author, Error> {
    if ctx.plan.shape(id).is_some_and(|shape| !shape.among.is_empty()) {
        let (commit, now) = (commit.clone(), ctx.world.store.now());
        return ctx.world.git(move |git| git.author_of(&commit, now)).await;
    }
    of_worker(ctx, id, settings)
}

/// Returns the author of what a task's worker leaves: the one named by the plan, or the agent.
pub(super) fn of_worker(ctx: &Ctx, id: &TaskId, settings: &Settings) -> Result<Author, Error> {
    let now = ctx.world.store.now();
    let Some(named) = &settings.author else {
        return Ok(author(ctx.plan.choice(id, settings)?.name.as_str(), now));
    };
    // Plans of older versions may hold any text.
    let CommitAuthor { name, address } =
        CommitAuthor::parse(named).unwrap_or(CommitAuthor { name: named, address: None });
    Ok(match address {
        Some(address) => Author { name: name.to_owned(), email: address.to_owned(), at: now },
        None => author(name, now),
    })
}
