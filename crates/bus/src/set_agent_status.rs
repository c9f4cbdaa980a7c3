//! `set_agent_status`: sets an agent's status, with a sentence about it.

use switchboard_protocol::agent::AgentEvent;
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::verb::agent::{SetAgentStatusReply, SetAgentStatusRequest};
use switchboard_store::Store;

use crate::error::refuse;
use crate::{Call, Error, resolve, roster};

/// Maximum length of a status word, in bytes.
const MAX_STATUS_BYTES: usize = 40;
/// Maximum length of the sentence, in bytes.
const MAX_MESSAGE_BYTES: usize = 300;

/// Records the status of an agent.
///
/// # Errors
/// A refusal (an agent that is unknown or has left, another agent's status, a text that is too long) or a failure of
/// the store.
pub async fn set_agent_status(
    store: &Store,
    call: &Call,
    request: SetAgentStatusRequest,
) -> Result<SetAgentStatusReply, Error> {
    let name = request.name.unwrap_or_else(|| call.caller.name.clone());
    if name.folded() != call.caller.name.folded() && !call.caller.is_person() {
        return refuse(Failure::new("bus.not-yours", format!("only {name} or a person sets the status of {name}")));
    }
    if request.status.is_empty() || request.status.len() > MAX_STATUS_BYTES || request.message.len() > MAX_MESSAGE_BYTES
    {
        let what = format!("a status has 1 to {MAX_STATUS_BYTES} bytes and its message at most {MAX_MESSAGE_BYTES}");
        return refuse(Failure::new("request.bad-args", what));
    }
    let Some(before) = roster::agent(store, &name)? else {
        return refuse(resolve::unknown(store, name.as_str())?);
    };
    if before.has_left {
        let failure = Failure::new("bus.not-registered", format!("{name} has left"));
        return refuse(failure.hint("register_agent puts it back"));
    }
    let fact = AgentEvent::AgentStatusSet { name: name.clone(), status: request.status, message: request.message };
    let event = NewEvent::of(&fact, format!("agent/{}", name.folded()), call.caller.name.as_str())?;
    store.commit(call.batch().event(event)).await?;
    let agent = roster::agent(store, &name)?;
    agent.map(|agent| SetAgentStatusReply { agent }).ok_or(Error::BadRow { what: "no agent", text: name.to_string() })
}
