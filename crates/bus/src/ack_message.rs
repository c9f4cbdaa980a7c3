//! `ack_message`, `nak_message`, `extend_message`: calls of a receiver on a delivery. `cancel_message` is for the
//! sender, `revive_message` for a person.

use switchboard_pipeline::delivery::{Ack, DEFAULT_LEASE_MS, Turn};
use switchboard_protocol::error::Failure;
use switchboard_protocol::message::{DeliveryState, MessageEvent, QueueState};
use switchboard_protocol::verb::bus::{AckMessageReply, AckMessageRequest};
use switchboard_protocol::verb::queue::{
    CancelMessageRequest, ExtendMessageRequest, NakMessageRequest, QueueReply, ReviveMessageRequest,
};
use switchboard_store::Store;

use crate::error::refuse;
use crate::queue::{Entry, change};
use crate::{Call, Error};

/// Marks a message as acknowledged, and as done if requested; a second call gets the same answer as the first.
///
/// # Errors
/// A refusal (an unknown message, another agent's, another delivery's, one that has ended) or a failure of the store.
pub async fn ack_message(store: &Store, call: &Call, request: AckMessageRequest) -> Result<AckMessageReply, Error> {
    change(store, call, &request.id, |entry, now| {
        receives(call, entry)?;
        let acked = entry.item.ack(request.lease_token, now).map_err(Error::Refused)?;
        let (id, recipient) = (entry.id.clone(), entry.recipient.clone());
        let mut events = Vec::new();
        if acked == Ack::Now {
            let (id, recipient) = (id.clone(), recipient.clone());
            let fact = MessageEvent::MessageAcked { id, recipient, bytes: entry.bytes };
            events.push(entry.event(&fact, call.caller.name.as_str())?);
        }
        if request.done && !entry.is_done {
            events.push(entry.event(&MessageEvent::MessageDone { id, recipient }, call.caller.name.as_str())?);
        }
        let is_done = request.done || entry.is_done;
        let state = if is_done { DeliveryState::Done } else { DeliveryState::Acked };
        Ok((events, AckMessageReply { state }))
    })
    .await
}

/// Returns a delivery to its queue.
///
/// # Errors
/// As [`ack_message`].
pub async fn nak_message(store: &Store, call: &Call, request: NakMessageRequest) -> Result<QueueReply, Error> {
    change(store, call, &request.id, |entry, now| {
        receives(call, entry)?;
        let delay = i64::try_from(request.delay_ms).unwrap_or(i64::MAX);
        let turn = entry.item.nak(request.lease_token, delay, now).map_err(Error::Refused)?;
        let (queue, at) = match &turn {
            Turn::Returned(at) => (QueueState::Ready, Some(*at)),
            Turn::Dead(_) => (QueueState::Dead, None),
            Turn::Expired => (QueueState::Expired, None),
        };
        let event = entry.turned(turn, &request.why, call.caller.name.as_str())?;
        Ok((vec![event], QueueReply { id: entry.id.clone(), queue, at }))
    })
    .await
}

/// Extends the hold on a delivery.
///
/// # Errors
/// As [`ack_message`].
pub async fn extend_message(store: &Store, call: &Call, request: ExtendMessageRequest) -> Result<QueueReply, Error> {
    change(store, call, &request.id, |entry, now| {
        receives(call, entry)?;
        let span = request.lease_ms.map_or(DEFAULT_LEASE_MS, |ms| i64::try_from(ms).unwrap_or(i64::MAX));
        let until = entry.item.extend(request.lease_token, span, now).map_err(Error::Refused)?;
        let event =
            entry.event(&MessageEvent::MessageExtended { id: entry.id.clone(), until }, call.caller.name.as_str())?;
        Ok((vec![event], QueueReply { id: entry.id.clone(), queue: QueueState::Leased, at: Some(until) }))
    })
    .await
}

/// Cancels a message that is not acknowledged yet.
///
/// # Errors
/// A refusal (an unknown message, another agent's, one that has ended) or a failure of the store.
pub async fn cancel_message(store: &Store, call: &Call, request: CancelMessageRequest) -> Result<QueueReply, Error> {
    change(store, call, &request.id, |entry, _| {
        if entry.sender.folded() != call.caller.name.folded() && !call.caller.is_person() {
            return refuse(Failure::new("bus.not-yours", format!("{} was sent by {}", entry.id, entry.sender)));
        }
        let reply = QueueReply { id: entry.id.clone(), queue: QueueState::Cancelled, at: None };
        match entry.item.state {
            QueueState::Cancelled => return Ok((Vec::new(), reply)),
            QueueState::Ready | QueueState::Leased => {}
            QueueState::Acked | QueueState::Dead | QueueState::Expired => {
                let what = format!("the message is {}, and so it stays", entry.item.state.as_str());
                return refuse(Failure::new("bus.settled", what));
            }
        }
        let cause = if request.why.is_empty() { "its sender took it back" } else { &request.why };
        let event = entry.event(&entry.ended(QueueState::Cancelled, cause), call.caller.name.as_str())?;
        Ok((vec![event], reply))
    })
    .await
}

/// Puts a dead letter back into its queue; only a person may do so.
///
/// # Errors
/// A refusal (an unknown message, a caller that is not a person, a message that is not a dead letter) or a failure of
/// the store.
pub async fn revive_message(store: &Store, call: &Call, request: ReviveMessageRequest) -> Result<QueueReply, Error> {
    if !call.caller.is_person() {
        return refuse(Failure::new("policy.denied", "only a person puts a dead letter back"));
    }
    change(store, call, &request.id, |entry, _| {
        if entry.item.state != QueueState::Dead {
            let what = format!("the message is {}, not dead", entry.item.state.as_str());
            return refuse(Failure::new("bus.settled", what));
        }
        let (id, recipient) = (entry.id.clone(), entry.recipient.clone());
        let fact = MessageEvent::MessageRevived { id, recipient, bytes: entry.bytes };
        let reply = QueueReply { id: entry.id.clone(), queue: QueueState::Ready, at: None };
        Ok((vec![entry.event(&fact, call.caller.name.as_str())?], reply))
    })
    .await
}

fn receives(call: &Call, entry: &Entry) -> Result<(), Error> {
    if entry.recipient.folded() == call.caller.name.folded() || call.caller.is_person() {
        return Ok(());
    }
    refuse(Failure::new("bus.not-yours", format!("{} is addressed to {}", entry.id, entry.recipient)))
}
