//! Addresses of managed runs: `worker:UNIT` is the worker of a unit, and `coordinator` is the daemon itself.

use serde_json::Value;
use switchboard_dispatch::Telling;
use switchboard_protocol::caller::CallerKind;
use switchboard_protocol::coordination::{COORDINATOR, Control, WORKER_PREFIX};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, Digest, MessageId};
use switchboard_protocol::message::{DeliveryState, MessageKind};
use switchboard_protocol::verb::bus::{SendMessageReply, SendMessageRequest, SendOptions};
use switchboard_protocol::verb::run::{TellWorker, TellWorkerReply, TellWorkerRequest};
use switchboard_store::Idempotency;

use super::Verbs;
use super::context::Context;
use super::route::Handle;

/// Arguments that may hold an address.
const NAMING: [&str; 2] = ["recipient", "agent"];

/// Wildcard for all workers of a run.
const ALL: &str = "*";

// === impl Verbs ===

impl Verbs {
    /// Replaces workers' addresses with names of the roster, so that policy and handlers see names only.
    pub(super) async fn resolve_addresses(&self, args: &mut Value) -> Result<(), Failure> {
        if args["options"]["kind"] == MessageKind::Control.as_str() {
            return self.address_control(args);
        }
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

    /// Readdresses a control message for a worker to the coordinator, about the worker's unit; one for all workers of a run is about the run.
    fn address_control(&self, args: &mut Value) -> Result<(), Failure> {
        let bad = |what: String| Failure::new("request.bad-args", what);
        if args["recipients"]
            .as_array()
            .is_some_and(|names| names.iter().filter_map(Value::as_str).any(|name| name.starts_with(WORKER_PREFIX)))
        {
            let failure = bad("a control message to workers is one to a unit or a run".to_owned());
            return Err(failure.hint("send_message with recipient worker:RUN/TASK, or worker:RUN/* for all of a run"));
        }
        let Some(unit) = args["recipient"].as_str().and_then(|name| name.strip_prefix(WORKER_PREFIX)) else {
            return Ok(());
        };
        let unit = match unit.rsplit_once('/') {
            Some((run, ALL)) => run,
            None if unit == ALL => {
                return Err(bad(format!("{WORKER_PREFIX}{ALL} means all runs")).hint("name one: worker:RUN/*"));
            }
            Some(_) | None => unit,
        };
        let payload = args["payload"].as_str().unwrap_or_default();
        args["payload"] = Control::addressed(payload, unit)?.into();
        args["recipient"] = COORDINATOR.into();
        Ok(())
    }

    /// Returns the run if an address means all of its workers: `worker:*`, `worker:RUN/*`.
    fn all_of<'a>(&self, address: &'a str) -> Option<Option<&'a str>> {
        let unit = address.strip_prefix(WORKER_PREFIX)?;
        match unit.rsplit_once('/') {
            Some((run, ALL)) => Some(Some(run)),
            None if unit == ALL => Some(None),
            Some(_) | None => None,
        }
    }

    /// Handles a message to the coordinator: it has been parsed and acted on when this returns, or is refused.
    pub(super) async fn coordinate(
        &self,
        call: &Context,
        request: &SendMessageRequest,
        fresh: MessageId,
    ) -> Result<SendMessageReply, Failure> {
        let control = Control::parse(&request.payload)?;
        if !matches!(call.caller.kind, CallerKind::Worker { .. }) {
            // The control does what its verb does, so the caller needs the verb's permission.
            let verb = control.verb();
            let args = control.unit().map_or(Value::Null, |unit| serde_json::json!({ "what": unit }));
            let decision = self.decide_verb(&call.caller, verb, &args)?;
            if let Some(refused) = decision.refused(verb) {
                return Err(refused);
            }
            if let Control::Prompt { unit, text } = control {
                return self.prompt(call, request, unit.as_deref(), text).await;
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
        let stood = self.dispatch.control(&control, &id, &call.caller, key).await?;
        let seq = switchboard_bus::message(&self.store, &id)?.map_or(0, |message| message.seq);
        Ok(SendMessageReply {
            id,
            recipient: request.recipient.clone(),
            state: DeliveryState::Done,
            seq,
            duplicate: false,
            superseded: Vec::new(),
            control: Some(stood),
        })
    }

    /// Sends a worker the text of a prompt control, as the verb does.
    async fn prompt(
        &self,
        call: &Context,
        request: &SendMessageRequest,
        unit: Option<&str>,
        text: String,
    ) -> Result<SendMessageReply, Failure> {
        let unit = unit.ok_or_else(|| Failure::new("request.bad-args", "prompt: `unit` is missing"))?;
        let topic = self.dispatch.unit_named(unit)?;
        let name = self.dispatch.address(&format!("{WORKER_PREFIX}{topic}")).await?;
        let message = SendMessageRequest { topic, payload: text, ..request.clone() };
        self.mail_to_worker(call, message, name).await
    }

    /// Puts a message into the inbox of a worker, with the kind of controls.
    async fn mail_to_worker(
        &self,
        call: &Context,
        message: SendMessageRequest,
        name: String,
    ) -> Result<SendMessageReply, Failure> {
        let recipient = AgentName::new(name)
            .map_err(|error| Failure::new("internal.bug", "the name of a worker does not read").because(&error))?;
        let options = Some(SendOptions { kind: MessageKind::Control, ..message.options.clone().unwrap_or_default() });
        let message = SendMessageRequest { recipient, options, ..message };
        let fresh = call.fresh_bits().map(MessageId::from_bits)?;
        Ok(switchboard_bus::send_message(&self.store, &call.on_bus(self), message, fresh).await?)
    }
}

impl Handle<TellWorker> for Verbs {
    async fn handle(&self, call: &Context, request: TellWorkerRequest) -> Result<TellWorkerReply, Failure> {
        let fresh = call.fresh_bits().map(MessageId::from_bits)?;
        let unit = match self.dispatch.tell_worker(&request, &call.caller, fresh, call.idempotency.clone()).await? {
            Telling::Told(told) => return Ok(*told),
            Telling::Mail { run, task } => (run, task),
        };
        let (run, task) = unit;
        let topic = format!("{run}/{task}");
        let name = self.dispatch.address(&format!("{WORKER_PREFIX}{topic}")).await?;
        let message = SendMessageRequest { topic, ..SendMessageRequest::new(AgentName::coordinator(), request.text) };
        let sent = self.mail_to_worker(call, message, name).await?;
        Ok(TellWorkerReply { run, task: task.to_string(), agent: sent.recipient, id: sent.id })
    }
}

/// Returns true if a message is for the coordinator.
pub(super) fn is_for_coordinator(request: &SendMessageRequest) -> bool {
    request.recipient.folded() == COORDINATOR
}
