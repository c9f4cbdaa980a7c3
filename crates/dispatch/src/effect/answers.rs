//! What the workers of other tasks have said.

use std::collections::BTreeMap;
use std::sync::Arc;

use switchboard_protocol::frame::ANSWER_FILE;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::Answered;

use super::context::Ctx;
use crate::{Error, plan};

/// The answers that a worker may be shown.
#[derive(Debug, Default)]
pub(super) struct Answers(BTreeMap<TaskId, Option<String>>);

// === impl Answers ===

impl Answers {
    /// Reads what was said; a task that is not done has no answer.
    pub(super) async fn read(ctx: &Ctx, answered: Vec<Answered>) -> Result<Self, Error> {
        let file = |worker| plan::worker_folder(&ctx.world.config, &ctx.plan.run, &worker).join(ANSWER_FILE);
        let answered: Vec<_> = answered.into_iter().map(|one| (one.task, one.worker.map(file))).collect();
        if answered.is_empty() {
            return Ok(Self::default());
        }
        let files = Arc::clone(&ctx.world.ports.files);
        let read = ctx.world.blocking(move || {
            let read = |(task, path): (TaskId, Option<std::path::PathBuf>)| {
                let Some(path) = path else { return Ok((task, None)) };
                let bytes = files.read(&path)?.unwrap_or_default();
                Ok((task, Some(String::from_utf8_lossy(&bytes).into_owned())))
            };
            answered.into_iter().map(read).collect::<Result<_, Error>>()
        });
        read.await.map(Self)
    }

    /// What the worker of a task said, or `None` where there is no reply.
    pub(super) fn of(&self, task: &TaskId) -> Option<String> {
        self.0.get(task).cloned().flatten()
    }
}
