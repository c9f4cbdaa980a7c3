//! Terminals whose process has ended leave the team.

use protocol::agent::Process;
use store::{Batch, Durability, Query, Store};

use crate::agents::AGENTS;
use crate::register_agent::{departure, subject};
use crate::{Error, roster};

/// Takes the terminals off the roster whose process is no longer there; says how many. Their leases end with them.
///
/// # Errors
/// When the store can't be read or written.
pub async fn dismiss_terminals(store: &Store, is_alive: impl Fn(&Process) -> bool) -> Result<usize, Error> {
    let query = Query::table(AGENTS).eq("kind", "terminal").ne("gone", 1_i64);
    let mut count = 0;
    for row in store.read(&query)? {
        let name = roster::of_row(store, &row)?.agent.name;
        let rev = store.rev(&subject(&name))?;
        // Read again under its revision: it may have registered meanwhile.
        let Some(entry) = roster::entry(store, &name)? else { continue };
        if entry.agent.has_left || entry.process.as_ref().is_none_or(&is_alive) {
            continue;
        }
        let event = departure(&name, "its terminal has ended", "daemon")?;
        match store.commit(Batch::new(Durability::Written).event(event).expect(subject(&name), rev)).await {
            Ok(_) => count += 1,
            Err(store::Error::Conflict { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(count)
}
