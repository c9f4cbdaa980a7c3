//! `check_inbox`: what waits for its recipient, oldest first. The recipient's own look is evidence.

use protocol::error::Failure;
use protocol::event::NewEvent;
use protocol::id::{AgentName, MessageId};
use protocol::message::{Action, DeliveryState, Message, MessageEvent};
use protocol::time::Millis;
use protocol::verb::bus::{CheckInboxReply, CheckInboxRequest};
use store::{Batch, Durability, Query, Row, Store};

use crate::error::refuse;
use crate::mail::MESSAGES;
use crate::{Asker, Error, roster};

/// Messages in an answer unless asked otherwise (the seed's default).
const DEFAULT_LIMIT: u32 = 20;
/// Most messages in one answer.
const MAX_LIMIT: u32 = 100;

/// Reads an inbox; the recipient's own messages count as injected from now on.
///
/// # Errors
/// A refusal (somebody else's inbox) or the store's failure.
pub async fn check_inbox(store: &Store, asker: &Asker, request: CheckInboxRequest) -> Result<CheckInboxReply, Error> {
    let owner = request.agent.clone().unwrap_or_else(|| asker.name.clone());
    let is_own = owner.folded() == asker.name.folded();
    if !is_own && !asker.is_person {
        return refuse(Failure::new("bus.not-yours", format!("only {owner} or a person reads the inbox of {owner}")));
    }
    if roster::agent(store, &owner)?.is_none() {
        return refuse(crate::send_message::unknown(store, &owner)?);
    }
    let limit = request.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    let query = inbox(&owner, request.include_acked)
        .gt("seq", request.since.unwrap_or(0))
        .asc("seq")
        .limit(u64::from(limit) + 1);
    let mut rows = store.read(&query)?;
    let more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let messages = rows.iter().map(|row| of_row(store, row)).collect::<Result<Vec<_>, _>>()?;
    if is_own {
        saw(store, asker, &messages).await?;
    }
    let cursor = messages.last().map_or(request.since.unwrap_or(0), |message| message.seq);
    let more = if more { behind(store, &owner, cursor)? } else { 0 };
    Ok(CheckInboxReply { messages, cursor, more })
}

/// How many unacknowledged messages lie behind a position; counted up to 10,000, the size of an inbox.
fn behind(store: &Store, owner: &AgentName, cursor: u64) -> Result<u64, Error> {
    Ok(store.read(&inbox(owner, false).gt("seq", cursor).limit(10_000))?.len() as u64)
}

pub(crate) fn inbox(owner: &AgentName, with_acked: bool) -> Query {
    let query = Query::table(MESSAGES).eq("recipient", owner.folded());
    if with_acked { query } else { query.eq("acked", 0_i64) }
}

async fn saw(store: &Store, asker: &Asker, messages: &[Message]) -> Result<(), Error> {
    let fresh: Vec<_> = messages
        .iter()
        .filter(|message| message.state < DeliveryState::Injected)
        .map(|message| message.id.clone())
        .collect();
    if fresh.is_empty() {
        return Ok(());
    }
    let mut batch = Batch::new(Durability::Written);
    for event in injections(&fresh, &asker.name, "check_inbox", asker.name.as_str())? {
        batch = batch.event(event);
    }
    store.commit(batch).await?;
    Ok(())
}

/// The events that record that a recipient had messages before its eyes.
pub(crate) fn injections(
    ids: &[MessageId],
    recipient: &AgentName,
    evidence: &str,
    actor: &str,
) -> Result<Vec<NewEvent>, Error> {
    ids.iter()
        .map(|id| {
            let fact = MessageEvent::MessageInjected {
                id: id.clone(),
                recipient: recipient.clone(),
                evidence: evidence.to_owned(),
            };
            Ok(NewEvent::of(&fact, format!("message/{id}"), actor)?)
        })
        .collect()
}

pub(crate) fn of_row(store: &Store, row: &Row) -> Result<Message, Error> {
    let name = |column: &'static str| {
        let text = row.try_text(column)?;
        AgentName::new(text).map_err(|_| Error::BadRow { what: column, text: text.to_owned() })
    };
    let id =
        |text: &str| MessageId::new(text).map_err(|_| Error::BadRow { what: "a message id", text: text.to_owned() });
    let seq = row.try_u64("seq")?;
    let action: Action = serde_json::from_value(row.try_text("action")?.into())?;
    Ok(Message {
        id: id(row.try_text("id")?)?,
        action,
        sender: name("sender")?,
        sender_verified: row.get_bool("verified"),
        recipient: name("recipient_name")?,
        payload: store.body(seq)?.unwrap_or_default(),
        reply_to: row.get_text("reply_to").map(id).transpose()?,
        state: state(row),
        created_at: Millis(row.try_int("created_at")?),
        seq,
    })
}

fn state(row: &Row) -> DeliveryState {
    let states =
        [("acked", DeliveryState::Acked), ("injected", DeliveryState::Injected), ("offered", DeliveryState::Offered)];
    let reached = states.into_iter().find(|(column, _)| row.get_bool(column));
    reached.map_or(DeliveryState::Accepted, |(_, state)| state)
}
