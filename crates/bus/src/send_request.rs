//! `send_request`: sends a question and waits for the answer. The question is an ordinary durable message: a later
//! answer is kept and marked late.

use std::time::Duration;

use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, MessageId};
use switchboard_protocol::message::MessageKind;
use switchboard_protocol::verb::bus::{SendMessageRequest, SendOptions};
use switchboard_protocol::verb::queue::{SendRequestReply, SendRequestRequest};
use switchboard_store::{Interest, Row, Store};

use crate::agents::AGENTS;
use crate::check_inbox::injections;
use crate::error::refuse;
use crate::mail::MESSAGES;
use crate::message::{id, name, of_row, row};
use crate::{Call, Error, send_message};

/// Default and maximum wait for an answer, in milliseconds.
const WAIT_MS: (u64, u64) = (60_000, 600_000);

/// Sends a request and waits for its answer.
///
/// # Errors
/// Those of [`send_message`]; `bus.timed-out`; `bus.no-responder` if the recipient leaves, or the request ends without
/// an answer.
pub async fn send_request(
    store: &Store,
    call: &Call,
    request: SendRequestRequest,
    fresh: MessageId,
) -> Result<SendRequestReply, Error> {
    let wait = request.timeout_ms.unwrap_or(WAIT_MS.0).min(WAIT_MS.1);
    let deadline = tokio::time::Instant::now() + Duration::from_millis(wait);
    let options = SendOptions { kind: MessageKind::Request, ttl_ms: Some(wait), ..SendOptions::default() };
    let question = SendMessageRequest {
        action: request.action,
        topic: request.topic,
        id: Some(request.id.unwrap_or(fresh)),
        options: Some(options),
        ..SendMessageRequest::new(request.recipient, request.payload)
    };
    let sent = send_message(store, call, question, MessageId::from_bits(0)).await?;
    let mut changes = store.subscribe([
        Interest::rows(MESSAGES, "id", sent.id.as_str()),
        Interest::rows(AGENTS, "id", sent.recipient.folded()),
    ]);
    loop {
        let head = store.head().lsn;
        let asked = row(store, &sent.id)?;
        if asked.get_text("replied").is_some() {
            return answered(store, call, &asked).await;
        }
        if let Some(failure) = nobody(store, &asked)? {
            return refuse(failure);
        }
        let now = tokio::time::Instant::now();
        if now >= deadline {
            let what = format!("{} did not answer {} within {} s", sent.recipient, sent.id, wait.div_ceil(1000));
            let hint = format!(
                "the request stays in its inbox until it expires; a late answer is kept: send_request with id={} waits again",
                sent.id
            );
            return refuse(Failure::new("bus.timed-out", what).hint(hint));
        }
        changes.mark_seen(head);
        // The loop checks the deadline; if the store closes, the next read fails.
        let _ = tokio::time::timeout_at(deadline, changes.changed()).await;
    }
}

async fn answered(store: &Store, call: &Call, asked: &Row) -> Result<SendRequestReply, Error> {
    let reply = of_row(store, &row(store, &id(asked, "replied")?)?)?;
    if reply.state < switchboard_protocol::message::DeliveryState::Injected {
        let seen =
            injections(std::slice::from_ref(&reply.id), &reply.recipient, "send_request", call.caller.name.as_str())?;
        store.commit(switchboard_store::Batch { events: seen, ..switchboard_store::Batch::written() }).await?;
    }
    Ok(SendRequestReply { id: id(asked, "id")?, reply })
}

/// Returns why no answer can come any more.
fn nobody(store: &Store, asked: &Row) -> Result<Option<Failure>, Error> {
    let recipient: AgentName = name(asked, "recipient_name")?;
    let agent = store.get(AGENTS, &[recipient.folded().into()])?;
    if agent.is_none_or(|agent| agent.get_bool("gone")) {
        return Ok(Some(Failure::new("bus.no-responder", format!("{recipient} has left without an answer"))));
    }
    let state = asked.get_text("state").unwrap_or_default();
    if ["dead", "cancelled"].contains(&state) {
        let why = asked.get_text("cause").unwrap_or_default();
        return Ok(Some(Failure::new("bus.no-responder", format!("the request is {state}: {why}"))));
    }
    Ok(None)
}
