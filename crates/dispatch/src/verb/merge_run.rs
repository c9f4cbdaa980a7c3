//! `merge_run`: merges the run's branch into the user's.

use std::path::Path;

use switchboard_protocol::caller::Caller;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::RunId;
use switchboard_protocol::run::TaskView;
use switchboard_protocol::text::cut;
use switchboard_protocol::verb::run::{MergeRunReply, MergeRunRequest};

use switchboard_store::{Idempotency, Row};

use super::{find_run, reply};
use crate::user_branch::{self, Merge};
use crate::work::run_id;
use crate::world::World;
use crate::{Dispatch, Error, history, report, user_tree};

/// Maximum number of missing tasks named in a refusal.
const MAX_NAMED: usize = 20;

impl Dispatch {
    /// Merges a run's branch into the branch from which it was started; from another work tree, into the one checked
    /// out there. A call repeated under its idempotency key gets the first answer.
    ///
    /// # Errors
    /// A refusal (unknown, not finished, tasks missing, files reserved by others, dirty files in the way, a conflict), or a failure; nothing has changed then.
    pub async fn merge_run(
        &self,
        request: &MergeRunRequest,
        caller: &Caller,
        call: Option<Idempotency>,
    ) -> Result<MergeRunReply, Error> {
        if let Some(answered) = self.world.answered(call.as_ref()).await? {
            return reply(answered);
        }
        let row = find_run(&self.world, request.run.as_deref())?;
        let run = run_id(&row)?;
        if row.try_text("state")? == "running" {
            let what = format!("{run} is still at work");
            return Err(Failure::new("dispatch.not-finished", what)
                .hint(format!("switchboard run --resume {run}"))
                .into());
        }
        let target = elsewhere(&self.world, &row, caller.folder.as_deref()).await?;
        let missing = missing(&self.world, &row, &run)?;
        if let Some(missing) = missing.clone().filter(|_| !request.partial)
            && !user_branch::has_it(&self.world, &row, target.clone()).await?
        {
            return Err(missing.into());
        }
        let missing = missing.map(|missing| missing.what);
        user_branch::merge(&self.world, Merge { run: &run, target, by: Some(&caller.name), missing }, call).await
    }
}

/// Returns the branch checked out in the caller's folder, if that is another work tree than the one from which the run
/// was started.
async fn elsewhere(world: &World, row: &Row, folder: Option<&Path>) -> Result<Option<String>, Error> {
    if folder.is_none() {
        return Ok(None);
    }
    let tree = user_tree::holding(world, folder).await?;
    if tree.tree_name() == row.get_text("tree").unwrap_or_default() {
        return Ok(None);
    }
    world.git_on(&tree, |git| Ok(Some(user_tree::checked_out(git)?.0))).await
}

/// Returns why a run may not be merged as a whole; `None` if it may be.
fn missing(world: &World, row: &Row, run: &RunId) -> Result<Option<Failure>, Error> {
    if row.get_text("mode").is_none() {
        return missing_tasks(world, run);
    }
    let is_over = row.try_text("state")? == "succeeded";
    let hint = format!("switchboard run --resume {run}, or, for what is done: switchboard merge {run} --partial");
    let failure = Failure::new("dispatch.partial", format!("the team has not ended {run}")).hint(hint);
    Ok((!is_over).then_some(failure))
}

/// Returns a refusal that names the unfinished tasks. A failed subtask doesn't matter if its task is done.
fn missing_tasks(world: &World, run: &RunId) -> Result<Option<Failure>, Error> {
    let state = history::fold(&world.store, run)?;
    let views: Vec<_> = state.tasks().filter(|view| state.parent_of(&view.task).is_none()).collect();
    let is_missing = |view: &&TaskView| !view.state.is_done();
    let missing: Vec<_> = views.iter().filter(is_missing).map(why_missing).collect();
    if missing.is_empty() {
        return Ok(None);
    }
    let (all, done) = (views.len(), views.len() - missing.len());
    let what = format!("{done} of {all} tasks of {run} are done");
    let mut failure = Failure::new("dispatch.partial", what)
        .hint(format!("switchboard retry {run}, or, for what is done: switchboard merge {run} --partial"));
    let left = missing.len().saturating_sub(MAX_NAMED);
    failure.cause = missing.into_iter().take(MAX_NAMED).collect();
    failure.cause.extend((left > 0).then(|| format!("{left} more tasks")));
    Ok(Some(failure))
}

fn why_missing(view: &TaskView) -> String {
    let why = report::ending(&view.state).unwrap_or_else(|| report::state_word(&view.state).to_owned());
    format!("task {} is missing: {}", view.task, cut(&why, 200))
}
