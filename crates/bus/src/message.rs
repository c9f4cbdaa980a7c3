//! Converts rows of the projection to messages, and to items of their queue.

use std::collections::BTreeMap;

use serde::Deserialize;
use switchboard_pipeline::delivery::{DEFAULT_ATTEMPTS, Item, Lease};
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::Lsn;
use switchboard_protocol::id::{AgentName, MessageId};
use switchboard_protocol::message::{Action, DeliveryState, Message, MessageKind, Priority, QueueState};
use switchboard_protocol::time::Millis;
use switchboard_store::{Row, Store};

use crate::Error;
use crate::error::refuse;
use crate::mail::MESSAGES;

/// Length of a preview, in characters.
pub(crate) const PREVIEW_CHARS: usize = 200;

/// Metadata and persona, as in the body of `message_detailed`.
#[derive(Debug, Default, serde::Serialize, Deserialize)]
pub(crate) struct Details {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) persona: String,
}

/// Returns the row of a message.
///
/// # Errors
/// `bus.unknown-message`, or a failure of the store.
pub(crate) fn row(store: &Store, id: &MessageId) -> Result<Row, Error> {
    match store.get(MESSAGES, &[id.as_str().into()])? {
        Some(row) => Ok(row),
        None => refuse(Failure::new("bus.unknown-message", format!("there is no message {id}"))),
    }
}

/// Returns the messages with their texts, which are read at once.
pub(crate) fn of_rows<'a>(
    store: &Store,
    rows: impl IntoIterator<Item = &'a Row> + Clone,
) -> Result<Vec<Message>, Error> {
    let mut lsns = Vec::new();
    for row in rows.clone() {
        lsns.push(row.try_u64("seq")?);
        lsns.extend(details(row));
    }
    let mut texts = store.bodies(&lsns)?;
    rows.into_iter().map(|row| of_texts(row, &mut texts)).collect()
}

/// Returns the message with its text.
pub(crate) fn of_row(store: &Store, row: &Row) -> Result<Message, Error> {
    let mut texts =
        store.bodies(&[Some(row.try_u64("seq")?), details(row)].into_iter().flatten().collect::<Vec<_>>())?;
    of_texts(row, &mut texts)
}

/// Returns the position of its metadata, if it has any.
fn details(row: &Row) -> Option<Lsn> {
    row.get_int("details").and_then(|lsn| u64::try_from(lsn).ok())
}

fn of_texts(row: &Row, texts: &mut BTreeMap<Lsn, String>) -> Result<Message, Error> {
    let seq = row.try_u64("seq")?;
    // Messages of one request may share their details.
    let details = details(row).and_then(|lsn| texts.get(&lsn));
    let details: Details = details.map(|body| serde_json::from_str(body)).transpose()?.unwrap_or_default();
    let queue: QueueState = word(row, "state")?;
    let is_held = queue == QueueState::Leased;
    let kind: MessageKind = word(row, "kind")?;
    Ok(Message {
        id: id(row, "id")?,
        action: word::<Action>(row, "action")?,
        kind,
        priority: priority(row),
        topic: owned(row, "topic"),
        sender: name(row, "sender")?,
        sender_verified: row.get_bool("verified"),
        recipient: name(row, "recipient_name")?,
        payload: texts.remove(&seq).unwrap_or_default(),
        is_preview: false,
        reply_to: row.get_text("reply_to").map(|_| id(row, "reply_to")).transpose()?,
        is_late: row.get_bool("late"),
        team: owned(row, "team"),
        metadata: details.metadata,
        persona: details.persona,
        state: delivery(row),
        queue,
        attempt: small(row, "attempt"),
        lease_token: None,
        lease_until: millis(row, "until").filter(|_| is_held),
        expires_at: millis(row, "expires_at"),
        cause: owned(row, "cause"),
        created_at: Millis(row.try_int("created_at")?),
        seq,
        number: row.try_u64("number")?,
    })
}

/// Returns the data that its queue needs.
pub(crate) fn item(row: &Row) -> Result<Item, Error> {
    let lease = row.get_int("token").and_then(|token| u64::try_from(token).ok()).zip(millis(row, "until"));
    let given = small(row, "max_attempts");
    Ok(Item {
        state: word(row, "state")?,
        lane: u8::try_from(row.get_int("lane").unwrap_or(2)).unwrap_or(2),
        seq: row.try_u64("seq")?,
        order_key: owned(row, "order_key"),
        attempt: small(row, "attempt"),
        max_attempts: if given == 0 { DEFAULT_ATTEMPTS } else { given },
        not_before: millis(row, "not_before"),
        lease: lease.map(|(token, until)| Lease { token, until }),
        expires_at: millis(row, "expires_at"),
    })
}

/// Returns its delivery state.
pub(crate) fn delivery(row: &Row) -> DeliveryState {
    let states = [
        ("done", DeliveryState::Done),
        ("acked", DeliveryState::Acked),
        ("injected", DeliveryState::Injected),
        ("offered", DeliveryState::Offered),
    ];
    let reached = states.into_iter().find(|(column, _)| row.get_bool(column));
    reached.map_or(DeliveryState::Accepted, |(_, state)| state)
}

/// Shortens the payload to a preview.
pub(crate) fn preview(message: &mut Message) {
    let Some((end, _)) = message.payload.char_indices().nth(PREVIEW_CHARS) else { return };
    let whole = message.payload.chars().count();
    message.payload.truncate(end);
    message.payload.push_str(&format!("… [{whole} characters]"));
    message.metadata = None;
    message.is_preview = true;
}

pub(crate) fn name(row: &Row, column: &'static str) -> Result<AgentName, Error> {
    let text = row.try_text(column)?;
    AgentName::new(text).map_err(|_| Error::BadRow { what: column, text: text.to_owned() })
}

pub(crate) fn id(row: &Row, column: &'static str) -> Result<MessageId, Error> {
    let text = row.try_text(column)?;
    MessageId::new(text).map_err(|_| Error::BadRow { what: column, text: text.to_owned() })
}

pub(crate) fn millis(row: &Row, column: &'static str) -> Option<Millis> {
    row.get_int(column).map(Millis)
}

pub(crate) fn bytes(row: &Row) -> u64 {
    row.get_int("bytes").and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0)
}

fn word<T: serde::de::DeserializeOwned>(row: &Row, column: &'static str) -> Result<T, Error> {
    let text = row.try_text(column)?;
    serde_json::from_value(text.into()).map_err(|_| Error::BadRow { what: column, text: text.to_owned() })
}

fn owned(row: &Row, column: &'static str) -> String {
    row.get_text(column).unwrap_or_default().to_owned()
}

fn small(row: &Row, column: &'static str) -> u32 {
    row.get_int(column).and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
}

fn priority(row: &Row) -> Priority {
    match row.get_int("lane") {
        Some(1) => Priority::High,
        Some(3) => Priority::Low,
        _ => Priority::Normal,
    }
}
