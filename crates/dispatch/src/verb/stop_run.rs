//! `stop_run`: stop a run or one task of it; what was captured stays.

use switchboard_protocol::error::Failure;
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::verb::run::{RunReply, StopRunRequest};

use super::find_target;
use crate::work::run_id;
use crate::{Dispatch, Error};

impl Dispatch {
    /// Asks a run or a task to stop.
    ///
    /// # Errors
    /// An unknown run or task, one that is over, or the store's failure.
    pub async fn stop_run(&self, request: &StopRunRequest) -> Result<RunReply, Error> {
        let (row, task) = find_target(&self.world, &request.what)?;
        let run = run_id(&row)?;
        let Some(engine) = self.engine(&run) else {
            let what = format!("{run} is over: {}", row.try_text("state")?);
            return Err(Failure::new("request.conflict", what).into());
        };
        let step = task.map_or(RunEvent::RunStopRequested, |task| RunEvent::TaskStopRequested { task });
        engine.step(step).await?;
        Ok(RunReply { run, state: "stopping".to_owned() })
    }
}
