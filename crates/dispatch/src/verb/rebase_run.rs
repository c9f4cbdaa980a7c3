//! `rebase_run`: rebases the trees of running workers onto the present head of the branch that their changes go into.

use switchboard_protocol::error::Failure;
use switchboard_protocol::id::RunId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{RunEvent, TaskState};
use switchboard_protocol::verb::run::{RebaseRunRequest, RunReply};
use switchboard_store::Idempotency;

use super::{find_run, find_targets, reply, reply_value};
use crate::parts::at_work;
use crate::work::run_id;
use crate::{Dispatch, Error};

impl Dispatch {
    /// Requests rebases of the trees of tasks, or of all workers of a run that make changes, each as soon as its worker
    /// is between two tools. A call repeated under its idempotency key gets the first answer.
    ///
    /// # Errors
    /// An unknown run or task, one without a running worker's tree, or a failure of the store.
    pub async fn rebase_run(&self, request: &RebaseRunRequest, call: Option<Idempotency>) -> Result<RunReply, Error> {
        if let Some(answered) = self.world.answered(call.as_ref()).await? {
            return reply(answered);
        }
        let (row, tasks) = match request.what.as_deref() {
            Some(what) => find_targets(&self.world, what, &request.tasks)?,
            None => {
                let newest = run_id(&find_run(&self.world, None)?)?;
                find_targets(&self.world, newest.as_str(), &request.tasks)?
            }
        };
        let run = run_id(&at_work(&self.world, row)?)?;
        let steps = self.rebases(&run, &tasks).await?;
        let answer =
            reply_value(&RunReply { run: run.clone(), state: "rebasing".to_owned(), tasks: Vec::new(), more: 0 })?;
        reply(self.ask_live(&run, steps, call, answer).await?)
    }

    /// Returns the steps that request rebases: of the named tasks, or of all with a worker that makes their change.
    pub(super) async fn rebases(&self, run: &RunId, tasks: &[TaskId]) -> Result<Vec<RunEvent>, Error> {
        let step = |task: TaskId| RunEvent::TaskRebaseRequested { task };
        if !tasks.is_empty() {
            return Ok(tasks.iter().cloned().map(step).collect());
        }
        let makes = |state: &TaskState| matches!(state, TaskState::Starting { .. } | TaskState::Working { .. });
        let views = self.views(run).await?.into_iter();
        let steps: Vec<_> =
            views.filter(|view| makes(&view.state) && view.step.is_none()).map(|view| step(view.task)).collect();
        if steps.is_empty() {
            let failure = Failure::new("request.conflict", format!("no worker of {run} makes a change now"));
            return Err(failure.hint("what begins from now on begins at the head").into());
        }
        Ok(steps)
    }
}
