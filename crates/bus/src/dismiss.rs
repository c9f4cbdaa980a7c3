//! Removes terminals whose process has ended, and workers without further tasks, from the team.

use switchboard_protocol::agent::{Agent, Process};
use switchboard_store::{Batch, Durability, Query, Store};

use crate::agents::AGENTS;
use crate::register_agent::{departure, subject};
use crate::{Error, roster};

/// Removes terminals whose process has ended from the roster; returns their number. Their leases end as well.
///
/// # Errors
/// When the store can't be read or written.
pub async fn dismiss_terminals(store: &Store, is_alive: impl Fn(&Process) -> bool) -> Result<usize, Error> {
    let has_ended = |entry: &roster::Entry| entry.process.as_ref().is_some_and(|process| !is_alive(process));
    dismiss(store, "terminal", "its terminal has ended", has_ended).await
}

/// Removes workers without a task in any run from the roster; returns their number. Requests that wait for their answer
/// fail at once.
///
/// `is_at_work` must return true before an agent's registration is committed, or the agent may be dismissed on arrival.
///
/// # Errors
/// When the store can't be read or written.
pub async fn dismiss_workers(store: &Store, is_at_work: impl Fn(&Agent) -> bool) -> Result<usize, Error> {
    dismiss(store, "worker", "its work has ended", |entry| !is_at_work(&entry.agent)).await
}

async fn dismiss(
    store: &Store,
    kind: &str,
    why: &str,
    has_ended: impl Fn(&roster::Entry) -> bool,
) -> Result<usize, Error> {
    let query = Query::table(AGENTS).eq("kind", kind).ne("gone", 1_i64);
    let mut count = 0;
    for row in store.read(&query)? {
        let name = roster::of_row(store, &row)?.agent.name;
        let rev = store.rev(&subject(&name))?;
        // Read again with its revision: the agent may have registered meanwhile.
        let Some(entry) = roster::entry(store, &name)? else { continue };
        if entry.agent.has_left || entry.agent.kind.as_str() != kind || !has_ended(&entry) {
            continue;
        }
        let event = departure(&name, why, "daemon")?;
        match store.commit(Batch::new(Durability::Written).event(event).expect(subject(&name), rev)).await {
            Ok(_) => count += 1,
            Err(switchboard_store::Error::Conflict { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(count)
}
