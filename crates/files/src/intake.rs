//! Takes one file: who signs, what the policy says, once into the record, then as the verb that every face calls.

use serde_json::{Value, json};
use switchboard_bus::auth::Proof;
use switchboard_bus::files::{Folder, Held, Known, MessageFile, Origin, Receipt, ResultFile, Status, Taking};
use switchboard_policy::Obligation;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, Digest, MessageId, NeedId};

use super::archive::{At, archive, leave_receipt, set_aside};
use super::{Desk, Trouble};
use crate::face::{self, Caller, CallerKind, Invoke as _};

/// Agents that join by files alone; more must be registered.
const MAX_JOINED: usize = 256;

/// Why a file was not taken now.
pub(super) enum Not {
    /// It does not parse; it may still be being written.
    Whole(Box<Failure>),
    /// Something of ours fails.
    Trouble(Box<Trouble>),
}

impl<T: Into<Trouble>> From<T> for Not {
    fn from(trouble: T) -> Self {
        Self::Trouble(Box::new(trouble.into()))
    }
}

/// What a file is found to be.
enum Verdict {
    Take(Option<Proof>),
    Hold,
}

/// Takes a message file.
pub(super) fn message(desk: &Desk, root: &Folder, at: At<'_>, bytes: &[u8], origin: Origin<'_>) -> Result<(), Not> {
    let file = match MessageFile::parse(bytes, origin) {
        Ok(file) => file,
        Err(failure) if failure.code == "file.malformed" => return Err(Not::Whole(Box::new(failure))),
        Err(failure) => {
            let owner = if let Origin::Send(name) = origin { Some(name) } else { None };
            return Ok(refuse(desk, root, at, owner, &failure)?);
        }
    };
    if is_copy(desk, &file)? {
        return Ok(archive(root, at, desk.now())?);
    }
    let from = at.text();
    let receipt = match admit(desk, &file, &from, bytes) {
        Ok(receipt) => receipt,
        Err(failure) if is_ours(&failure) => return Err(Trouble::Refused(failure).into()),
        Err(failure) => return Ok(refuse_message(desk, root, at, &file, &failure)?),
    };
    leave_receipt(root, &file.sender, &receipt)?;
    Ok(archive(root, at, desk.now())?)
}

/// Whether a file is one that we wrote, under another name: its reader puts it aside in its own way.
fn is_copy(desk: &Desk, file: &MessageFile) -> Result<bool, Trouble> {
    let store = &desk.verbs.store;
    if !switchboard_bus::files::was_written(store, &file.id)?
        || switchboard_bus::files::known(store, file)? == Known::Sent
    {
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

/// Brings a message in, or before a person; gives the receipt.
fn admit(desk: &Desk, file: &MessageFile, from: &str, bytes: &[u8]) -> Result<Receipt, Failure> {
    let store = &desk.verbs.store;
    let delivered = || Receipt::delivered(file.id.as_str(), file.recipient.as_str(), desk.now());
    let is_signed = match switchboard_bus::files::known(store, file)? {
        Known::Taken { is_signed } => is_signed,
        Known::Sent => return Ok(delivered()),
        Known::Held => return Ok(Receipt::held(file.id.as_str(), desk.now())),
        Known::Denied => return Err(denied(&file.id)),
        Known::Other => {
            return Err(Failure::new("request.conflict", format!("the id {} was used for another message", file.id)));
        }
        Known::New => match judge(desk, file)? {
            Verdict::Hold => {
                hold(desk, file, from, bytes)?;
                return Ok(Receipt::held(file.id.as_str(), desk.now()));
            }
            Verdict::Take(proof) => {
                let taking = Taking { file, from, proof: proof.as_ref() };
                desk.runtime.block_on(switchboard_bus::files::take(store, taking))?;
                proof.is_some()
            }
        },
    };
    join(desk, &file.sender)?;
    let caller = caller(&file.sender, is_signed);
    desk.runtime.block_on(desk.verbs.invoke(caller, "send_message".to_owned(), args(desk, file)?, None))?;
    Ok(delivered())
}

/// The signature first, then the time, then the policy.
fn judge(desk: &Desk, file: &MessageFile) -> Result<Verdict, Failure> {
    let proof = match &file.auth {
        None => None,
        Some(envelope) => Some(switchboard_bus::auth::verify(&file.fields, envelope, &desk.keys()?, desk.now())?),
    };
    if file.expires_at().is_some_and(|at| at <= desk.now()) {
        return Err(Failure::new("file.expired", "the message's time was over when it was found"));
    }
    let decision = desk.verbs.decide(&caller(&file.sender, proof.is_some()), "send_message", &args(desk, file)?)?;
    match decision.refused("send_message") {
        None => Ok(Verdict::Take(proof)),
        Some(_) if decision.obligations.contains(&Obligation::RequireApproval) => Ok(Verdict::Hold),
        Some(failure) => Err(failure),
    }
}

fn hold(desk: &Desk, file: &MessageFile, from: &str, bytes: &[u8]) -> Result<(), Failure> {
    // A question about somebody who isn't there would be a person's time lost.
    if switchboard_bus::agent(&desk.verbs.store, &known_as(desk, &file.recipient)?)?.is_none() {
        return Err(Failure::new("bus.unknown-recipient", format!("no agent is called {}", file.recipient)));
    }
    let text = String::from_utf8_lossy(bytes);
    let bits = getrandom::u64().map_err(|error| Failure::new("internal.bug", error.to_string()))?;
    let taking = Taking { file, from, proof: None };
    desk.runtime.block_on(switchboard_bus::files::hold(&desk.verbs.store, taking, &text, NeedId::from_bits(bits)))?;
    Ok(())
}

/// Sends a message that a person has approved. The policy is asked again: only its wish for a person is met by now.
pub(super) fn send_held(desk: &Desk, root: &Folder, held: &Held) -> Result<(), Trouble> {
    let sent = MessageFile::parse(held.text.as_bytes(), Origin::Inbox(held.recipient.as_str()))
        .and_then(|file| send_approved(desk, &file, &held.from));
    match sent {
        Ok(()) => {
            let receipt = Receipt::delivered(held.id.as_str(), held.recipient.as_str(), desk.now());
            leave_receipt(root, &held.sender, &receipt)
        }
        Err(failure) if is_ours(&failure) => Err(failure.into()),
        Err(failure) => {
            let store = &desk.verbs.store;
            desk.runtime.block_on(switchboard_bus::files::settle_held(store, held, "refused", "daemon", None))?;
            leave_receipt(root, &held.sender, &Receipt::refused(held.id.as_str(), &failure, desk.now()))
        }
    }
}

fn send_approved(desk: &Desk, file: &MessageFile, from: &str) -> Result<(), Failure> {
    let store = &desk.verbs.store;
    let caller = caller(&file.sender, false);
    let decision = desk.verbs.decide(&caller, "send_message", &args(desk, file)?)?;
    if let Some(failure) = decision.refused("send_message")
        && !decision.obligations.contains(&Obligation::RequireApproval)
    {
        return Err(failure);
    }
    match desk
        .runtime
        .block_on(switchboard_bus::files::take(store, Taking { file, from, proof: None }))
        .map_err(Failure::from)
    {
        Ok(()) => {}
        // Taken before a crash; the guard of the message's id keeps it from being sent twice.
        Err(failure) if failure.code == "request.conflict" => {}
        Err(failure) => return Err(failure),
    }
    join(desk, &file.sender)?;
    let asker = switchboard_bus::Asker {
        is_verified: false,
        root: Some(desk.verbs.place.root.clone()),
        limits: desk.verbs.limits,
        ..switchboard_bus::Asker::named(caller.name)
    };
    let request =
        serde_json::from_value(args(desk, file)?).map_err(|error| Failure::new("internal.bug", error.to_string()))?;
    desk.runtime.block_on(switchboard_bus::send_message(store, &asker, request, file.id.clone()))?;
    Ok(())
}

/// Tells the sender what became of a held message that was not sent.
pub(super) fn tell_settled(desk: &Desk, root: &Folder, id: &MessageId) -> Result<(), Trouble> {
    let Some(held) = switchboard_bus::files::held_message(&desk.verbs.store, id)? else { return Ok(()) };
    if held.outcome == "denied" || held.outcome == "expired" {
        leave_receipt(root, &held.sender, &Receipt::refused(id.as_str(), &denied(id), desk.now()))?;
    }
    Ok(())
}

fn denied(id: &MessageId) -> Failure {
    Failure::new("file.denied", format!("no person said yes to {id}"))
}

/// Takes a result: the message that it answers is done with, and its sender is told.
pub(super) fn result(desk: &Desk, root: &Folder, at: At<'_>, bytes: &[u8], agent: &str) -> Result<(), Not> {
    let result = match ResultFile::parse(bytes) {
        Ok(result) => result,
        Err(failure) if failure.code == "file.malformed" => return Err(Not::Whole(Box::new(failure))),
        Err(failure) => return Ok(refuse(desk, root, at, Some(agent), &failure)?),
    };
    match answer(desk, &result, bytes, agent, &at.text()) {
        Ok(()) => Ok(archive(root, at, desk.now())?),
        Err(failure) if is_ours(&failure) => Err(Trouble::Refused(failure).into()),
        Err(failure) => Ok(refuse(desk, root, at, Some(agent), &failure)?),
    }
}

fn answer(desk: &Desk, result: &ResultFile, bytes: &[u8], agent: &str, from: &str) -> Result<(), Failure> {
    let unknown = || Failure::new("bus.unknown-message", format!("there is no message {}", result.in_reply_to));
    let message = switchboard_bus::message(&desk.verbs.store, &result.in_reply_to)?.ok_or_else(unknown)?;
    let agent = AgentName::new(agent).map_err(|error| Failure::new("file.malformed", error.to_string()))?;
    if switchboard_bus::files::canonical(agent.as_str())
        != switchboard_bus::files::canonical(message.recipient.as_str())
    {
        return Err(Failure::new("bus.not-yours", format!("{} is addressed to {}", message.id, message.recipient)));
    }
    let text = String::from_utf8_lossy(bytes);
    let id = Digest::of_parts(&[agent.folded().as_bytes(), bytes]).hex();
    let reply = json!({
        "id": format!("msg_result_{}", &id[..16]), "action": "submit_result", "sender": message.recipient,
        "recipient": message.sender, "payload": text, "replyTo": message.id,
    });
    let reply = serde_json::to_vec(&reply).map_err(|error| Failure::new("internal.bug", error.to_string()))?;
    if switchboard_bus::agent(&desk.verbs.store, &message.sender)?.is_some() {
        let file = MessageFile::parse(&reply, Origin::Inbox(message.sender.as_str()))?;
        admit(desk, &file, from, &reply)?;
    }
    if result.status == Status::NeedsClarification {
        return Ok(());
    }
    let args = json!({ "id": message.id });
    let caller = caller(&message.recipient, false);
    match desk.runtime.block_on(desk.verbs.invoke(caller, "ack_message".to_owned(), args, None)) {
        Err(failure) if failure.code != "bus.already-acked" => Err(failure),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Puts an agent that only files tell of on the roster.
pub(super) fn join(desk: &Desk, name: &AgentName) -> Result<(), Failure> {
    let roster = switchboard_bus::roster(&desk.verbs.store)?;
    let wanted = switchboard_bus::files::canonical(name.as_str());
    if roster.iter().any(|agent| switchboard_bus::files::canonical(agent.name.as_str()) == wanted) {
        return Ok(());
    }
    let by_files = roster.iter().filter(|agent| agent.capabilities.iter().any(|word| word == "files")).count();
    if by_files >= MAX_JOINED {
        return Err(Failure::new("request.too-large", format!("{MAX_JOINED} agents have joined by files already")));
    }
    let args = json!({ "name": name, "kind": "chat", "capabilities": ["files"] });
    let call = desk.verbs.invoke(caller(name, false), "register_agent".to_owned(), args, None);
    desk.runtime.block_on(call).map(drop)
}

/// Sets a file aside; its owner, where the folder says one, is told.
pub(super) fn refuse(
    desk: &Desk,
    root: &Folder,
    at: At<'_>,
    owner: Option<&str>,
    failure: &Failure,
) -> Result<(), Trouble> {
    desk.runtime.block_on(switchboard_bus::files::refuse(&desk.verbs.store, &at.text(), None, failure))?;
    if let Some(owner) = owner.and_then(|owner| AgentName::new(owner).ok()) {
        let name = at.name.trim_end_matches(".json");
        leave_receipt(root, &owner, &Receipt::refused(name, failure, desk.now()))?;
    }
    set_aside(root, at, failure, desk.now())
}

fn refuse_message(
    desk: &Desk,
    root: &Folder,
    at: At<'_>,
    file: &MessageFile,
    failure: &Failure,
) -> Result<(), Trouble> {
    desk.runtime.block_on(switchboard_bus::files::refuse(&desk.verbs.store, &at.text(), Some(&file.id), failure))?;
    leave_receipt(root, &file.sender, &Receipt::refused(file.id.as_str(), failure, desk.now()))?;
    set_aside(root, at, failure, desk.now())
}

fn caller(name: &AgentName, is_verified: bool) -> Caller {
    Caller { name: name.clone(), is_verified, kind: CallerKind::Agent, face: face::FILES }
}

fn args(desk: &Desk, file: &MessageFile) -> Result<Value, Failure> {
    let recipient = known_as(desk, &file.recipient)?;
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
fn known_as(desk: &Desk, name: &AgentName) -> Result<AgentName, Failure> {
    if switchboard_bus::agent(&desk.verbs.store, name)?.is_some() {
        return Ok(name.clone());
    }
    let wanted = switchboard_bus::files::canonical(name.as_str());
    let roster = switchboard_bus::roster(&desk.verbs.store)?;
    let found = roster.into_iter().find(|agent| switchboard_bus::files::canonical(agent.name.as_str()) == wanted);
    Ok(found.map_or_else(|| name.clone(), |agent| agent.name))
}
