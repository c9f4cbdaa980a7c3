//! `register_agent` and its forms for terminals and chats: adds an agent to the team, or changes its entry.

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

/// Maximum length of a role, capability or other word, in bytes; longer ones are refused rather than cut.
const MAX_WORD_BYTES: usize = 64;
/// Maximum number of capabilities of one agent.
const MAX_CAPABILITIES: usize = 8;
/// Reserved names that no agent may have. `user` is a person's.
const RESERVED: [&str; 4] = ["session", "sidebar", "daemon", COORDINATOR];
/// Default name of a person.
const PERSON: &str = "user";
/// Maximum number of attempts at a registration that races with another one of the same name.
const ATTEMPTS: u32 = 8;

/// Adds an agent to the roster; omitted fields stay as they were.
///
/// # Errors
/// A refusal (a reserved name, a person's or a worker's, a field that is too long) or a failure of the store.
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
        // Only a terminal names its process; this form must not remove it.
        said.process = before.filter(|_| said.kind == AgentKind::Terminal).and_then(|entry| entry.process.clone());
        Ok(())
    };
    register(store, call, said, fill).await
}

/// Adds an agent that lives in a terminal to the roster. The caller has checked that `process` runs. `is_alive` checks
/// whether the process of an earlier registration still does.
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

/// Adds an agent that lives in an editor's chat to the roster.
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

/// Returns the event that adds an agent to the roster, for a caller's own commit.
///
/// # Errors
/// When the fact does not serialise.
pub fn registration(said: &Registered, actor: &AgentName) -> Result<NewEvent, serde_json::Error> {
    let fact = AgentEvent::AgentRegistered(said.clone());
    NewEvent::of(&fact, subject(&said.name), actor.as_str())
}

/// Returns the event that removes an agent that has ended from the roster: its leases end with it.
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

/// Decides on the present entry, and again if it has changed meanwhile.
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

/// Refuses a worker that no run registers, a person that no person registers, and a registration by which any caller
/// could claim a name that belongs to a token or a person.
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

/// Refuses a name in use, which belongs to the program that registered it. A person may take it away, which makes it
/// free.
fn check_holder(call: &Call, said: &Registered, before: Option<&roster::Entry>) -> Result<(), Error> {
    let holder = before.filter(|entry| !entry.agent.has_left).and_then(|entry| entry.holder.as_ref());
    let is_own = |holder: &Process| call.caller.is_person() || call.caller.program.as_ref() == Some(holder);
    match holder.filter(|holder| !is_own(holder) && (call.is_alive.0)(holder)) {
        None => Ok(()),
        Some(holder) => refuse(name_taken(&said.name, holder)),
    }
}

/// Returns the refusal of a name that belongs to another program.
#[must_use]
pub fn name_taken(name: &AgentName, holder: &Process) -> Failure {
    let (whose, own) = match holder.is_token() {
        true => ("that is connected over HTTP".to_owned(), "send the token that you were given, or "),
        false => (format!("of process {}, which runs", holder.pid), ""),
    };
    let hint = format!(
        "{own}take another name with register_agent; a person frees it: switchboard call register_agent name={:?}",
        name.as_str()
    );
    Failure::new("bus.name-taken", format!("{name} is the name of an agent {whose}")).hint(hint)
}

/// Returns the event, if every word is short and plain and all of them fit into one event.
fn checked(said: &Registered, actor: &AgentName) -> Result<NewEvent, Error> {
    let fields = [&said.role, &said.friendly_name, &said.purpose, &said.interface, &said.icon, &said.color];
    let capabilities = said.capabilities.as_deref().unwrap_or_default();
    check_words(fields.into_iter().flatten().chain(capabilities))?;
    if capabilities.len() > MAX_CAPABILITIES {
        return refuse(Failure::new("request.bad-args", format!("at most {MAX_CAPABILITIES} capabilities")));
    }
    let event = registration(said, actor)?;
    let bytes = event.facts.as_str().len();
    if bytes > MAX_FACTS_BYTES {
        let what = format!("an agent's words have {bytes} bytes together, at most {MAX_FACTS_BYTES}");
        return refuse(Failure::new("request.bad-args", what));
    }
    Ok(event)
}

/// Refuses words that are long or contain control characters.
pub(crate) fn check_words<'a>(words: impl IntoIterator<Item = &'a String>) -> Result<(), Error> {
    let unfit = |word: &&String| word.len() > MAX_WORD_BYTES || word.chars().any(char::is_control);
    if let Some(word) = words.into_iter().find(unfit) {
        let shown = cut(word, 20);
        let what = format!("a word here has at most {MAX_WORD_BYTES} bytes and no control character: {shown:?}");
        return refuse(Failure::new("request.bad-args", what));
    }
    Ok(())
}
