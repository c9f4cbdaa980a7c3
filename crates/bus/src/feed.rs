//! `read_inbox_events`: events of an agent's mail, without its text. It reads the log, so it is append-only. A cursor
//! names a position in the log and the hash there, so that a cursor of another record, or of one that was restored to
//! an earlier state, is refused.

use std::time::Duration;

use switchboard_protocol::error::Failure;
use switchboard_protocol::event::{Event, Lsn};
use switchboard_protocol::id::{AgentName, MessageId};
use switchboard_protocol::message::{MessageEvent, QueueState};
use switchboard_protocol::verb::queue::{InboxEvent, ReadInboxEventsReply, ReadInboxEventsRequest};
use switchboard_store::{Filter, Store};

use crate::cursor::{cursor, place};
use crate::error::refuse;
use crate::mail::MESSAGES;
use crate::message::{delivery, name};
use crate::{Call, Error, addressee, announce, roster};

/// Default and maximum number of events in an answer.
const LIMIT: (u32, u32) = (100, 1_000);

/// Maximum number of events of the log that one answer examines.
const SCAN: usize = 10_000;

/// Maximum wait, in milliseconds.
const MAX_WAIT_MS: u64 = 30_000;

/// Returns the next events of the feed, waiting for the first one if requested.
///
/// # Errors
/// `bus.cursor-expired`, `bus.cursor-ahead`, a refusal (another agent's mail) or a failure of the store.
pub async fn read_inbox_events(
    store: &Store,
    call: &Call,
    request: ReadInboxEventsRequest,
) -> Result<ReadInboxEventsReply, Error> {
    let owner = request.agent.clone().unwrap_or_else(|| call.caller.name.clone());
    if owner.folded() != call.caller.name.folded() && !call.caller.is_person() {
        return refuse(Failure::new("bus.not-yours", format!("only {owner} or a person reads the mail of {owner}")));
    }
    if !roster::is_known(store, &owner)? {
        return refuse(addressee::absent(store, call, &owner)?);
    }
    let mut from = request.cursor.as_deref().map_or_else(|| Ok(store.head().lsn), |cursor| place(store, cursor))?;
    let limit = request.limit.unwrap_or(LIMIT.0).clamp(1, LIMIT.1) as usize;
    let deadline = tokio::time::Instant::now() + Duration::from_millis(request.wait_ms.min(MAX_WAIT_MS));
    let mut mail = store.subscribe([announce::received_by(&owner), announce::sent_by(&owner)]);
    loop {
        let head = store.head().lsn;
        let (events, reached) = scan(store, &owner, from, limit)?;
        let more = reached < head;
        if !events.is_empty() || more || tokio::time::Instant::now() >= deadline {
            return Ok(ReadInboxEventsReply { events, cursor: cursor(store, reached)?, more });
        }
        from = reached;
        mail.mark_seen(head);
        // The loop checks the deadline; if the store closes, the next read fails.
        let _ = tokio::time::timeout_at(deadline, mail.changed()).await;
    }
}

/// Returns the events after a position that concern an agent, and the last position examined.
fn scan(store: &Store, owner: &AgentName, from: Lsn, limit: usize) -> Result<(Vec<InboxEvent>, Lsn), Error> {
    let (mut found, mut reached) = (Vec::new(), from);
    for event in store.events(from, &Filter::all(), SCAN)? {
        reached = event.lsn;
        found.extend(entry(store, owner, &event)?);
        if found.len() == limit {
            break;
        }
    }
    Ok((found, reached))
}

fn entry(store: &Store, owner: &AgentName, event: &Event) -> Result<Option<InboxEvent>, Error> {
    if !event.kind.starts_with("message_") && event.kind != "request_replied" {
        return Ok(None);
    }
    let Some((what, id)) = event.fact::<MessageEvent>().and_then(kind_and_id) else { return Ok(None) };
    let Some(row) = store.get(MESSAGES, &[id.as_str().into()])? else { return Ok(None) };
    let (sender, recipient) = (name(&row, "sender")?, name(&row, "recipient_name")?);
    if ![sender.folded(), recipient.folded()].contains(&owner.folded()) {
        return Ok(None);
    }
    let topic = row.get_text("topic").unwrap_or_default().to_owned();
    let (seq, ts, state) = (event.lsn, event.ts, delivery(&row));
    Ok(Some(InboxEvent { seq, ts, what: what.to_owned(), id, sender, recipient, topic, state }))
}

fn kind_and_id(fact: MessageEvent) -> Option<(&'static str, MessageId)> {
    Some(match fact {
        MessageEvent::MessageSent { id, .. } => ("sent", id),
        MessageEvent::MessageOffered { id, .. } => ("offered", id),
        MessageEvent::MessageInjected { id, .. } => ("injected", id),
        MessageEvent::MessageLeased { id, .. } => ("leased", id),
        MessageEvent::MessageReturned { id, .. } => ("returned", id),
        MessageEvent::MessageAcked { id, .. } => ("acked", id),
        MessageEvent::MessageDone { id, .. } => ("done", id),
        MessageEvent::MessageEnded { id, state: QueueState::Dead, .. } => ("dead", id),
        MessageEvent::MessageEnded { id, state: QueueState::Expired, .. } => ("expired", id),
        MessageEvent::MessageEnded { id, .. } | MessageEvent::MessageDropped { id } => ("cancelled", id),
        MessageEvent::MessageRevived { id, .. } => ("revived", id),
        MessageEvent::RequestReplied { id, .. } => ("replied", id),
        MessageEvent::MessageDetailed { .. } | MessageEvent::MessageExtended { .. } => return None,
    })
}
