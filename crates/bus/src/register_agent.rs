//! `register_agent` and its forms for terminals and chats: join the team, or change the entry.

use serde_json::json;
use switchboard_protocol::agent::{Agent, AgentEvent, AgentKind, Process, Registered};
use switchboard_protocol::coordination::COORDINATOR;
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::{MAX_FACTS_BYTES, NewEvent};
use switchboard_protocol::id::AgentName;
use switchboard_protocol::text::cut;
use switchboard_protocol::verb::agent::{
    RegisterAgentReply, RegisterAgentRequest, RegisterChatAgentRequest, RegisterTerminalRequest,
};
use switchboard_store::Store;

use crate::error::refuse;
use crate::{Call, Error, roster};

/// Longest role, capability or other word in bytes; longer ones are refused rather than cut.
const MAX_WORD_BYTES: usize = 64;
/// Most capabilities of one agent.
const MAX_CAPABILITIES: usize = 8;
/// Names of the system: no agent may have them. `user` is a person's.
const RESERVED: [&str; 4] = ["session", "sidebar", "daemon", COORDINATOR];
/// Name of a person who gave none.
const PERSON: &str = "user";
/// How often a registration that meets another one of the same name is decided again.
const ATTEMPTS: u32 = 8;

/// Puts an agent on the roster; what it leaves out stays as it was.
///
/// # Errors
/// A refusal (a name of the system, a person's or a worker's, a field that is too long) or the store's failure.
pub async fn register_agent(
    store: &Store,
    call: &Call,
    request: RegisterAgentRequest,
) -> Result<RegisterAgentReply, Error> {
    let kind = request.kind;
    let said = Registered {
        role: request.role,
        capabilities: request.capabilities,
        scripted: request.scripted,
        ..Registered::new(request.name, AgentKind::Chat)
    };
    let fill = |said: &mut Registered, before: Option<&roster::Entry>| {
        let is_over = |entry: &&roster::Entry| entry.agent.has_left && entry.agent.kind == AgentKind::Worker;
        let known = before.filter(|entry| !is_over(entry)).map(|entry| entry.agent.kind);
        said.kind = kind.or(known).unwrap_or(AgentKind::Chat);
        // Only a terminal says its process; this form must not take it away.
        said.process = before.filter(|_| said.kind == AgentKind::Terminal).and_then(|entry| entry.process.clone());
        Ok(())
    };
    register(store, call, said, fill).await
}

/// Puts an agent that lives in a terminal on the roster. The caller has made sure that `process` runs and says with
/// `is_alive` whether the process of an earlier registration still does.
///
/// # Errors
/// Those of [`register_agent`]; `bus.name-taken` while another live terminal has the name.
pub async fn register_terminal(
    store: &Store,
    call: &Call,
    request: RegisterTerminalRequest,
    process: Process,
    is_alive: impl Fn(&Process) -> bool,
) -> Result<RegisterAgentReply, Error> {
    let said = Registered {
        role: request.role,
        friendly_name: request.friendly_name,
        purpose: request.purpose,
        color: request.color,
        icon: request.icon,
        process: Some(process),
        ..Registered::new(request.name, AgentKind::Terminal)
    };
    let fill = |said: &mut Registered, before: Option<&roster::Entry>| {
        let other = before.filter(|entry| !entry.agent.has_left).and_then(|entry| entry.process.as_ref());
        match other.filter(|other| said.process.as_ref() != Some(other) && is_alive(other)) {
            None => Ok(()),
            Some(other) => {
                let what = format!("{} is the terminal of process {}, which runs", said.name, other.pid);
                refuse(Failure::new("bus.name-taken", what).hint("take another name"))
            }
        }
    };
    register(store, call, said, fill).await
}

/// Puts an agent that lives in an editor's chat on the roster.
///
/// # Errors
/// Those of [`register_agent`].
pub async fn register_chat_agent(
    store: &Store,
    call: &Call,
    request: RegisterChatAgentRequest,
) -> Result<RegisterAgentReply, Error> {
    let said = Registered {
        role: request.role,
        friendly_name: request.friendly_name,
        interface: request.interface,
        capabilities: request.capabilities,
        color: request.color,
        icon: request.icon,
        ..Registered::new(request.name, AgentKind::Chat)
    };
    let fill = |said: &mut Registered, before: Option<&roster::Entry>| {
        if before.is_none() && said.capabilities.is_none() {
            said.capabilities = Some(vec!["chat".to_owned()]);
        }
        Ok(())
    };
    register(store, call, said, fill).await
}

/// The event that puts an agent on the roster, for those who commit it with events of their own.
///
/// # Errors
/// When the fact does not serialise.
pub fn registration(said: &Registered, actor: &AgentName) -> Result<NewEvent, serde_json::Error> {
    let fact = AgentEvent::AgentRegistered(said.clone());
    NewEvent::of(&fact, subject(&said.name), actor.as_str())
}

/// The event that takes an agent off the roster, for those who saw it end: its leases end with it.
///
/// # Errors
/// When the fact does not serialise.
pub fn departure(name: &AgentName, why: &str, actor: &str) -> Result<NewEvent, serde_json::Error> {
    let fact = AgentEvent::AgentLeft { name: name.clone(), why: why.to_owned() };
    NewEvent::of(&fact, subject(name), actor)
}

pub(crate) fn subject(name: &AgentName) -> String {
    format!("agent/{}", name.folded())
}

/// Decides on the entry as it is, and again when somebody else changed it meanwhile.
async fn register(
    store: &Store,
    call: &Call,
    said: Registered,
    fill: impl Fn(&mut Registered, Option<&roster::Entry>) -> Result<(), Error>,
) -> Result<RegisterAgentReply, Error> {
    check_name(call, &said.name)?;
    let mut attempt = 0;
    loop {
        attempt += 1;
        let mut said = said.clone();
        let rev = store.rev(&subject(&said.name))?;
        let before = roster::entry(store, &said.name)?;
        fill(&mut said, before.as_ref())?;
        check_kind(call, &said, before.as_ref())?;
        check_holder(call, &said, before.as_ref())?;
        said.holder = call.caller.program.clone().filter(|_| !call.caller.is_person()).map(Box::new);
        said.keeps_status = before.as_ref().is_some_and(|entry| !entry.agent.has_left);
        let epoch = before.map_or(0, |entry| entry.agent.epoch) + 1;
        let event = checked(&said, &call.caller.name)?;
        let batch = call.batch().event(event).expect(subject(&said.name), rev).reply(json!({ "epoch": epoch }));
        match store.commit(batch).await {
            Ok(committed) => {
                let epoch = committed.reply["epoch"].as_u64().unwrap_or(epoch);
                return Ok(RegisterAgentReply { agent: present(store, &said.name)?, epoch, token: None });
            }
            Err(switchboard_store::Error::Conflict { .. }) if attempt < ATTEMPTS => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn present(store: &Store, name: &AgentName) -> Result<Agent, Error> {
    roster::agent(store, name)?.ok_or_else(|| Error::BadRow { what: "no agent", text: name.to_string() })
}

fn check_name(call: &Call, name: &AgentName) -> Result<(), Error> {
    let id = name.folded();
    if RESERVED.contains(&id.as_str()) || (id == PERSON && !call.caller.is_person()) {
        let what = format!("{name} is a name of the system");
        return refuse(Failure::new("bus.reserved-name", what).hint("take another name"));
    }
    Ok(())
}

/// Nobody but a run registers a worker, nobody but a person a person, or turns a name that a token or a person stands behind into one that anybody may
/// claim.
fn check_kind(call: &Call, said: &Registered, before: Option<&roster::Entry>) -> Result<(), Error> {
    let is_worker = before.is_some_and(|entry| entry.agent.kind == AgentKind::Worker && !entry.agent.has_left);
    if said.kind == AgentKind::Worker && !is_worker {
        let failure = Failure::new("policy.denied", "only a run puts a worker on the roster");
        return refuse(failure.hint("leave the kind out: it is a chat agent then"));
    }
    if call.caller.is_person() {
        return Ok(());
    }
    if said.kind == AgentKind::Person {
        return refuse(Failure::new("policy.denied", "only a person registers a person"));
    }
    let proven = before.map(|entry| entry.agent.kind);
    let proven = proven.filter(|kind| matches!(kind, AgentKind::Person | AgentKind::Worker));
    match proven.filter(|kind| *kind != said.kind) {
        Some(kind) => {
            let what = format!("{} is the name of a {}", said.name, kind.as_str());
            refuse(Failure::new("bus.name-taken", what).hint("take another name"))
        }
        None => Ok(()),
    }
}

/// A name in use belongs to the program that registered it. A person may take it away, and then it is free.
fn check_holder(call: &Call, said: &Registered, before: Option<&roster::Entry>) -> Result<(), Error> {
    let holder = before.filter(|entry| !entry.agent.has_left).and_then(|entry| entry.holder.as_ref());
    let is_own = |holder: &Process| call.caller.is_person() || call.caller.program.as_ref() == Some(holder);
    match holder.filter(|holder| !is_own(holder) && (call.is_alive.0)(holder)) {
        None => Ok(()),
        Some(holder) => {
            let (whose, own) = match holder.is_token() {
                true => ("that is connected over HTTP".to_owned(), "send the token that you were given, or "),
                false => (format!("of process {}, which runs", holder.pid), ""),
            };
            let what = format!("{} is the name of an agent {whose}", said.name);
            let hint = format!(
                "{own}take another name; a person frees it: switchboard call register_agent name={:?}",
                said.name.as_str()
            );
            refuse(Failure::new("bus.name-taken", what).hint(hint))
        }
    }
}

/// The event, when every word is short and plain and all of them fit into one.
fn checked(said: &Registered, actor: &AgentName) -> Result<NewEvent, Error> {
    let fields = [&said.role, &said.friendly_name, &said.purpose, &said.interface, &said.icon, &said.color];
    let capabilities = said.capabilities.as_deref().unwrap_or_default();
    check_words(fields.into_iter().flatten().chain(capabilities))?;
    if capabilities.len() > MAX_CAPABILITIES {
        return refuse(Failure::new("request.bad-args", format!("at most {MAX_CAPABILITIES} capabilities")));
    }
    let event = registration(said, actor)?;
    let bytes = event.facts.to_string().len();
    if bytes > MAX_FACTS_BYTES {
        let what = format!("an agent's words have {bytes} bytes together, at most {MAX_FACTS_BYTES}");
        return refuse(Failure::new("request.bad-args", what));
    }
    Ok(event)
}

/// Refuses words that are long or hold control characters.
pub(crate) fn check_words<'a>(words: impl IntoIterator<Item = &'a String>) -> Result<(), Error> {
    let unfit = |word: &&String| word.len() > MAX_WORD_BYTES || word.chars().any(char::is_control);
    if let Some(word) = words.into_iter().find(unfit) {
        let shown = cut(word, 20);
        let what = format!("a word here has at most {MAX_WORD_BYTES} bytes and no control character: {shown:?}");
        return refuse(Failure::new("request.bad-args", what));
    }
    Ok(())
}
