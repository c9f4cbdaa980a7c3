//! Replies of the workers of other tasks.

use std::collections::BTreeMap;
use std::sync::Arc;

use switchboard_pipeline::subtasks::Shape;
use switchboard_protocol::frame::ANSWER_FILE;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::Answered;

use super::context::Ctx;
use crate::{Error, answer, plan};

/// Replies shown to a worker.
#[derive(Debug, Default)]
pub(super) struct Replies(BTreeMap<TaskId, Option<String>>);

// === impl Replies ===

impl Replies {
    /// Reads the replies that a task's prompt quotes; a task that is not done has none.
    pub(super) async fn read(ctx: &Ctx, id: &TaskId, answered: Vec<Answered>) -> Result<Self, Error> {
        let quoted = ctx.plan.shape(id).map(Shape::quoted).unwrap_or_default();
        let file = |worker| plan::worker_folder(&ctx.world.config, &ctx.plan.run, &worker).join(ANSWER_FILE);
        let (asked, answered): (Vec<_>, Vec<_>) = answered
            .into_iter()
            .filter(|one| quoted.contains(&&one.task))
            .partition(|one| ctx.plan.asks(&one.task).is_some());
        let mut replies = asked_of_roles(ctx, asked).await?;
        let answered: Vec<_> = answered.into_iter().map(|one| (one.task, one.worker.map(file))).collect();
        if answered.is_empty() {
            return Ok(Self(replies));
        }
        let files = Arc::clone(&ctx.world.ports.files);
        let read = ctx.world.blocking(move || {
            let read = |(task, path): (TaskId, Option<std::path::PathBuf>)| {
                let Some(path) = path else { return Ok((task, None)) };
                let bytes = files.read(&path)?.unwrap_or_default();
                Ok((task, Some(String::from_utf8_lossy(&bytes).into_owned())))
            };
            answered.into_iter().map(read).collect::<Result<Vec<_>, Error>>()
        });
        replies.extend(read.await?);
        Ok(Self(replies))
    }

    /// Returns the reply of a task's worker; `None` if there is none.
    pub(super) fn of(&self, task: &TaskId) -> Option<String> {
        self.0.get(task).cloned().flatten()
    }
}

/// Returns the answers of roles that were asked, however they were given.
async fn asked_of_roles(ctx: &Ctx, asked: Vec<Answered>) -> Result<BTreeMap<TaskId, Option<String>>, Error> {
    let mut replies = BTreeMap::new();
    for Answered { task, worker, .. } in asked {
        let (Some(worker), Some(asks)) = (worker, ctx.plan.asks(&task)) else { continue };
        let given = answer::read_answer(&ctx.world, &ctx.plan.run, &worker, asks.answer).await?;
        let text = given.ok().and_then(|answer| serde_json::to_string_pretty(&answer).ok());
        replies.insert(task, text);
    }
    Ok(replies)
}
