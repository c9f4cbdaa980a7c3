//! Retention of message texts after the message has ended. The chain keeps that it was sent, to which recipient, and
//! its hash.

use switchboard_protocol::event::{Event, Lsn};
use switchboard_protocol::message::{MessageEvent, QueueState, Terms};
use switchboard_store::{Retention, Store};

use crate::mail::MESSAGES;

/// An hour in milliseconds.
const HOUR: i64 = 60 * 60 * 1000;

/// Rules of retention for mail, one per kind of end. None covers a message that has not ended.
pub const RETENTION: &[Retention] = &[
    // Acknowledged: a day (the protocol's default).
    Retention { cursor: "retention/acked", kinds: &["message_acked"], keep_for: 24 * HOUR, bodies_of: texts },
    // Messages that are never delivered count as acknowledged when they are sent.
    Retention { cursor: "retention/taken", kinds: &["message_sent"], keep_for: 24 * HOUR, bodies_of: of_taken },
    Retention { cursor: "retention/ended", kinds: &["message_ended"], keep_for: 24 * HOUR, bodies_of: of_ended },
    // Dead: a week, the time that a dead letter waits for a person.
    Retention { cursor: "retention/dead", kinds: &["message_ended"], keep_for: 7 * 24 * HOUR, bodies_of: of_dead },
];

fn of_taken(_: &Store, event: &Event) -> Result<Vec<Lsn>, switchboard_store::Error> {
    let is_taken = matches!(event.fact(), Some(MessageEvent::MessageSent { terms: Terms { taken: true, .. }, .. }));
    Ok(if is_taken { vec![event.lsn] } else { Vec::new() })
}

fn of_ended(store: &Store, event: &Event) -> Result<Vec<Lsn>, switchboard_store::Error> {
    if is_dead(event) { Ok(Vec::new()) } else { texts(store, event) }
}

fn of_dead(store: &Store, event: &Event) -> Result<Vec<Lsn>, switchboard_store::Error> {
    if is_dead(event) { texts(store, event) } else { Ok(Vec::new()) }
}

fn is_dead(event: &Event) -> bool {
    matches!(event.fact(), Some(MessageEvent::MessageEnded { state: QueueState::Dead, .. }))
}

/// Returns the events with the payload and the details of a message that has ended, unless it was put back since.
fn texts(store: &Store, event: &Event) -> Result<Vec<Lsn>, switchboard_store::Error> {
    let id = match event.fact() {
        Some(MessageEvent::MessageAcked { id, .. } | MessageEvent::MessageEnded { id, .. }) => id,
        _ => return Ok(Vec::new()),
    };
    let Some(row) = store.get(MESSAGES, &[id.as_str().into()])?.filter(|row| !row.get_bool("open")) else {
        return Ok(Vec::new());
    };
    let details = row.get_int("details").and_then(|lsn| Lsn::try_from(lsn).ok());
    Ok(std::iter::once(row.try_u64("seq")?).chain(details).collect())
}
