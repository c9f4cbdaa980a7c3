//! Resolves names to agents, and checks that a caller's registration is current.

use switchboard_protocol::error::Failure;
use switchboard_protocol::id::AgentName;
use switchboard_store::Store;

use crate::agents::AGENTS;
use crate::error::refuse;
use crate::resolve::{self, resolve};
use crate::{Call, Error, roster};

/// Returns the recipient of a message: a name, or a role or an alias that matches one agent.
pub(crate) fn recipient(store: &Store, name: &AgentName) -> Result<AgentName, Error> {
    match roster::presence(store, name)? {
        Some((name, true)) => refuse(closed(&name)),
        Some((name, false)) => Ok(name),
        None => Ok(resolve(store, name.as_str())?.name),
    }
}

/// Returns the refusal of mail to an agent that has left.
pub(crate) fn closed(name: &AgentName) -> Failure {
    let failure = Failure::new("bus.recipient-closed", format!("{name} has left and takes no mail"));
    failure.hint("get_team_roster lists who is there")
}

/// Returns the refusal if the owner of an inbox is not registered: the caller itself, or an unknown name.
pub(crate) fn absent(store: &Store, call: &Call, owner: &AgentName) -> Result<Failure, Error> {
    if owner.folded() == call.caller.name.folded() {
        return Ok(unregistered(owner));
    }
    resolve::unknown(store, owner.as_str())
}

/// Returns the refusal for a caller that is not registered.
pub(crate) fn unregistered(name: &AgentName) -> Failure {
    let failure = Failure::new("bus.not-registered", format!("{name} is not on the roster"));
    failure.hint("call register_agent first, so that others can write to you")
}

/// Checks that the caller is registered, and that no newer registration has replaced its own.
pub(crate) fn owner(store: &Store, name: &AgentName, epoch: Option<u64>) -> Result<(), Error> {
    if store.get(AGENTS, &[name.folded().into()])?.is_none() {
        return refuse(unregistered(name));
    }
    fence(store, name, epoch)
}

/// Checks that the registration that a caller names, if any, is the newest one.
pub(crate) fn fence(store: &Store, name: &AgentName, epoch: Option<u64>) -> Result<(), Error> {
    let Some(given) = epoch else { return Ok(()) };
    let row = store.get(AGENTS, &[name.folded().into()])?;
    let newest = row.and_then(|row| row.get_int("epoch")).and_then(|epoch| u64::try_from(epoch).ok()).unwrap_or(0);
    if given == newest {
        return Ok(());
    }
    let what = format!("{name} was registered again: its epoch is {newest}, not {given}");
    refuse(Failure::new("bus.stale-epoch", what).hint("another process took the name over; end, or register again"))
}
