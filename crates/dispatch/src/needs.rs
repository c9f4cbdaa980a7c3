//! Questions of workers to a person. An answer is an event of the log; this module passes it on to the waiting worker.

use std::sync::Arc;
use std::time::Duration;

use switchboard_needs::Ended;
use switchboard_process::task;
use switchboard_protocol::event::{Lsn, NewEvent};
use switchboard_protocol::frame::{PermissionOption, ShimCommand};
use switchboard_protocol::id::{NeedId, RunId, WorkerId};
use switchboard_protocol::need::{Need, NeedEvent, NeedKind};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::time::Millis;
use switchboard_store::{Batch, Durability, Filter, Interest};

use crate::error::shape;
use crate::event::cut;
use crate::world::World;
use crate::{Error, confirm_merge};

/// Number of answers read at once.
const PAGE: usize = 100;

/// Pause before an answer that could not be passed on is sent again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Returns the options as recorded: at most six, each text cut.
pub(crate) fn options(options: &[PermissionOption]) -> Vec<PermissionOption> {
    let short = |option: &PermissionOption| PermissionOption {
        id: cut(&option.id, 40),
        name: cut(&option.name, 40),
        kind: cut(&option.kind, 16),
    };
    options.iter().take(6).map(short).collect()
}

/// Question about a task whose worker ended without what it was denied. Another attempt would only ask again.
pub(crate) struct Denied {
    /// Step of the run.
    pub(crate) step: RunEvent,
    /// Event that asks the question.
    pub(crate) asked: NewEvent,
}

/// Asks a person how to continue a task; `None` if its worker was denied nothing.
pub(crate) fn ask_about_denied(
    world: &World,
    run: &RunId,
    task: &TaskId,
    worker: &WorkerId,
    by: &str,
) -> Result<Option<Denied>, Error> {
    let need = world.fresh_need()?;
    let ended = Ended {
        run: run.clone(),
        task: task.to_string(),
        worker: worker.clone(),
        need: need.clone(),
        expires_at: expiry(world),
    };
    let asked = switchboard_needs::ask_about_denied(&world.store, ended, by)?;
    Ok(asked.map(|(asked, what)| {
        let reason = format!("nothing was done without what was denied: {what} [agent.denied]");
        let step = RunEvent::PersonAsked { task: task.clone(), worker: worker.clone(), need, reason };
        Denied { step, asked }
    }))
}

/// Returns the time at which a question asked now expires.
pub(crate) fn expiry(world: &World) -> Millis {
    world.store.now().plus(i64::try_from(world.config.limits.permission_ms).unwrap_or(i64::MAX))
}

/// Returns the event that answers a worker's question with what a person has allowed its task before: the same words about the same command
/// or diff. `None` if that was not allowed, or if no option of the question allows it.
pub(crate) fn granted(
    world: &World,
    (run, task): (&RunId, &TaskId),
    id: &NeedId,
    asked: &WorkerQuestion<'_>,
) -> Result<Option<NewEvent>, Error> {
    let allowed = switchboard_needs::allowed_since(&world.store, run, task.as_str())?;
    // Texts that were cut may differ in the missing part.
    let is_whole = !asked.title.ends_with('…') && !asked.detail.ends_with('…');
    let is_same = |need: &Need| need.title == asked.title && need.detail == asked.detail;
    if !is_whole || !allowed.iter().any(is_same) {
        return Ok(None);
    }
    let option = ["allow_once", "allow_always"].into_iter().find_map(|kind| {
        let option = asked.options.iter().find(|option| option.kind == kind);
        option.map(|option| option.id.clone())
    });
    let Some(option) = option else { return Ok(None) };
    let settled = switchboard_needs::resolved(id, "granted", Some(option), "daemon");
    Ok(Some(settled.map_err(shape("an answer"))?.0))
}

/// Worker's question, as recorded.
pub(crate) struct WorkerQuestion<'a> {
    pub(crate) title: &'a str,
    pub(crate) detail: &'a str,
    pub(crate) options: &'a [PermissionOption],
}

/// Passes a person's answers after an event on to workers, until the daemon ends. A shim that is not connected gets
/// them when it reconnects.
pub(crate) async fn tell_answers(world: Arc<World>, mut reached: Lsn) {
    let mut answered = world.store.subscribe([Interest::Kind("need_settled".to_owned())]);
    loop {
        let is_told = match tell_from(&world, reached).await {
            Ok(lsn) => {
                reached = lsn;
                true
            }
            Err(error) => {
                tracing::error!(%error, "workers could not be told what a person answered");
                false
            }
        };
        tokio::select! {
            biased;
            () = world.stop.cancelled() => return,
            changed = answered.changed(), if is_told => if changed.is_err() { return },
            () = tokio::time::sleep(RETRY_PAUSE), if !is_told => {}
        }
    }
}

/// Passes on the answers recorded after an event; returns the position of the last one.
async fn tell_from(world: &Arc<World>, after: Lsn) -> Result<Lsn, Error> {
    let mut reached = after;
    loop {
        let events = world.store.events(reached, &Filter::kinds(["need_settled".to_owned()]), PAGE)?;
        for event in &events {
            reached = event.lsn;
            let Some(NeedEvent::NeedSettled { id, option, .. }) = event.fact::<NeedEvent>() else { continue };
            let Some(need) = switchboard_needs::get(&world.store, &id)? else { continue };
            if let (NeedKind::Merge, Some(run)) = (need.kind, &need.run) {
                // Answers to workers don't wait for a merge.
                let (world, run) = (Arc::clone(world), run.clone());
                task::spawn(async move { confirm_merge::resolve(&world, &run).await });
                continue;
            }
            let link = need.worker.and_then(|worker| world.link(&worker));
            if let Some((link, ask)) = link.zip(switchboard_needs::ask_of(&world.store, &id)?) {
                link.tell(ShimCommand::Permit { ask, option }).await?;
            }
        }
        if events.len() < PAGE {
            return Ok(reached);
        }
    }
}

/// Withdraws the open questions of a worker that has ended.
pub(crate) async fn withdraw(world: &World, worker: &WorkerId) -> Result<(), Error> {
    let open = switchboard_needs::open_of(&world.store, worker)?;
    for need in open.into_iter().filter(|need| need.kind == NeedKind::Permission) {
        let settled = switchboard_needs::resolved(&need.id, "withdrawn", None, "daemon");
        let (event, guard) = settled.map_err(shape("an answer"))?;
        world.commit(Batch::new(Durability::Synced).event(event).guard(guard)).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_six_options_are_recorded_and_long_texts_are_cut() {
        let option = PermissionOption { id: "i".repeat(41), name: "n".repeat(41), kind: "k".repeat(17) };
        let fits = PermissionOption { id: "i".repeat(40), name: "n".repeat(40), kind: "k".repeat(16) };

        assert_eq!(options(&vec![fits.clone(); 7]), vec![fits; 6]);
        let [cut] = options(&[option]).try_into().unwrap();
        let lengths = [cut.id, cut.name, cut.kind].map(|text| text.chars().filter(|one| *one != '…').count());
        assert!(lengths[0] <= 40 && lengths[1] <= 40 && lengths[2] <= 16, "{lengths:?}");
    }
}
