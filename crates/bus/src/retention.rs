//! How long the text of a message is kept once nobody waits for it: the chain keeps that it was sent, to whom, and its hash.

use protocol::event::{Event, Lsn};
use protocol::message::MessageEvent;
use store::{Retention, Store};

use crate::mail::MESSAGES;

/// An hour in milliseconds.
const HOUR: i64 = 60 * 60 * 1000;

/// The rules of retention for mail, one a kind of end. A message that has not come to an end is in none of them.
pub const RETENTION: &[Retention] = &[
    // Acknowledged: a day (the protocol's default).
    Retention { cursor: "retention/acked", kinds: &["message_acked"], keep_for: 24 * HOUR, settles },
];

/// The event that carries the payload of the message which has come to an end.
fn settles(store: &Store, event: &Event) -> Result<Vec<Lsn>, store::Error> {
    let Some(MessageEvent::MessageAcked { id, .. }) = event.fact() else { return Ok(Vec::new()) };
    let row = store.get(MESSAGES, &[id.as_str().into()])?;
    row.map(|row| row.try_u64("seq")).transpose().map(Vec::from_iter)
}
