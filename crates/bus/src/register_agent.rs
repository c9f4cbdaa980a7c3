//! `register_agent`: join the team, or change the entry.

use protocol::agent::{AgentEvent, AgentKind};
use protocol::error::Failure;
use protocol::event::NewEvent;
use protocol::id::AgentName;
use protocol::verb::bus::{RegisterAgentReply, RegisterAgentRequest};
use store::{Batch, Durability, Store};

use crate::error::refuse;
use crate::{Asker, Error, roster};

/// Longest role, status or capability in bytes; longer ones are refused rather than cut.
const MAX_WORD_BYTES: usize = 64;
/// Most capabilities of one agent.
const MAX_CAPABILITIES: usize = 8;

/// Puts an agent on the roster.
///
/// # Errors
/// A refusal (a worker that takes another name, a field that is too long) or the store's failure.
pub async fn register_agent(
    store: &Store,
    asker: &Asker,
    request: RegisterAgentRequest,
) -> Result<RegisterAgentReply, Error> {
    check_words(&request)?;
    if request.kind == AgentKind::Person && !asker.is_person {
        return refuse(Failure::new("policy.denied", "only a person registers a person"));
    }
    let name = request.name.clone();
    let mut batch = Batch::new(Durability::Synced).event(announce(&request, &asker.name)?);
    batch.idempotency.clone_from(&asker.idempotency);
    store.commit(batch).await?;
    let agent = roster::agent(store, &name)?;
    agent.map(|agent| RegisterAgentReply { agent }).ok_or(Error::BadRow { what: "no agent", text: name.to_string() })
}

/// The event that puts an agent on the roster, for those who commit it with events of their own.
///
/// # Errors
/// When the fact does not serialise.
pub fn announce(request: &RegisterAgentRequest, actor: &AgentName) -> Result<NewEvent, serde_json::Error> {
    let fact = AgentEvent::AgentRegistered {
        name: request.name.clone(),
        kind: request.kind,
        role: request.role.clone(),
        capabilities: request.capabilities.clone(),
        scripted: request.scripted,
    };
    NewEvent::of(&fact, format!("agent/{}", request.name.folded()), actor.as_str())
}

fn check_words(request: &RegisterAgentRequest) -> Result<(), Error> {
    let too_long = std::iter::once(&request.role).chain(&request.capabilities).find(|word| word.len() > MAX_WORD_BYTES);
    if let Some(word) = too_long {
        let cut: String = word.chars().take(20).collect();
        return refuse(Failure::new(
            "request.bad-args",
            format!("a role or capability has at most {MAX_WORD_BYTES} bytes: {cut:?}…"),
        ));
    }
    if request.capabilities.len() > MAX_CAPABILITIES {
        return refuse(Failure::new("request.bad-args", format!("at most {MAX_CAPABILITIES} capabilities")));
    }
    Ok(())
}
