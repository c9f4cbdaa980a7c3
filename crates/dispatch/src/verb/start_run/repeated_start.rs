//! Start of tasks that another run works on: a repeated request is answered with that run, any other is refused.

use std::collections::BTreeSet;

use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{SkipCode, Skipped};
use switchboard_protocol::verb::run::{StartRunReply, StartRunRequest};
use switchboard_store::Batch;

use super::{Decided, StartCall};
use crate::error::shape;
use crate::unit_claims::{self, ClaimedUnits};
use crate::{Dispatch, Error, plan};

impl Dispatch {
    /// Returns the answer of an earlier start by the same request, without a key or under another one, if its run is
    /// not over; `None` if no run has any of the tasks.
    ///
    /// # Errors
    /// `dispatch.already-running` if a run started by another request has some of the tasks.
    pub(super) async fn repeated_start(
        &self,
        request: &StartRunRequest,
        decided: &Decided,
        caller: &StartCall<'_>,
    ) -> Result<Option<StartRunReply>, Error> {
        let claimed = self.wanted_and_claimed(request, decided).await?;
        let Some(first) = claimed.first() else { return Ok(None) };
        if claimed.len() > 1 || first.row.get_text("asked") != Some(unit_claims::request_digest(request).as_str()) {
            return Err(unit_claims::taken(first).into());
        }
        let reply = answer(first, caller)?;
        let Some(call) = caller.call.clone() else { return Ok(Some(reply)) };
        let stored = serde_json::to_value(&reply).map_err(shape("a reply"))?;
        // No event: only the answer is stored under the call's key. The same call may have been answered meanwhile.
        let committed = self.world.commit(Batch::synced().idempotent(call).reply(stored)).await?;
        Ok(Some(serde_json::from_value(committed.reply).map_err(shape("a reply"))?))
    }

    /// Returns the tasks of a dry run that another run works on.
    pub(super) async fn worked_on(&self, request: &StartRunRequest, decided: &Decided) -> Result<Vec<Skipped>, Error> {
        let of = |claimed: ClaimedUnits| {
            let detail = format!("{} works on it", claimed.run);
            claimed.tasks.into_iter().map(move |id| Skipped {
                id,
                code: SkipCode::AlreadyRunning,
                detail: detail.clone(),
            })
        };
        Ok(self.wanted_and_claimed(request, decided).await?.into_iter().flat_map(of).collect())
    }

    async fn wanted_and_claimed(
        &self,
        request: &StartRunRequest,
        decided: &Decided,
    ) -> Result<Vec<ClaimedUnits>, Error> {
        let wanted: BTreeSet<TaskId> = decided.plan.tasks().map(|task| task.id.clone()).collect();
        let key = unit_claims::plan_key(&decided.plan, request.job.is_some());
        self.claimed(&key, &wanted, None).await
    }
}

fn answer(claimed: &ClaimedUnits, caller: &StartCall<'_>) -> Result<StartRunReply, Error> {
    let (run, row) = (&claimed.run, &claimed.row);
    let text = |column| row.try_text(column).map(str::to_owned);
    Ok(StartRunReply {
        run: Some(run.clone()),
        already: true,
        target: text("target")?,
        base: text("base")?,
        branch: text("branch")?,
        worktrees: plan::text(&std::path::Path::new(&text("worktrees")?).join(run.as_str())),
        cursor: row.try_u64("configured")?.saturating_sub(1),
        ..caller.reply.clone()
    })
}
