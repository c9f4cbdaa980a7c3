//! `retry_task`: a blocked or stopped task gets fresh attempts.

use switchboard_protocol::error::Failure;
use switchboard_protocol::run::{RunEvent, TaskState};
use switchboard_protocol::verb::run::{RetryTaskRequest, RunReply};

use super::find_target;
use crate::work::run_id;
use crate::{Dispatch, Error};

impl Dispatch {
    /// Opens a task again, or all blocked and stopped tasks of a run.
    ///
    /// # Errors
    /// An unknown run or task, nothing to retry, or the store's failure.
    pub async fn retry_task(&self, request: &RetryTaskRequest) -> Result<RunReply, Error> {
        let (row, task) = find_target(&self.world, &request.what)?;
        let run = run_id(&row)?;
        let engine = self.start_engine(&run)?;
        let tasks = match task {
            Some(task) => vec![task],
            None => {
                let failed = |state: &TaskState| matches!(state, TaskState::Blocked { .. } | TaskState::Stopped);
                engine.view().await?.into_iter().filter(|view| failed(&view.state)).map(|view| view.task).collect()
            }
        };
        if tasks.is_empty() {
            return Err(Failure::new("request.conflict", format!("{run} has no blocked or stopped task")).into());
        }
        for task in tasks {
            engine.step(RunEvent::TaskRetryRequested { task }).await?;
        }
        Ok(RunReply { run, state: "running".to_owned() })
    }
}
