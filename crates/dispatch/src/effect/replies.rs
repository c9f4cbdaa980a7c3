//! What the workers of other tasks have said.

use std::collections::BTreeMap;
use std::sync::Arc;

use switchboard_pipeline::subtasks::Shape;
use switchboard_protocol::frame::ANSWER_FILE;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::Answered;

use super::context::Ctx;
use crate::{Error, plan};

/// The replies that a worker is shown.
#[derive(Debug, Default)]
pub(super) struct Replies(BTreeMap<TaskId, Option<String>>);

// === impl Replies ===

impl Replies {
    /// Reads the replies that the prompt of a task quotes; a task that is not done has none.
    pub(super) async fn read(ctx: &Ctx, id: &TaskId, answered: Vec<Answered>) -> Result<Self, Error> {
        let quoted = ctx.plan.shape(id).map(Shape::quoted).unwrap_or_default();
        let file = |worker| plan::worker_folder(&ctx.world.config, &ctx.plan.run, &worker).join(ANSWER_FILE);
        let answered = answered.into_iter().filter(|one| quoted.contains(&&one.task));
        let answered: Vec<_> = answered.map(|one| (one.task, one.worker.map(file))).collect();
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
