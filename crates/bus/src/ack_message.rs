//! `ack_message`: the recipient says that it has it.

use protocol::error::Failure;
use protocol::event::NewEvent;
use protocol::message::{DeliveryState, MessageEvent};
use protocol::verb::bus::{AckMessageReply, AckMessageRequest};
use store::{Batch, Durability, Guard, Store};

use crate::check_inbox::of_row;
use crate::error::refuse;
use crate::mail::MESSAGES;
use crate::{Asker, Error};

/// Marks a message as acknowledged; a second time is answered like the first.
///
/// # Errors
/// A refusal (no such message, somebody else's) or the store's failure.
pub async fn ack_message(store: &Store, asker: &Asker, request: AckMessageRequest) -> Result<AckMessageReply, Error> {
    let key = vec![request.id.as_str().into()];
    let Some(row) = store.get(MESSAGES, &key)? else {
        return refuse(Failure::new("bus.unknown-message", format!("there is no message {}", request.id)));
    };
    let message = of_row(store, &row)?;
    if message.recipient.folded() != asker.name.folded() && !asker.is_person {
        return refuse(Failure::new("bus.not-yours", format!("{} is addressed to {}", message.id, message.recipient)));
    }
    if message.state == DeliveryState::Acked {
        return Ok(AckMessageReply { state: DeliveryState::Acked });
    }
    let fact = MessageEvent::MessageAcked { id: message.id.clone(), recipient: message.recipient };
    let event = NewEvent::of(&fact, format!("message/{}", message.id), asker.name.as_str())?;
    let refusal = Failure::new("bus.already-acked", format!("{} was acknowledged before", message.id));
    let guard = Guard::Below { table: MESSAGES, key, column: "acked", limit: 1, refusal };
    let batch = Batch::new(Durability::Synced).event(event).guard(guard);
    store.commit(Batch { idempotency: asker.idempotency.clone(), ..batch }).await?;
    Ok(AckMessageReply { state: DeliveryState::Acked })
}
