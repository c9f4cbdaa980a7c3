//! `receive_messages`: takes deliveries, which are held until they are acknowledged.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use switchboard_pipeline::delivery::{DEFAULT_LEASE_MS, MAX_LEASE_MS, choose};
use switchboard_protocol::id::MessageId;
use switchboard_protocol::message::{Message, MessageEvent, QueueState};
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::queue::{ReceiveMessagesReply, ReceiveMessagesRequest};
use switchboard_store::{Batch, Committed, Durability, Query, Row, Store};

use crate::announce::received_by;
use crate::mail::MESSAGES;
use crate::message::{item, of_row};
use crate::queue::{Entry, is_race, raced, sweep};
use crate::{Call, Error, addressee, repeated};

/// Maximum number of messages in one answer.
const MAX: u32 = 100;

/// Number of rows of a queue examined at once; the maximum in all is below. An inbox whose first 10,000 messages are
/// all held back returns none.
const PAGE: u64 = 200;
const PAGES: u64 = 50;

/// Maximum wait, in milliseconds.
const MAX_WAIT_MS: u64 = 30_000;

/// Stored result of a call, by its idempotency key. The tokens are the numbers of the events, from the commit's first.
#[derive(Debug, Serialize, Deserialize)]
struct Taken {
    ids: Vec<MessageId>,
    until: Millis,
}

/// Takes the caller's oldest deliverable messages and holds them, waiting for a first one if requested. A call repeated
/// under its idempotency key gets the messages that it took the first time, if they are still held by that call.
///
/// # Errors
/// `bus.not-registered` if the caller is not registered, `bus.stale-epoch`, or a failure of the store.
pub async fn receive_messages(
    store: &Store,
    call: &Call,
    request: ReceiveMessagesRequest,
) -> Result<ReceiveMessagesReply, Error> {
    addressee::owner(store, &call.caller.name, request.epoch)?;
    let span = request.lease_ms.map_or(DEFAULT_LEASE_MS, |ms| i64::try_from(ms).unwrap_or(MAX_LEASE_MS));
    let max = request.max.unwrap_or(1).clamp(1, MAX) as usize;
    let deadline = tokio::time::Instant::now() + Duration::from_millis(request.wait_ms.min(MAX_WAIT_MS));
    let mut mail = store.subscribe([received_by(&call.caller.name)]);
    loop {
        let head = store.head().lsn;
        let swept = sweep(store).await?;
        let messages = take(store, call, max, span.clamp(1, MAX_LEASE_MS)).await?;
        if !messages.is_empty() {
            return Ok(ReceiveMessagesReply { messages });
        }
        if let Some(before) = taken_before(store, call).await? {
            return Ok(ReceiveMessagesReply { messages: still_held(store, &before)? });
        }
        if tokio::time::Instant::now() >= deadline {
            return Ok(ReceiveMessagesReply { messages });
        }
        let until = wake(store, call, deadline, swept.next)?;
        mail.mark_seen(head);
        // The loop checks the deadline; if the store closes, the next read fails.
        let _ = tokio::time::timeout_at(until, mail.changed()).await;
    }
}

/// Returns when to check again without a commit: when the clock acts on a message, or when a delayed or returned one
/// becomes deliverable.
fn wake(
    store: &Store,
    call: &Call,
    deadline: tokio::time::Instant,
    due: Option<Millis>,
) -> Result<tokio::time::Instant, Error> {
    let now = store.now();
    let later = queue(call).gt("not_before", now.0).asc("not_before").limit(1);
    let later = store.read(&later)?.first().and_then(|row| row.get_int("not_before"));
    let next = due.map(|at| at.0).into_iter().chain(later).min();
    let wait = next.map_or(MAX_WAIT_MS, |at| u64::try_from(at - now.0).unwrap_or(0).clamp(1, MAX_WAIT_MS));
    Ok(deadline.min(tokio::time::Instant::now() + Duration::from_millis(wait)))
}

fn queue(call: &Call) -> Query {
    Query::table(MESSAGES).eq("recipient", call.caller.name.folded()).eq("open", 1_i64)
}

async fn take(store: &Store, call: &Call, max: usize, span: i64) -> Result<Vec<Message>, Error> {
    loop {
        let now = store.now();
        let rows = deliverable(store, call, now, max)?;
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let until = Millis(now.0.saturating_add(span));
        // Synced, because a token lost in a power cut could be given out twice.
        let mut batch = Batch { idempotency: call.idempotency.clone(), ..Batch::new(Durability::Synced) };
        let mut ids = Vec::new();
        for row in &rows {
            let entry = Entry::of(row)?;
            ids.push(entry.id.clone());
            let (id, recipient) = (entry.id.clone(), entry.recipient.clone());
            let fact = MessageEvent::MessageLeased { id, recipient, attempt: entry.item.attempt + 1, until };
            batch.guards.extend(entry.unchanged());
            batch = batch.event(entry.event(&fact, call.caller.name.as_str())?);
        }
        batch.reply = serde_json::to_value(Taken { ids, until })?;
        let first = match store.commit(batch).await {
            Ok(committed) if committed.repeated => return still_held(store, &committed),
            Ok(committed) => committed.first,
            Err(error) if is_race(&error) => continue,
            Err(error) => return Err(error.into()),
        };
        return rows.iter().zip(first..).map(|(row, token)| delivered(store, row, token, until)).collect();
    }
}

/// Returns the commit of an earlier call under the same key.
async fn taken_before(store: &Store, call: &Call) -> Result<Option<Committed>, Error> {
    match repeated::or_refuse(store, call.idempotency.as_ref(), raced()).await {
        Ok(committed) => Ok(Some(committed)),
        Err(Error::Refused(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the messages of an earlier commit that are still held under its tokens.
fn still_held(store: &Store, committed: &Committed) -> Result<Vec<Message>, Error> {
    let taken: Taken = serde_json::from_value(committed.reply.clone())?;
    let mut messages = Vec::new();
    for (id, token) in taken.ids.iter().zip(committed.first..) {
        let row = crate::message::row(store, id)?;
        if item(&row)?.lease.is_some_and(|lease| lease.token == token) {
            messages.push(held(store, &row, token, taken.until)?);
        }
    }
    Ok(messages)
}

fn delivered(store: &Store, row: &Row, token: u64, until: Millis) -> Result<Message, Error> {
    let mut message = held(store, row, token, until)?;
    message.attempt += 1;
    Ok(message)
}

fn held(store: &Store, row: &Row, token: u64, until: Millis) -> Result<Message, Error> {
    let mut message = of_row(store, row)?;
    message.queue = QueueState::Leased;
    message.state = message.state.max(switchboard_protocol::message::DeliveryState::Injected);
    message.lease_token = Some(token);
    message.lease_until = Some(until);
    Ok(message)
}

/// Returns the rows that may be delivered now, in the order of their lanes.
fn deliverable(store: &Store, call: &Call, now: Millis, max: usize) -> Result<Vec<Row>, Error> {
    let (mut rows, mut items) = (Vec::new(), Vec::new());
    for page in 0..PAGES {
        let more = store.read(&queue(call).asc("lane").asc("seq").limit(PAGE).offset(page * PAGE))?;
        let is_last = (more.len() as u64) < PAGE;
        for row in more {
            items.push(item(&row)?);
            rows.push(row);
        }
        let chosen = choose(&items, now, max);
        if chosen.len() == max || is_last {
            let mut chosen = chosen.into_iter().peekable();
            let keep = rows.into_iter().enumerate().filter(|(place, _)| chosen.next_if_eq(place).is_some());
            return Ok(keep.map(|(_, row)| row).collect());
        }
    }
    Ok(Vec::new())
}
