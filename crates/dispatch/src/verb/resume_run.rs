//! `resume_run`: go on with what a stop or a crash interrupted.

use protocol::verb::run::{ResumeRunReply, ResumeRunRequest};

use super::{find_run, run_id};
use crate::{Dispatch, Error};

impl Dispatch {
    /// Makes sure that a run that is not over is at work, and says where to follow it. A run that is over is only shown:
    /// `retry` opens it again.
    ///
    /// # Errors
    /// An unknown run, or the store's failure.
    pub fn resume_run(&self, request: &ResumeRunRequest) -> Result<ResumeRunReply, Error> {
        let row = find_run(&self.inner, request.run.as_deref())?;
        let run = run_id(&row)?;
        let state = row.try_text("state")?.to_owned();
        let cursor = self.inner.store.head().lsn;
        if state == "running" {
            self.inner.start_engine(&run)?;
        }
        Ok(ResumeRunReply { run, state, cursor })
    }
}
