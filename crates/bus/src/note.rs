//! Messages of the coordinator: events that are committed together with what they report.

use switchboard_protocol::coordination::{Control, Note, UnitMessage};
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::{AgentName, MessageId};
use switchboard_protocol::message::{Action, MessageEvent, MessageKind, Terms};
use switchboard_protocol::time::Millis;

use switchboard_store::Guard;

use crate::Error;
use crate::outgoing::unused;

/// Time to live of a message in the inbox of a worker that does not acknowledge it: an hour, in milliseconds.
const TTL_MS: i64 = 3_600_000;

/// Returns the event that sends a message of the coordinator. `id` is derived from the reported event, so that it is
/// never reported twice. A worker is shown its message with its first prompt, so an hour after `now` the message takes
/// no room any more.
///
/// # Errors
/// When it does not serialise.
pub fn note(note: &Note, id: MessageId, now: Millis) -> Result<NewEvent, Error> {
    let message_kind = match &note.what {
        UnitMessage::UnitStarted { .. }
        | UnitMessage::UnitCompleted { .. }
        | UnitMessage::Error { .. }
        | UnitMessage::Cost { .. } => MessageKind::Event,
        UnitMessage::Debate { .. } => MessageKind::Debate,
        UnitMessage::Chain { .. } => MessageKind::Chain,
    };
    let broadcast = note.broadcast.as_deref().and_then(|name| MessageId::new(name).ok());
    let expires_at = (!note.is_taken).then(|| now.plus(TTL_MS));
    let terms = Terms { message_kind, broadcast, expires_at, taken: note.is_taken, ..Terms::default() };
    event((&note.from, &note.to), id, serde_json::to_string(&note.what)?, (terms, true), "daemon")
}

/// Returns the event that records a message that the coordinator has understood, and the guard that its id is new. It
/// is never delivered: the daemon handles it.
///
/// # Errors
/// When it does not serialise.
pub fn understood(
    control: &Control,
    id: &MessageId,
    from: &AgentName,
    is_verified: bool,
) -> Result<(NewEvent, Guard), Error> {
    let terms = Terms { message_kind: MessageKind::Control, taken: true, ..Terms::default() };
    let body = serde_json::to_string(control)?;
    let event = event((from, &AgentName::coordinator()), id.clone(), body, (terms, is_verified), from.as_str())?;
    Ok((event, unused(id)))
}

fn event(
    (from, to): (&AgentName, &AgentName),
    id: MessageId,
    body: String,
    (terms, verified): (Terms, bool),
    actor: &str,
) -> Result<NewEvent, Error> {
    let fact = MessageEvent::MessageSent {
        id,
        action: Action::StatusUpdate,
        sender: from.clone(),
        verified,
        recipient: to.clone(),
        reply_to: None,
        bytes: body.len() as u64,
        terms,
    };
    Ok(NewEvent::of(&fact, format!("inbox/{}", to.folded()), actor)?.with_body(body))
}
