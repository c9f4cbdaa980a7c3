//! `send_message`: durable when it returns.

use protocol::error::{Failure, near_matches};
use protocol::event::NewEvent;
use protocol::id::{AgentName, Digest, MessageId};
use protocol::message::{DeliveryState, INBOX_LIMIT, MAX_PAYLOAD_BYTES, MessageEvent};
use protocol::verb::bus::{SendMessageReply, SendMessageRequest};
use store::{Batch, Durability, Guard, Store};

use crate::error::refuse;
use crate::mail::{INBOXES, MESSAGES};
use crate::{Asker, Error, roster};

/// Puts a message into the recipient's inbox.
///
/// `fresh` names the message when the sender did not. The same id with the same content is answered as before; with
/// other content it is a conflict.
///
/// # Errors
/// A refusal (unknown recipient, full inbox, payload too large, id used for something else) or the store's failure.
pub async fn send_message(
    store: &Store,
    asker: &Asker,
    request: SendMessageRequest,
    fresh: MessageId,
) -> Result<SendMessageReply, Error> {
    if request.payload.len() > MAX_PAYLOAD_BYTES {
        let what = format!("the payload has {} bytes, at most {MAX_PAYLOAD_BYTES} are carried", request.payload.len());
        return refuse(Failure::new("bus.payload-too-large", what).hint("put the text into a file and send its path"));
    }
    let Some(recipient) = roster::agent(store, &request.recipient)? else {
        return refuse(unknown(store, &request.recipient)?);
    };
    let id = request.id.clone().unwrap_or(fresh);
    let fact = MessageEvent::MessageSent {
        id: id.clone(),
        action: request.action,
        sender: asker.name.clone(),
        verified: asker.is_verified,
        recipient: recipient.name.clone(),
        reply_to: request.reply_to.clone(),
        bytes: request.payload.len() as u64,
    };
    let event = NewEvent::of(&fact, format!("message/{id}"), asker.name.as_str())?.with_body(request.payload.clone());
    let batch = Batch::new(Durability::Synced).event(event).guard(room(&recipient.name)).guard(unused(&id));
    let batch = Batch { idempotency: asker.idempotency.clone().or_else(|| own_key(asker, &request)), ..batch };
    let reply = serde_json::json!({ "id": id });
    let committed = store.commit(Batch { reply, ..batch }).await?;
    let id: MessageId = serde_json::from_value(committed.reply["id"].clone())?;
    let row = store.get(MESSAGES, &[id.as_str().into()])?;
    let seq = row.map_or(Ok(committed.last), |row| row.try_u64("seq"))?;
    Ok(SendMessageReply { id, state: DeliveryState::Accepted, seq })
}

/// A message that names itself is its own idempotency key.
fn own_key(asker: &Asker, request: &SendMessageRequest) -> Option<store::Idempotency> {
    let id = request.id.as_ref()?;
    let args = serde_json::to_vec(request).ok()?;
    Some(store::Idempotency {
        key: format!("message/{id}"),
        caller: asker.name.folded(),
        verb: "send_message",
        args: Digest::of(&args),
    })
}

fn room(recipient: &AgentName) -> Guard {
    let what = format!("the inbox of {recipient} holds {INBOX_LIMIT} messages that are not acknowledged");
    let refusal = Failure::new("bus.inbox-full", what).hint("wait until it has read some, or ask a person");
    Guard::Below { table: INBOXES, key: vec![recipient.folded().into()], column: "unread", limit: INBOX_LIMIT, refusal }
}

fn unused(id: &MessageId) -> Guard {
    let refusal = Failure::new("request.conflict", format!("the id {id} was used for another message"));
    Guard::Absent { table: MESSAGES, key: vec![id.as_str().into()], refusal }
}

/// The refusal for a name that nobody has, with the nearest names.
pub(crate) fn unknown(store: &Store, name: &AgentName) -> Result<Failure, Error> {
    let agents = roster::roster(store)?;
    let near = near_matches(name.as_str(), agents.iter().map(|agent| agent.name.as_str()));
    let failure = Failure::new("bus.unknown-recipient", format!("no agent is called {name}"));
    Ok(match near.as_slice() {
        [] => failure.hint("get_team_roster lists everybody; register_agent adds a name"),
        near => failure.hint(format!("did you mean {}?", near.join(", "))),
    })
}
