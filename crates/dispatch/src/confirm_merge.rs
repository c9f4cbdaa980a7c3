//! Merges of a run's branch into the user's branch that need a person's approval: asks the question and acts on the
//! answer.
//!
//! The question's id is derived from the run and the tip of its branch. So it is asked once for the same work however
//! often a daemon dies, and again once the run has merged more.

use switchboard_protocol::frame::PermissionOption;
use switchboard_protocol::id::{NeedId, RunId};
use switchboard_protocol::need::{NeedAbout, NeedEvent};
use switchboard_protocol::text::cut;
use switchboard_store::{Batch, Query};

use crate::backoff::Backoff;
use crate::error::{is_transient, shape};
use crate::user_branch::{self, Merge};
use crate::work::{RUNS, run_id};
use crate::world::World;
use crate::{Error, needs};

/// Id of the option that approves the merge.
const MERGE: &str = "merge";

/// Maximum number of runs checked at the start of a daemon, newest first.
const MOST_RUNS: u64 = 200;

/// Asks about a run that has succeeded, or merges it if the answer is yes. Retries while the store is busy, until the
/// daemon ends.
pub(crate) async fn resolve(world: &World, run: &RunId) {
    let mut backoff = Backoff::default();
    // The end of the run, an answer and the start of the daemon may coincide.
    let _one_at_a_time = world.confirming.lock().await;
    loop {
        match step(world, run).await {
            Ok(()) => return,
            Err(Error::Store(error)) if is_transient(&error) => tokio::select! {
                () = world.stop.cancelled() => return,
                () = tokio::time::sleep(backoff.next()) => {}
            },
            Err(error) => {
                tracing::warn!(%run, %error, "the run's branch was not merged; `switchboard merge` tries again");
                return;
            }
        }
    }
}

/// At boot: asks or merges for the runs that the last daemon left open.
pub(crate) async fn resolve_all(world: &World) -> Result<(), Error> {
    let query = Query::table(RUNS).eq("state", "succeeded").eq("confirms_merge", 1_i64).eq("is_merged", 0_i64);
    for row in world.store.read(&query.desc("seq").limit(MOST_RUNS))? {
        resolve(world, &run_id(&row)?).await;
    }
    Ok(())
}

async fn step(world: &World, run: &RunId) -> Result<(), Error> {
    let row = world.store.get(RUNS, &[run.as_str().into()])?.ok_or_else(|| Error::Missing(run.to_string()))?;
    if row.get_text("state") != Some("succeeded") || !row.get_bool("confirms_merge") || row.get_bool("is_merged") {
        return Ok(());
    }
    let branch = row.try_text("branch")?.to_owned();
    // A run without a change has no branch, so there is no question.
    let Some(tip) =
        world.git(move |git| git.branch(&branch)).await?.filter(|tip| row.get_text("base") != Some(tip.as_str()))
    else {
        return Ok(());
    };
    let id = NeedId::derived(&[b"merge", run.as_str().as_bytes(), tip.as_str().as_bytes()]);
    let Some(need) = switchboard_needs::get(&world.store, &id)? else {
        let target = row.try_text("target")?;
        let title = format!("merge {run} into {target}: {}", cut(row.try_text("title")?, 60));
        let about = NeedAbout::Merge { run: run.clone(), commit: tip.to_string() };
        let fact = NeedEvent::NeedAsked { id, about, title, options: options(), expires_at: needs::expiry(world) };
        let event = switchboard_needs::ask_event(&fact, "", "daemon").map_err(shape("a question"))?;
        world.commit(Batch::synced().event(event)).await?;
        world.crash("merge-asked");
        return Ok(());
    };
    if need.outcome.is_none() || switchboard_needs::option_of(&world.store, &id)?.as_deref() != Some(MERGE) {
        return Ok(());
    }
    user_branch::merge(world, Merge { run, target: None, by: None, missing: None }, None).await?;
    Ok(())
}

fn options() -> Vec<PermissionOption> {
    let option = |id: &str, name: &str, kind: &str| PermissionOption {
        id: id.to_owned(),
        name: name.to_owned(),
        kind: kind.to_owned(),
    };
    vec![
        option(MERGE, "merge it into your branch", "allow_once"),
        option("leave", "leave your branch as it is", "reject_once"),
    ]
}
