//! Merges a run's branch into the user's once the run has succeeded: at once, or after a person's approval.
//!
//! A merge that was refused is a question, too: approving it tries again. Questions are numbered, and the id of each is
//! derived from the run, the tip of its branch and the number. So each is asked once for the same work however often a
//! daemon dies, and there are new ones once the run has merged more.

use switchboard_process::git::Oid;
use switchboard_protocol::error::Failure;
use switchboard_protocol::frame::PermissionOption;
use switchboard_protocol::id::{NeedId, RunId};
use switchboard_protocol::need::{NeedAbout, NeedEvent};
use switchboard_protocol::text::cut;
use switchboard_store::{Batch, Query, Row};

use crate::backoff::Backoff;
use crate::error::{is_transient, shape};
use crate::user_branch::{self, Merge};
use crate::work::{RUNS, run_id};
use crate::world::World;
use crate::{Error, needs};

/// Id of the option that approves the merge.
const MERGE: &str = "merge";

/// Merges the branch of a run that has succeeded, or asks about it, as the run and the answers so far say. Retries while
/// the store is busy, until the daemon ends.
pub(crate) async fn resolve(world: &World, run: &RunId) {
    let mut backoff = Backoff::default();
    // The end of the run, an answer and the start of the daemon may coincide.
    let _one_at_a_time = world.confirming.lock().await;
    loop {
        match step(world, run).await {
            Ok(()) => return,
            Err(Error::Store(error)) if is_transient(&error) => tokio::select! {
                biased;
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
    for wanted in ["merge", "confirms_merge"] {
        let query = Query::table(RUNS).eq("state", "succeeded").eq(wanted, 1_i64).eq("is_merged", 0_i64);
        for row in world.store.read(&query.desc("seq"))? {
            resolve(world, &run_id(&row)?).await;
        }
    }
    Ok(())
}

async fn step(world: &World, run: &RunId) -> Result<(), Error> {
    let row = world.store.get(RUNS, &[run.as_str().into()])?.ok_or_else(|| Error::Missing(run.to_string()))?;
    let is_wanted = row.get_bool("merge") || row.get_bool("confirms_merge");
    // A merge that was taken back is not made again.
    if row.get_text("state") != Some("succeeded") || !is_wanted || user_branch::has_moved(world, &row)? {
        return Ok(());
    }
    let branch = row.try_text("branch")?.to_owned();
    let Some(tip) = world.git(move |git| git.branch(&branch)).await? else { return Ok(()) };
    let (mut number, mut last) = (0, None);
    while let Some(need) = switchboard_needs::get(&world.store, &question(run, &tip, number))? {
        (number, last) = (number + 1, Some(need));
    }
    let id = question(run, &tip, number);
    let may_merge = match &last {
        None => row.get_bool("merge"),
        Some(need) => switchboard_needs::option_of(&world.store, &need.id)?.as_deref() == Some(MERGE),
    };
    if !may_merge {
        // There is no question about a run without a change.
        let is_due = last.is_none() && row.get_text("base") != Some(tip.as_str());
        return if is_due { ask(world, &row, (id, &tip), None).await } else { Ok(()) };
    }
    match user_branch::merge(world, Merge { run, target: None, by: None, missing: None }, None).await {
        Ok(_) => Ok(()),
        Err(error @ (Error::Refused(_) | Error::Process(_))) => {
            tracing::warn!(%run, %error, "the run's branch was not merged");
            ask(world, &row, (id, &tip), Some(error.to_failure())).await
        }
        Err(error) => Err(error),
    }
}

/// Asks whether to merge a run's branch; `refused` is why the last merge failed.
async fn ask(world: &World, row: &Row, (id, tip): (NeedId, &Oid), refused: Option<Failure>) -> Result<(), Error> {
    let (run, target) = (run_id(row)?, row.try_text("target")?);
    let again = if refused.is_some() { "try again to " } else { "" };
    let title = format!("{again}merge {run} into {target}: {}", cut(row.try_text("title")?, 60));
    let why = refused.map(|failure| format!("not merged: {}\n{}", failure.what, failure.hint));
    let about = NeedAbout::Merge { run, commit: tip.to_string() };
    let fact = NeedEvent::NeedAsked { id, about, title, options: options(), expires_at: needs::expiry(world) };
    let event = switchboard_needs::ask_event(&fact, why.unwrap_or_default(), "daemon").map_err(shape("a question"))?;
    world.commit(Batch::synced().event(event)).await?;
    world.crash("merge-asked");
    Ok(())
}

/// Returns the id of a question about the merge of a run's branch at a tip. `number` counts from 0.
fn question(run: &RunId, tip: &Oid, number: u32) -> NeedId {
    let number = number.to_string();
    let parts = [b"merge", run.as_str().as_bytes(), tip.as_str().as_bytes(), number.as_bytes()];
    // The first question has the id that it had before there were others.
    NeedId::derived(if number == "0" { &parts[..3] } else { &parts })
}

/// Withdraws the open questions about the merge of a run's branch, which is done.
pub(crate) async fn withdraw(world: &World, run: &RunId) -> Result<(), Error> {
    for need in switchboard_needs::open_merges(&world.store, run)? {
        let (event, guard) =
            switchboard_needs::resolved(&need.id, "withdrawn", None, "daemon").map_err(shape("an answer"))?;
        match world.commit(Batch::synced().event(event).guard(guard)).await {
            // Somebody has answered it meanwhile.
            Ok(_) | Err(switchboard_store::Error::Refused(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
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
