//! `send_message` and `send_team_message`: the messages are durable when the calls return.

use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, Digest, MessageId};
use switchboard_protocol::message::DeliveryState;
use switchboard_protocol::verb::bus::{SendMessageReply, SendMessageRequest};
use switchboard_protocol::verb::queue::{SendTeamMessageReply, SendTeamMessageRequest, SentCopy};
use switchboard_store::{Batch, Store};

use crate::error::refuse;
use crate::outgoing::Draft;
use crate::queue::is_race;
use crate::{Call, Error, addressee, repeated};

/// Maximum number of retries of a message after races with the one that it replaces.
const RACES: usize = 8;

/// Maximum number of recipients of one broadcast.
const MAX_COPIES: usize = 64;

/// Puts a message into the recipient's inbox.
///
/// `fresh` is the id of the message if the sender gave none. The same id with the same content gets the first answer;
/// with other content it is a conflict.
///
/// # Errors
/// A refusal (unknown recipient, one that has left, full inbox, payload too large, too soon, id used for something
/// else) or a failure of the store.
pub async fn send_message(
    store: &Store,
    call: &Call,
    request: SendMessageRequest,
    fresh: MessageId,
) -> Result<SendMessageReply, Error> {
    let key = own_key(call, &request).or_else(|| call.idempotency.clone());
    match send_one(store, call, &request, fresh, key.clone()).await {
        // Even if it would be refused by now: a message that was sent gets its first answer.
        Err(Error::Refused(refused)) => {
            let first = repeated::or_refuse(store, key.as_ref(), refused).await?;
            let sent: SendMessageReply = serde_json::from_value(first.reply)?;
            Ok(SendMessageReply { seq: first.first, duplicate: true, ..sent })
        }
        result => result,
    }
}

async fn send_one(
    store: &Store,
    call: &Call,
    request: &SendMessageRequest,
    fresh: MessageId,
    key: Option<switchboard_store::Idempotency>,
) -> Result<SendMessageReply, Error> {
    let draft = Draft {
        payload: &request.payload,
        action: request.action,
        reply_to: request.reply_to.as_ref(),
        topic: &request.topic,
        priority: request.priority,
        options: request.options.as_ref(),
        metadata: request.metadata.as_ref(),
        persona: &request.persona,
        team: "",
        broadcast: None,
    };
    draft.check(call)?;
    addressee::fence(store, &call.caller.name, request.options.as_ref().and_then(|options| options.epoch))?;
    let recipient = addressee::recipient(store, &request.recipient)?;
    let id = request.id.clone().unwrap_or(fresh);
    for _ in 0..RACES {
        let batch = Batch { idempotency: key.clone(), ..call.batch() };
        let (batch, added) = draft.add(store, call, &recipient, id.clone(), batch)?;
        let mut reply = SendMessageReply {
            id: added.id,
            recipient: added.recipient,
            state: DeliveryState::Accepted,
            seq: 0,
            duplicate: false,
            superseded: added.superseded,
            control: None,
        };
        match store.commit(Batch { reply: serde_json::to_value(&reply)?, ..batch }).await {
            Ok(committed) => {
                if committed.repeated {
                    reply = serde_json::from_value(committed.reply)?;
                }
                return Ok(SendMessageReply { seq: committed.first, duplicate: committed.repeated, ..reply });
            }
            Err(error) if is_race(&error) => {}
            Err(error) => return Err(error.into()),
        }
    }
    refuse(Failure::new("store.conflict", format!("the inbox of {} changes all the time", recipient)).hint("try again"))
}

/// Returns the idempotency key of a message that has an id: the id itself.
fn own_key(call: &Call, request: &SendMessageRequest) -> Option<switchboard_store::Idempotency> {
    let id = request.id.as_ref()?;
    let args = serde_json::to_vec(request).ok()?;
    Some(switchboard_store::Idempotency {
        key: format!("message/{id}"),
        caller: call.caller.name.folded(),
        verb: "send_message",
        args: Digest::of(&args),
    })
}

/// Puts one message each into the inboxes of a team or of named agents, in their present form: into all of them or, on
/// any refusal, into none.
///
/// `fresh` is the id of the broadcast, from which the ids of its messages are derived.
///
/// # Errors
/// A refusal (unknown or empty team, unknown recipient, a full inbox, payload too large) or a failure of the store.
pub async fn send_team_message(
    store: &Store,
    call: &Call,
    request: SendTeamMessageRequest,
    fresh: MessageId,
) -> Result<SendTeamMessageReply, Error> {
    let draft = Draft {
        payload: &request.payload,
        action: request.action,
        reply_to: None,
        topic: &request.topic,
        priority: request.priority,
        options: request.options.as_ref(),
        metadata: request.metadata.as_ref(),
        persona: "",
        team: request.team.as_ref().map_or("", |team| team.as_str()),
        broadcast: Some(&fresh),
    };
    draft.check(call)?;
    let recipients = recipients(store, call, &request)?;
    for _ in 0..RACES {
        let mut batch = call.batch();
        let mut copies = Vec::with_capacity(recipients.len());
        for (number, recipient) in recipients.iter().enumerate() {
            let id = MessageId::new(format!("{fresh}.{}", number + 1));
            let id = id.map_err(|_| Error::BadRow { what: "the id of a broadcast", text: fresh.to_string() })?;
            let (more, added) = draft.add(store, call, recipient, id, batch)?;
            batch = more;
            copies.push(SentCopy { recipient: added.recipient, id: added.id, seq: added.place as u64 });
        }
        let reply = SendTeamMessageReply { broadcast: fresh.clone(), messages: copies };
        match store.commit(Batch { reply: serde_json::to_value(&reply)?, ..batch }).await {
            Ok(committed) => {
                let mut reply: SendTeamMessageReply = serde_json::from_value(committed.reply)?;
                reply.messages.iter_mut().for_each(|copy| copy.seq += committed.first);
                return Ok(reply);
            }
            Err(error) if is_race(&error) => {}
            Err(error) => return Err(error.into()),
        }
    }
    refuse(Failure::new("store.conflict", "the inboxes change all the time").hint("try again"))
}

/// Returns the recipients, each once and never the sender.
fn recipients(store: &Store, call: &Call, request: &SendTeamMessageRequest) -> Result<Vec<AgentName>, Error> {
    let mut named: Vec<AgentName> = match (&request.team, request.recipients.as_slice()) {
        (Some(team), []) => {
            crate::members(store, team, request.role_filter.as_deref())?.into_iter().map(|agent| agent.name).collect()
        }
        (None, names @ [_, ..]) => {
            names.iter().map(|name| addressee::recipient(store, name)).collect::<Result<_, _>>()?
        }
        _ => return refuse(Failure::new("request.bad-args", "name either a team or recipients")),
    };
    named.sort_by_key(|name| name.folded());
    named.dedup_by_key(|name| name.folded());
    named.retain(|name| name.folded() != call.caller.name.folded());
    if named.is_empty() || named.len() > MAX_COPIES {
        let what = format!("a broadcast has 1 to {MAX_COPIES} recipients besides its sender, not {}", named.len());
        return refuse(Failure::new("request.bad-args", what));
    }
    Ok(named)
}
