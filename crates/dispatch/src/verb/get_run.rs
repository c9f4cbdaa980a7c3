//! `get_run`: each task with agent, attempts, gate verdicts and merged commit.

use switchboard_process::git::Oid;
use switchboard_protocol::verb::run::{GetRunReply, GetRunRequest, RunSummary};
use switchboard_store::Query;

use super::find_run;
use crate::port::Git;
use crate::work::RUNS;
use crate::work::run_id;
use crate::{Dispatch, Error, report};

impl Dispatch {
    /// Shows a run.
    ///
    /// # Errors
    /// An unknown run, or the store's failure.
    pub async fn get_run(&self, request: &GetRunRequest) -> Result<GetRunReply, Error> {
        let row = find_run(&self.world, request.run.as_deref())?;
        let run = run_id(&row)?;
        let views = self.views(&run).await?;
        let plan = crate::history::plan(&self.world, &run)?;
        let (messages_sent, messages_acked) = report::mail_during(&self.world, &row)?;
        let list = views.iter().map(|view| report::task(&self.world, &plan, view)).collect::<Result<_, _>>()?;
        let summary = report::summary(&self.world, &row)?;
        let notes = self.notes(&summary).await?;
        Ok(GetRunReply { summary, list, messages_sent, messages_acked, notes })
    }

    /// What to know before the branch of a run that is over is merged.
    async fn notes(&self, summary: &RunSummary) -> Result<Vec<String>, Error> {
        if summary.state == "running" || summary.is_merged || summary.merged == 0 {
            return Ok(Vec::new());
        }
        let (base, branch) = (Oid::parse(&summary.base)?, summary.branch.clone());
        let look = move |git: &dyn Git| match git.branch(&branch)? {
            Some(head) => git.unusual(&base, &head),
            None => Ok(Vec::new()),
        };
        self.world.git(look).await
    }

    /// The newest runs, at most `limit`.
    ///
    /// # Errors
    /// The store's failure.
    pub fn runs(&self, limit: u64) -> Result<Vec<RunSummary>, Error> {
        let rows = self.world.store.read(&Query::table(RUNS).desc("seq").limit(limit))?;
        rows.iter().map(|row| report::summary(&self.world, row)).collect()
    }
}
