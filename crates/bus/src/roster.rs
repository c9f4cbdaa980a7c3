//! `get_team_roster`, and the conversion of rows to agents.

use switchboard_protocol::agent::{Agent, AgentKind, Process};
use switchboard_protocol::id::AgentName;
use switchboard_protocol::time::Millis;
use switchboard_store::{Query, Row, Store};

use crate::Error;
use crate::agents::AGENTS;
use crate::mail::INBOXES;

/// Agent with its internal data.
pub(crate) struct Entry {
    pub(crate) agent: Agent,
    pub(crate) process: Option<Process>,
    /// Program whose connection registered it.
    pub(crate) holder: Option<Process>,
}

/// Returns all agents by name.
///
/// # Errors
/// When the store can't be read.
pub fn roster(store: &Store) -> Result<Vec<Agent>, Error> {
    let rows = store.read(&Query::table(AGENTS).asc("id").limit(10_000))?;
    rows.iter().map(|row| Ok(of_row(store, row)?.agent)).collect()
}

/// Returns the agent with this name, in any spelling.
///
/// # Errors
/// When the store can't be read.
pub fn agent(store: &Store, name: &AgentName) -> Result<Option<Agent>, Error> {
    Ok(entry(store, name)?.map(|entry| entry.agent))
}

/// Returns the agent that a program has registered, the newest if there are several; `None` if there is none. Searches
/// the whole roster.
///
/// # Errors
/// When the store can't be read.
pub fn held_by(store: &Store, program: &Process) -> Result<Option<AgentName>, Error> {
    let mut newest: Option<(i64, AgentName)> = None;
    for row in store.read(&Query::table(AGENTS).asc("id").limit(10_000))? {
        let seen = row.get_int("last_seen").unwrap_or(0);
        let is_newer = newest.as_ref().is_none_or(|(before, _)| *before <= seen);
        if is_newer && holder_of(&row)?.as_ref() == Some(program) {
            newest = Some((seen, written(&row)?));
        }
    }
    Ok(newest.map(|(_, name)| name))
}

/// Returns the program to which an agent's name belongs, without reading its mail; `None` if the name is free or a terminal's.
///
/// # Errors
/// When the store can't be read.
pub fn holder(store: &Store, name: &AgentName) -> Result<Option<Process>, Error> {
    Ok(look(store, name, holder_of)?.flatten())
}

/// Returns the program that holds a row's name. A terminal is identified by its own process, not by the program that
/// registers it.
fn holder_of(row: &Row) -> Result<Option<Process>, Error> {
    let is_held = !row.get_bool("gone") && kind(row)? != AgentKind::Terminal;
    Ok(is_held.then(|| process(row, "holder")).flatten())
}

fn process(row: &Row, column: &str) -> Option<Process> {
    row.get_text(column).and_then(|text| serde_json::from_str(text).ok())
}

/// Returns the number of messages that are not acknowledged yet.
///
/// # Errors
/// When the store can't be read.
pub fn unread_total(store: &Store) -> Result<u64, Error> {
    crate::mail::total(store, "unread")
}

pub(crate) fn entry(store: &Store, name: &AgentName) -> Result<Option<Entry>, Error> {
    let row = store.get(AGENTS, &[name.folded().into()])?;
    row.as_ref().map(|row| of_row(store, row)).transpose()
}

/// Returns what `take` takes from an agent's row.
fn look<T>(store: &Store, name: &AgentName, take: fn(&Row) -> Result<T, Error>) -> Result<Option<T>, Error> {
    store.look(AGENTS, &[name.folded().into()], take)?.transpose()
}

/// Returns true if there is an agent with this name, in any spelling.
pub(crate) fn is_known(store: &Store, name: &AgentName) -> Result<bool, Error> {
    Ok(look(store, name, |_| Ok(()))?.is_some())
}

/// Returns the kind of an agent, without reading its mail.
///
/// # Errors
/// When the store can't be read.
pub fn kind_of(store: &Store, name: &AgentName) -> Result<Option<AgentKind>, Error> {
    look(store, name, kind)
}

/// Returns an agent's name as written, and whether it has left, without reading its mail.
pub(crate) fn presence(store: &Store, name: &AgentName) -> Result<Option<(AgentName, bool)>, Error> {
    look(store, name, |row| Ok((written(row)?, row.get_bool("gone"))))
}

fn written(row: &Row) -> Result<AgentName, Error> {
    let name = row.try_text("name")?;
    AgentName::new(name).map_err(|_| Error::BadRow { what: "an agent's name", text: name.to_owned() })
}

pub(crate) fn of_row(store: &Store, row: &Row) -> Result<Entry, Error> {
    let word = |column| row.get_text(column).unwrap_or_default().to_owned();
    let kind = kind(row)?;
    let (process, holder) = (process(row, "process"), process(row, "holder"));
    let (icon, color) = style(kind, row.get_text("purpose").unwrap_or_default());
    let agent = Agent {
        name: written(row)?,
        kind,
        role: word("role"),
        friendly_name: word("friendly_name"),
        purpose: word("purpose"),
        interface: word("interface"),
        status: word("status"),
        status_message: word("status_message"),
        capabilities: serde_json::from_str(row.get_text("capabilities").unwrap_or("[]")).unwrap_or_default(),
        icon: row.get_text("icon").unwrap_or(icon).to_owned(),
        color: row.get_text("color").unwrap_or(color).to_owned(),
        pid: process.as_ref().map(|process| process.pid),
        is_scripted: row.get_bool("scripted"),
        has_left: row.get_bool("gone"),
        epoch: row.try_u64("epoch")?,
        unread: unread(store, row.try_text("id")?)?,
        last_seen: Millis(row.get_int("last_seen").unwrap_or(0)),
    };
    Ok(Entry { agent, process, holder })
}

fn kind(row: &Row) -> Result<AgentKind, Error> {
    match row.try_text("kind")? {
        "terminal" => Ok(AgentKind::Terminal),
        "chat" => Ok(AgentKind::Chat),
        "worker" => Ok(AgentKind::Worker),
        "person" => Ok(AgentKind::Person),
        other => Err(Error::BadRow { what: "an agent's kind", text: other.to_owned() }),
    }
}

/// Returns the default icon and colour of an agent, by a terminal's purpose.
fn style(kind: AgentKind, purpose: &str) -> (&'static str, &'static str) {
    let purpose = purpose.to_lowercase();
    match kind {
        AgentKind::Terminal if purpose.contains("review") => ("eye", "orange"),
        AgentKind::Terminal if purpose.contains("jules") => ("rocket", "purple"),
        AgentKind::Terminal if purpose.contains("coding") => ("code", "blue"),
        AgentKind::Terminal => ("terminal", "cyan"),
        AgentKind::Chat => ("comment-discussion", "purple"),
        AgentKind::Worker | AgentKind::Person => ("", ""),
    }
}

fn unread(store: &Store, id: &str) -> Result<u64, Error> {
    let row = store.get(INBOXES, &[id.into()])?;
    Ok(row.and_then(|row| row.get_int("unread")).map_or(0, |unread| u64::try_from(unread).unwrap_or(0)))
}
