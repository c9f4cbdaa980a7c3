//! Addresses of managed runs: `worker:UNIT` means whoever works on a unit, and `coordinator` is the daemon itself.

use serde_json::Value;
use switchboard_protocol::caller::CallerKind;
use switchboard_protocol::coordination::{COORDINATOR, Control, WORKER_PREFIX};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{Digest, MessageId};
use switchboard_protocol::message::DeliveryState;
use switchboard_protocol::verb::bus::{SendMessageReply, SendMessageRequest};
use switchboard_store::Idempotency;

use super::Verbs;
use super::context::Context;

/// Arguments that may hold an address.
const NAMING: [&str; 2] = ["recipient", "agent"];

/// Stands for all workers of a run.
const ALL: &str = "*";

// === impl Verbs ===

impl Verbs {
    /// Puts names of the roster in the place of workers' addresses, so that policy and handlers see names only.
    pub(super) async fn resolve_addresses(&self, args: &mut Value) -> Result<(), Failure> {
        for field in NAMING {
            let Some(Value::String(name)) = args.get_mut(field) else { continue };
            if name.starts_with(WORKER_PREFIX) {
                if self.all_of(name).is_some() {
                    let failure = Failure::new("request.bad-args", format!("{field}: {name} means several workers"));
                    return Err(failure.hint("send_team_message takes it among its `recipients`"));
                }
                *name = self.dispatch.address(name).await?;
            }
        }
        let Some(Value::Array(recipients)) = args.get_mut("recipients") else { return Ok(()) };
        let mut names = Vec::with_capacity(recipients.len());
        for recipient in recipients.iter() {
            match recipient.as_str().filter(|name| name.starts_with(WORKER_PREFIX)) {
                None => names.push(recipient.clone()),
                Some(address) => match self.all_of(address) {
                    Some(run) => names.extend(self.dispatch.workers(run)?.into_iter().map(Value::String)),
                    None => names.push(Value::String(self.dispatch.address(address).await?)),
                },
            }
        }
        *recipients = names;
        Ok(())
    }

    /// The run whose workers an address means all of: `worker:*`, `worker:RUN/*`.
    fn all_of<'a>(&self, address: &'a str) -> Option<Option<&'a str>> {
        let unit = address.strip_prefix(WORKER_PREFIX)?;
        match unit.rsplit_once('/') {
            Some((run, ALL)) => Some(Some(run)),
            None if unit == ALL => Some(None),
            Some(_) | None => None,
        }
    }

    /// Takes a message to the coordinator: it is understood and acted on when this returns, or refused.
    pub(super) async fn coordinate(
        &self,
        call: &Context,
        request: &SendMessageRequest,
        fresh: MessageId,
    ) -> Result<SendMessageReply, Failure> {
        let control = Control::parse(&request.payload)?;
        if !matches!(call.caller.kind, CallerKind::Worker { .. }) {
            // It does what a person does with these verbs; who may not, may not here.
            let verb = match control {
                Control::CompleteTask { .. } => "stop_run",
                Control::BlockSlice { .. } => "pause_run",
            };
            let decision = self.decide_verb(&call.caller, verb, &Value::Null)?;
            if let Some(refused) = decision.refused(verb) {
                return Err(refused);
            }
        }
        let id = request.id.clone().unwrap_or(fresh);
        let own_key = request.id.as_ref().map(|id| Idempotency {
            key: format!("message/{id}"),
            caller: call.caller.name.folded(),
            verb: "send_message",
            args: Digest::of(request.payload.as_bytes()),
        });
        let key = own_key.or_else(|| call.idempotency.clone());
        self.dispatch.control(&control, &id, &call.caller, key).await?;
        let seq = switchboard_bus::message(&self.store, &id)?.map_or(0, |message| message.seq);
        Ok(SendMessageReply {
            id,
            recipient: request.recipient.clone(),
            state: DeliveryState::Done,
            seq,
            duplicate: false,
            superseded: Vec::new(),
        })
    }
}

/// Whether a message is for the coordinator.
pub(super) fn is_for_coordinator(request: &SendMessageRequest) -> bool {
    request.recipient.folded() == COORDINATOR
}
