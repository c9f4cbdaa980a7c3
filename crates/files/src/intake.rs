//! Takes one file: who signs, what the policy says, once into the record, then as the verb that every face calls.

use crate::{Folder, Held, Known, MessageFile, Origin, Receipt, ResultFile, Status, Taking};
use serde_json::{Value, json};
use switchboard_bus::auth::Proof;
use switchboard_protocol::caller::Caller;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, Digest, MessageId, NeedId};

use crate::Error;
use crate::archive::{At, archive, leave_receipt, set_aside};
use crate::host::{Ruling, Sender};
use crate::service::Service;

/// Agents that join by files alone; more must be registered.
const MAX_JOINED: usize = 256;

/// Why a file was not taken now.
pub(super) enum Not {
    /// It does not parse; it may still be being written.
    Whole(Box<Failure>),
    /// Something of ours fails.
    Error(Box<Error>),
}

impl<T: Into<Error>> From<T> for Not {
    fn from(trouble: T) -> Self {
        Self::Error(Box::new(trouble.into()))
    }
}

/// What a file is found to be.
enum Verdict {
    Take(Option<Proof>),
    Hold,
}

/// Takes a message file.
pub(super) fn message(
    service: &Service,
    root: &Folder,
    at: At<'_>,
    bytes: &[u8],
    origin: Origin<'_>,
) -> Result<(), Not> {
    let file = match MessageFile::parse(bytes, origin) {
        Ok(file) => file,
        Err(failure) if failure.code == "file.malformed" => return Err(Not::Whole(Box::new(failure))),
        Err(failure) => {
            let owner = if let Origin::Send(name) = origin { Some(name) } else { None };
            return Ok(refuse(service, root, at, owner, &failure)?);
        }
    };
    if is_copy(service, &file)? {
        return Ok(archive(root, at, service.now())?);
    }
    let from = at.text();
    let receipt = match admit(service, &file, &from, bytes) {
        Ok(receipt) => receipt,
        Err(failure) if is_ours(&failure) => return Err(Error::Refused(failure).into()),
        Err(failure) => return Ok(refuse_message(service, root, at, &file, &failure)?),
    };
    leave_receipt(root, &file.sender, &receipt)?;
    Ok(archive(root, at, service.now())?)
}

/// Whether a file is one that we wrote and its reader has renamed.
fn is_copy(service: &Service, file: &MessageFile) -> Result<bool, Error> {
    let store = &service.store;
    if !crate::was_written(store, &file.id)? || crate::known(store, file)? == Known::Sent {
        return Ok(false);
    }
    let same = |message: switchboard_protocol::message::Message| {
        (message.action, &message.sender, &message.payload) == (file.action, &file.sender, &file.payload)
    };
    Ok(switchboard_bus::message(store, &file.id)?.is_some_and(same))
}

/// Failures that are not the file's.
fn is_ours(failure: &Failure) -> bool {
    ["store.", "internal.", "io.", "daemon."].iter().any(|area| failure.code.starts_with(area))
}

/// Takes a message in, or holds it for a person; returns the receipt.
fn admit(service: &Service, file: &MessageFile, from: &str, bytes: &[u8]) -> Result<Receipt, Failure> {
    let store = &service.store;
    let delivered = || Receipt::delivered(file.id.as_str(), file.recipient.as_str(), service.now());
    let is_signed = match crate::known(store, file)? {
        Known::Taken { is_signed } => is_signed,
        Known::Sent => return Ok(delivered()),
        Known::Held => return Ok(Receipt::held(file.id.as_str(), service.now())),
        Known::Denied => return Err(denied(&file.id)),
        Known::Other => {
            return Err(Failure::new("request.conflict", format!("the id {} was used for another message", file.id)));
        }
        Known::New => match judge(service, file)? {
            Verdict::Hold => {
                hold(service, file, from, bytes)?;
                return Ok(Receipt::held(file.id.as_str(), service.now()));
            }
            Verdict::Take(proof) => {
                let taking = Taking { file, from, proof: proof.as_ref() };
                service.runtime.block_on(crate::take(store, taking))?;
                proof.is_some()
            }
        },
    };
    join(service, &file.sender)?;
    service.runtime.block_on(service.host.invoke(
        sender(&file.sender, is_signed),
        "send_message",
        args(service, file)?,
    ))?;
    Ok(delivered())
}

/// The signature first, then the time, then the policy.
fn judge(service: &Service, file: &MessageFile) -> Result<Verdict, Failure> {
    let proof = match &file.auth {
        None => None,
        Some(envelope) => Some(switchboard_bus::auth::verify(&file.fields, envelope, &service.keys()?, service.now())?),
    };
    if file.expires_at().is_some_and(|at| at <= service.now()) {
        return Err(Failure::new("file.expired", "the message's time was over when it was found"));
    }
    match service.host.rule(sender(&file.sender, proof.is_some()), &args(service, file)?)? {
        Ruling::Allowed => Ok(Verdict::Take(proof)),
        Ruling::NeedsPerson => Ok(Verdict::Hold),
        Ruling::Refused(failure) => Err(failure),
    }
}

fn hold(service: &Service, file: &MessageFile, from: &str, bytes: &[u8]) -> Result<(), Failure> {
    // No question to a person about a recipient that does not exist.
    if switchboard_bus::agent(&service.store, &known_as(service, &file.recipient)?)?.is_none() {
        return Err(Failure::new("bus.unknown-recipient", format!("no agent is called {}", file.recipient)));
    }
    let text = String::from_utf8_lossy(bytes);
    let taking = Taking { file, from, proof: None };
    service.runtime.block_on(crate::hold(&service.store, taking, &text, NeedId::of_held_message(&file.id)))?;
    Ok(())
}

/// Sends a message that a person has approved. The policy is asked again: only its wish for a person is met by now.
pub(super) fn send_held(service: &Service, root: &Folder, held: &Held) -> Result<(), Error> {
    let sent = MessageFile::parse(held.text.as_bytes(), Origin::Inbox(held.recipient.as_str()))
        .and_then(|file| send_approved(service, &file, &held.from));
    match sent {
        Ok(()) => {
            let receipt = Receipt::delivered(held.id.as_str(), held.recipient.as_str(), service.now());
            leave_receipt(root, &held.sender, &receipt)
        }
        Err(failure) if is_ours(&failure) => Err(failure.into()),
        Err(failure) => {
            let store = &service.store;
            service.runtime.block_on(crate::settle_held(store, held, "refused", "daemon", None))?;
            leave_receipt(root, &held.sender, &Receipt::refused(held.id.as_str(), &failure, service.now()))
        }
    }
}

fn send_approved(service: &Service, file: &MessageFile, from: &str) -> Result<(), Failure> {
    let store = &service.store;
    match service.host.rule(sender(&file.sender, false), &args(service, file)?)? {
        Ruling::Allowed | Ruling::NeedsPerson => {}
        Ruling::Refused(failure) => return Err(failure),
    }
    match service.runtime.block_on(crate::take(store, Taking { file, from, proof: None })).map_err(Failure::from) {
        Ok(()) => {}
        // Taken before a crash; the guard of the message's id keeps it from being sent twice.
        Err(failure) if failure.code == "request.conflict" => {}
        Err(failure) => return Err(failure),
    }
    join(service, &file.sender)?;
    let call = switchboard_bus::Call {
        caller: Caller { is_verified: false, ..Caller::agent(file.sender.clone()) },
        root: Some(service.host.root().to_owned()),
        limits: service.host.limits(),
        ..switchboard_bus::Call::of(file.sender.clone())
    };
    let request = serde_json::from_value(args(service, file)?)
        .map_err(|error| Failure::new("internal.bug", error.to_string()))?;
    service.runtime.block_on(switchboard_bus::send_message(store, &call, request, file.id.clone()))?;
    Ok(())
}

/// Writes the sender a receipt for a held message that was not sent.
pub(super) fn tell_settled(service: &Service, root: &Folder, id: &MessageId) -> Result<(), Error> {
    let Some(held) = crate::held_message(&service.store, id)? else { return Ok(()) };
    if held.outcome == "denied" || held.outcome == "expired" {
        leave_receipt(root, &held.sender, &Receipt::refused(id.as_str(), &denied(id), service.now()))?;
    }
    Ok(())
}

fn denied(id: &MessageId) -> Failure {
    Failure::new("file.denied", format!("no person said yes to {id}"))
}

/// Takes a result: the message that it answers is done with, and its sender is told.
pub(super) fn result(service: &Service, root: &Folder, at: At<'_>, bytes: &[u8], agent: &str) -> Result<(), Not> {
    let result = match ResultFile::parse(bytes) {
        Ok(result) => result,
        Err(failure) if failure.code == "file.malformed" => return Err(Not::Whole(Box::new(failure))),
        Err(failure) => return Ok(refuse(service, root, at, Some(agent), &failure)?),
    };
    match answer(service, &result, bytes, agent, &at.text()) {
        Ok(()) => Ok(archive(root, at, service.now())?),
        Err(failure) if is_ours(&failure) => Err(Error::Refused(failure).into()),
        Err(failure) => Ok(refuse(service, root, at, Some(agent), &failure)?),
    }
}

fn answer(service: &Service, result: &ResultFile, bytes: &[u8], agent: &str, from: &str) -> Result<(), Failure> {
    let unknown = || Failure::new("bus.unknown-message", format!("there is no message {}", result.in_reply_to));
    let message = switchboard_bus::message(&service.store, &result.in_reply_to)?.ok_or_else(unknown)?;
    let agent = AgentName::new(agent).map_err(|error| Failure::new("file.malformed", error.to_string()))?;
    if crate::canonical(agent.as_str()) != crate::canonical(message.recipient.as_str()) {
        return Err(Failure::new("bus.not-yours", format!("{} is addressed to {}", message.id, message.recipient)));
    }
    let text = String::from_utf8_lossy(bytes);
    let id = Digest::of_parts(&[agent.folded().as_bytes(), bytes]).hex();
    let reply = json!({
        "id": format!("msg_result_{}", &id[..16]), "action": "submit_result", "sender": message.recipient,
        "recipient": message.sender, "payload": text, "replyTo": message.id,
    });
    let reply = serde_json::to_vec(&reply).map_err(|error| Failure::new("internal.bug", error.to_string()))?;
    if switchboard_bus::agent(&service.store, &message.sender)?.is_some() {
        let file = MessageFile::parse(&reply, Origin::Inbox(message.sender.as_str()))?;
        admit(service, &file, from, &reply)?;
    }
    if result.status == Status::NeedsClarification {
        return Ok(());
    }
    let args = json!({ "id": message.id });
    let acked = service.host.invoke(sender(&message.recipient, false), "ack_message", args);
    match service.runtime.block_on(acked) {
        Err(failure) if failure.code != "bus.already-acked" => Err(failure),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Puts an agent on the roster that is known by its folder only.
pub(super) fn join(service: &Service, name: &AgentName) -> Result<(), Failure> {
    let roster = switchboard_bus::roster(&service.store)?;
    let wanted = crate::canonical(name.as_str());
    if roster.iter().any(|agent| crate::canonical(agent.name.as_str()) == wanted) {
        return Ok(());
    }
    let by_files = roster.iter().filter(|agent| agent.capabilities.iter().any(|word| word == "files")).count();
    if by_files >= MAX_JOINED {
        return Err(Failure::new("request.too-large", format!("{MAX_JOINED} agents have joined by files already")));
    }
    let args = json!({ "name": name, "kind": "chat", "capabilities": ["files"] });
    let call = service.host.invoke(sender(name, false), "register_agent", args);
    service.runtime.block_on(call).map(drop)
}

/// Sets a file aside; its owner, where the folder says one, is told.
pub(super) fn refuse(
    service: &Service,
    root: &Folder,
    at: At<'_>,
    owner: Option<&str>,
    failure: &Failure,
) -> Result<(), Error> {
    service.runtime.block_on(crate::refuse(&service.store, &at.text(), None, failure))?;
    if let Some(owner) = owner.and_then(|owner| AgentName::new(owner).ok()) {
        let name = at.name.trim_end_matches(".json");
        leave_receipt(root, &owner, &Receipt::refused(name, failure, service.now()))?;
    }
    set_aside(root, at, failure, service.now())
}

fn refuse_message(
    service: &Service,
    root: &Folder,
    at: At<'_>,
    file: &MessageFile,
    failure: &Failure,
) -> Result<(), Error> {
    service.runtime.block_on(crate::refuse(&service.store, &at.text(), Some(&file.id), failure))?;
    leave_receipt(root, &file.sender, &Receipt::refused(file.id.as_str(), failure, service.now()))?;
    set_aside(root, at, failure, service.now())
}

fn sender(name: &AgentName, is_verified: bool) -> Sender<'_> {
    Sender { name, is_verified }
}

fn args(service: &Service, file: &MessageFile) -> Result<Value, Failure> {
    let recipient = known_as(service, &file.recipient)?;
    let mut args = json!({
        "id": file.id, "recipient": recipient, "payload": file.payload, "action": file.action,
    });
    if let Some(reply_to) = &file.reply_to {
        args["reply_to"] = json!(reply_to);
    }
    let mut metadata = file.fields.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    if file.action.is_dispatch() {
        // A file waits in its folder anyway; the pause between two dispatches is for callers who can wait.
        metadata.entry("no_cooldown").or_insert(Value::Bool(true));
    }
    if !metadata.is_empty() {
        args["metadata"] = Value::Object(metadata);
    }
    if let Some(persona) = file.fields.get("persona").and_then(Value::as_str) {
        args["persona"] = json!(persona);
    }
    Ok(args)
}

/// The name under which the roster has an agent whose folder may be spelt otherwise.
fn known_as(service: &Service, name: &AgentName) -> Result<AgentName, Failure> {
    if switchboard_bus::agent(&service.store, name)?.is_some() {
        return Ok(name.clone());
    }
    let wanted = crate::canonical(name.as_str());
    let roster = switchboard_bus::roster(&service.store)?;
    let found = roster.into_iter().find(|agent| crate::canonical(agent.name.as_str()) == wanted);
    Ok(found.map_or_else(|| name.clone(), |agent| agent.name))
}
