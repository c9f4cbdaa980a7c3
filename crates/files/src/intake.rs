//! Reads one file and classifies it: completeness, owner, signature, permission.
//! [`Gathered`](crate::gathered::Gathered) takes the accepted ones.

use crate::gathered::{Answered, Content};
use crate::{Folder, Held, Known, MessageFile, Origin, Receipt, ResultFile, Status, Taking};
use serde_json::{Value, json};
use switchboard_bus::auth::Proof;
use switchboard_protocol::caller::Caller;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, Digest, MessageId, NeedId};

use crate::archive::{At, archive};
use crate::host::{Ruling, Sender};
use crate::service::Service;
use crate::{Error, receipts};

/// Maximum number of agents that join by files alone; more must be registered.
const MAX_JOINED: usize = 256;

/// Reason for which a file was not taken now.
pub(super) enum NotTaken {
    /// It does not parse; it may still be incomplete.
    Whole(Box<Failure>),
    /// A failure on our side.
    Error(Box<Error>),
}

impl<T: Into<Error>> From<T> for NotTaken {
    fn from(trouble: T) -> Self {
        Self::Error(Box::new(trouble.into()))
    }
}

/// Result of checking signature, time and policy of a new file.
pub(super) enum Verdict {
    Take(Option<Proof>),
    Hold,
}

/// Reads a message file; `None` for a copy of one of our own, which is archived.
pub(super) fn message<'a>(
    service: &Service,
    root: &Folder,
    at: At<'a>,
    bytes: &[u8],
    origin: Origin<'_>,
) -> Result<Option<Content>, NotTaken> {
    let owner = if let Origin::Send(name) = origin { Some(name.to_owned()) } else { None };
    let file = match MessageFile::parse(bytes, origin) {
        Ok(file) => file,
        Err(failure) if failure.code == "file.malformed" => return Err(NotTaken::Whole(Box::new(failure))),
        Err(failure) => return Ok(Some(Content::Refused { owner, failure })),
    };
    if is_copy(service, &file)? {
        archive(root, at, service.now())?;
        return Ok(None);
    }
    Ok(Some(Content::Message(file)))
}

/// Returns true if we wrote a file and its reader has renamed it.
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

/// Returns true for failures that are not the file's.
pub(super) fn is_ours(failure: &Failure) -> bool {
    ["store.", "internal.", "io.", "daemon."].iter().any(|area| failure.code.starts_with(area))
}

/// Checks the signature first, then the time, then the policy.
pub(super) fn judge(service: &Service, file: &MessageFile) -> Result<Verdict, Failure> {
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

/// Records that a file waits for a person.
pub(super) async fn hold(service: &Service, file: &MessageFile, from: &str, bytes: &[u8]) -> Result<(), Failure> {
    // A person is not asked about a recipient that does not exist.
    if switchboard_bus::agent(&service.store, &known_as(service, &file.recipient)?)?.is_none() {
        return Err(Failure::new("bus.unknown-recipient", format!("no agent is called {}", file.recipient)));
    }
    let text = String::from_utf8_lossy(bytes);
    let taking = Taking { file, from, proof: None };
    crate::hold(&service.store, taking, &text, NeedId::of_held_message(&file.id)).await?;
    Ok(())
}

/// Sends a message that a person has approved. The policy is asked again: only its requirement of an approval is met by
/// now.
pub(super) fn send_held(service: &Service, root: &Folder, held: &Held) -> Result<(), Error> {
    let sent = MessageFile::parse(held.text.as_bytes(), Origin::Inbox(held.recipient.as_str()))
        .and_then(|file| send_approved(service, &file, &held.from));
    match sent {
        Ok(()) => {
            let receipt = Receipt::delivered(held.id.as_str(), held.recipient.as_str(), service.now());
            receipts::leave(root, &held.sender, &[receipt])
        }
        Err(failure) if is_ours(&failure) => Err(failure.into()),
        Err(failure) => {
            let store = &service.store;
            service.runtime.block_on(crate::settle_held(store, held, "refused", "daemon", None))?;
            receipts::leave(root, &held.sender, &[Receipt::refused(held.id.as_str(), &failure, service.now())])
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
        // Taken before a crash; the guard on the message's id prevents a second message.
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
        receipts::leave(root, &held.sender, &[Receipt::refused(id.as_str(), &denied(id), service.now())])?;
    }
    Ok(())
}

pub(super) fn denied(id: &MessageId) -> Failure {
    Failure::new("file.denied", format!("no person said yes to {id}"))
}

/// Reads a result: the answered message is done, and its sender is notified.
pub(super) fn result(service: &Service, bytes: &[u8], agent: &str) -> Result<Content, NotTaken> {
    let refused = |failure| Content::Refused { owner: Some(agent.to_owned()), failure };
    let result = match ResultFile::parse(bytes) {
        Ok(result) => result,
        Err(failure) if failure.code == "file.malformed" => return Err(NotTaken::Whole(Box::new(failure))),
        Err(failure) => return Ok(refused(failure)),
    };
    match answered(service, &result, bytes, agent) {
        Ok(answered) => Ok(Content::Result(answered)),
        Err(failure) if is_ours(&failure) => Err(Error::Refused(failure).into()),
        Err(failure) => Ok(refused(failure)),
    }
}

fn answered(service: &Service, result: &ResultFile, bytes: &[u8], agent: &str) -> Result<Answered, Failure> {
    let unknown = || Failure::new("bus.unknown-message", format!("there is no message {}", result.in_reply_to));
    let message = switchboard_bus::message(&service.store, &result.in_reply_to)?.ok_or_else(unknown)?;
    let name = AgentName::new(agent).map_err(|error| Failure::new("file.malformed", error.to_string()))?;
    if crate::canonical(name.as_str()) != crate::canonical(message.recipient.as_str()) {
        return Err(Failure::new("bus.not-yours", format!("{} is addressed to {}", message.id, message.recipient)));
    }
    let text = String::from_utf8_lossy(bytes);
    let id = Digest::of_parts(&[name.folded().as_bytes(), bytes]).hex();
    let reply = json!({
        "id": format!("msg_result_{}", &id[..16]), "action": "submit_result", "sender": message.recipient,
        "recipient": message.sender, "payload": text, "replyTo": message.id,
    });
    let reply = serde_json::to_vec(&reply).map_err(|error| Failure::new("internal.bug", error.to_string()))?;
    let has_left = switchboard_bus::agent(&service.store, &message.sender)?.is_none();
    Ok(Answered {
        reply: if has_left { None } else { Some(MessageFile::parse(&reply, Origin::Inbox(message.sender.as_str()))?) },
        message: message.id,
        recipient: message.recipient,
        agent: agent.to_owned(),
        is_done: result.status != Status::NeedsClarification,
    })
}

/// Adds an agent to the roster that is known only by its folder.
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

pub(super) fn sender(name: &AgentName, is_verified: bool) -> Sender<'_> {
    Sender { name, is_verified }
}

pub(super) fn args(service: &Service, file: &MessageFile) -> Result<Value, Failure> {
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

/// Returns the name on the roster of an agent whose folder may be spelt differently.
fn known_as(service: &Service, name: &AgentName) -> Result<AgentName, Failure> {
    if switchboard_bus::agent(&service.store, name)?.is_some() {
        return Ok(name.clone());
    }
    let wanted = crate::canonical(name.as_str());
    let roster = switchboard_bus::roster(&service.store)?;
    let found = roster.into_iter().find(|agent| crate::canonical(agent.name.as_str()) == wanted);
    Ok(found.map_or_else(|| name.clone(), |agent| agent.name))
}
