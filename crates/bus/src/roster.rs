//! `get_team_roster`, and how rows become agents.

use protocol::agent::{Agent, AgentKind};
use protocol::id::AgentName;
use protocol::time::Millis;
use store::{Query, Row, Store};

use crate::Error;
use crate::agents::AGENTS;
use crate::mail::INBOXES;

/// All agents by name.
///
/// # Errors
/// When the store can't be read.
pub fn roster(store: &Store) -> Result<Vec<Agent>, Error> {
    store.read(&Query::table(AGENTS).asc("id").limit(10_000))?.iter().map(|row| of_row(store, row)).collect()
}

/// The agent of this name, in any spelling.
///
/// # Errors
/// When the store can't be read.
pub fn agent(store: &Store, name: &AgentName) -> Result<Option<Agent>, Error> {
    store.get(AGENTS, &[name.folded().into()])?.as_ref().map(|row| of_row(store, row)).transpose()
}

/// Messages that nobody has acknowledged yet.
///
/// # Errors
/// When the store can't be read.
pub fn unread_total(store: &Store) -> Result<u64, Error> {
    Ok(roster(store)?.iter().map(|agent| agent.unread).sum())
}

fn of_row(store: &Store, row: &Row) -> Result<Agent, Error> {
    let name = row.try_text("name")?;
    let kind = match row.try_text("kind")? {
        "terminal" => AgentKind::Terminal,
        "chat" => AgentKind::Chat,
        "worker" => AgentKind::Worker,
        "person" => AgentKind::Person,
        other => return Err(Error::BadRow { what: "an agent's kind", text: other.to_owned() }),
    };
    Ok(Agent {
        name: AgentName::new(name).map_err(|_| Error::BadRow { what: "an agent's name", text: name.to_owned() })?,
        kind,
        role: row.get_text("role").unwrap_or_default().to_owned(),
        status: row.get_text("status").unwrap_or_default().to_owned(),
        status_message: row.get_text("status_message").unwrap_or_default().to_owned(),
        capabilities: serde_json::from_str(row.get_text("capabilities").unwrap_or("[]")).unwrap_or_default(),
        is_scripted: row.get_bool("scripted"),
        unread: unread(store, row.try_text("id")?)?,
        last_seen: Millis(row.get_int("last_seen").unwrap_or(0)),
    })
}

fn unread(store: &Store, id: &str) -> Result<u64, Error> {
    let row = store.get(INBOXES, &[id.into()])?;
    Ok(row.and_then(|row| row.get_int("unread")).map_or(0, |unread| u64::try_from(unread).unwrap_or(0)))
}
