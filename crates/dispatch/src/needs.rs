//! Questions of workers to a person. An answer is an event of the log; this passes it on to the waiting worker.

use std::sync::Arc;
use std::time::Duration;

use switchboard_protocol::event::Lsn;
use switchboard_protocol::frame::{PermissionOption, ShimCommand};
use switchboard_protocol::id::WorkerId;
use switchboard_protocol::need::NeedEvent;
use switchboard_store::{Batch, Durability, Filter, Interest};

use crate::Error;
use crate::error::shape;
use crate::event::cut;
use crate::world::World;

/// Answers that are read at once.
const PAGE: usize = 100;

/// Pause before an answer that could not be passed on is sent again.
const AGAIN: Duration = Duration::from_secs(1);

/// The options as the record keeps them: at most six, each word cut.
pub(crate) fn options(options: &[PermissionOption]) -> Vec<PermissionOption> {
    let short = |option: &PermissionOption| PermissionOption {
        id: cut(&option.id, 40),
        name: cut(&option.name, 40),
        kind: cut(&option.kind, 16),
    };
    options.iter().take(6).map(short).collect()
}

/// Why a task waits for a person whose worker did not get what it asked for; `None` if nothing was refused. Another attempt would only ask again.
pub(crate) fn denied(refused: &[String]) -> Option<String> {
    let first = refused.first()?;
    let more = if refused.len() > 1 { format!(" and {} more", refused.len() - 1) } else { String::new() };
    Some(format!("nothing was done without what was denied: {}{more} [agent.denied]", cut(first, 200)))
}

/// Passes a person's answers on to workers until the daemon ends. A shim that is not linked is told when it comes back.
pub(crate) async fn tell_answers(world: Arc<World>) {
    let mut answered = world.store.subscribe([Interest::Kind("need_settled".to_owned())]);
    let mut reached = world.store.head().lsn;
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
            () = tokio::time::sleep(AGAIN), if !is_told => {}
        }
    }
}

/// Passes on the answers recorded after an event; returns the position of the last one.
async fn tell_from(world: &World, after: Lsn) -> Result<Lsn, Error> {
    let mut reached = after;
    loop {
        let events = world.store.events(reached, &Filter::kinds(["need_settled".to_owned()]), PAGE)?;
        for event in &events {
            reached = event.lsn;
            let Some(NeedEvent::NeedSettled { id, option, .. }) = event.fact::<NeedEvent>() else { continue };
            let Some(need) = switchboard_needs::get(&world.store, &id)? else { continue };
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
    for need in switchboard_needs::open_of(&world.store, worker)? {
        let settled = switchboard_needs::resolved(&need.id, "withdrawn", None, "daemon");
        let (event, guard) = settled.map_err(shape("an answer"))?;
        world.commit(Batch::new(Durability::Synced).event(event).guard(guard)).await?;
    }
    Ok(())
}
