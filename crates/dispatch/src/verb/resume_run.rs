//! `resume_run`: go on with what a stop or a crash interrupted.

use switchboard_protocol::verb::run::{ResumeRunReply, ResumeRunRequest, RetryTaskRequest};

use super::find_run;
use crate::work::run_id;
use crate::{Dispatch, Error};

impl Dispatch {
    /// Makes sure that a run is at work, and says where to follow it. What was stopped goes on; a run that has succeeded or
    /// failed is only shown: `retry` gives blocked tasks fresh attempts.
    ///
    /// # Errors
    /// An unknown run, or the store's failure.
    pub async fn resume_run(&self, request: &ResumeRunRequest) -> Result<ResumeRunReply, Error> {
        let row = find_run(&self.world, request.run.as_deref())?;
        let run = run_id(&row)?;
        let cursor = self.world.store.head().lsn;
        let state = match row.try_text("state")? {
            "running" => {
                self.start_engine(&run)?;
                "running".to_owned()
            }
            "stopped" => self.retry_task(&RetryTaskRequest { what: run.to_string() }).await?.state,
            over => over.to_owned(),
        };
        Ok(ResumeRunReply { run, state, cursor })
    }
}
