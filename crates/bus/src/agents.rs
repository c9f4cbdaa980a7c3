//! Projection of the roster: the registered agents.

use switchboard_protocol::agent::{AgentEvent, Registered};
use switchboard_protocol::event::Event;
use switchboard_protocol::id::{AgentName, fold};
use switchboard_store::{Cell, Change, Projection, Table};

use crate::mail::{int, text};

/// One row per agent, keyed by the folded name.
pub(crate) const AGENTS: &str = "agents";

static TABLES: [Table; 1] = [Table {
    name: AGENTS,
    columns: &[
        text("id"),
        text("name"),
        text("kind"),
        text("role"),
        text("role_id"),
        text("friendly_name"),
        text("friendly_id"),
        text("purpose"),
        text("interface"),
        text("icon"),
        text("color"),
        text("process"),
        text("holder"),
        text("status"),
        text("status_message"),
        text("capabilities"),
        int("scripted"),
        int("epoch"),
        // Whether the agent has left, and the lsn of its last departure.
        int("gone"),
        int("left_lsn"),
        int("last_seen"),
    ],
    key: &["id"],
    indexes: &[&["role_id"], &["friendly_id"], &["left_lsn"]],
    sparse: &[],
}];

/// Projector of agents.
#[derive(Debug, Clone, Copy, Default)]
pub struct Agents;

impl Projection for Agents {
    fn tables(&self) -> &'static [Table] {
        &TABLES
    }

    fn version(&self) -> u32 {
        3
    }

    fn prefixes(&self) -> &'static [&'static str] {
        &["agent_"]
    }

    fn project(&self, event: &Event) -> Vec<Change> {
        event.fact::<AgentEvent>().map_or_else(Vec::new, |fact| change(event, fact))
    }
}

fn change(event: &Event, fact: AgentEvent) -> Vec<Change> {
    let seen = ("last_seen", Cell::from(event.ts));
    match fact {
        AgentEvent::AgentRegistered(said) => {
            let key = || vec![Cell::from(said.name.folded())];
            // A patch alone would miss a new row; adding to a column creates it.
            let count = Change::add(AGENTS, key(), [("epoch", 1)]);
            let mut set = registered(&said);
            set.push(seen);
            vec![count, Change::Patch { table: AGENTS, key: key(), set }]
        }
        AgentEvent::AgentStatusSet { name, status, message } => {
            vec![patch(&name, vec![("status", status.into()), ("status_message", message.into()), seen])]
        }
        AgentEvent::AgentLeft { name, why } => {
            let left = ("left_lsn", Cell::from(event.lsn));
            let status = [("status", "left".into()), ("status_message", why.into())];
            vec![patch(&name, [seen, left, ("gone", true.into())].into_iter().chain(status).collect())]
        }
    }
}

/// Returns the columns that an agent set at its registration; the others stay unchanged.
fn registered(said: &Registered) -> Vec<(&'static str, Cell)> {
    let json = |value: serde_json::Value| Cell::from(value.to_string());
    let mut set = vec![
        ("name", said.name.as_str().into()),
        ("kind", said.kind.as_str().into()),
        ("gone", false.into()),
        // A process ends with its terminal, so a registration without one clears it.
        ("process", said.process.as_ref().map(|process| json(serde_json::json!(process))).into()),
        ("holder", said.holder.as_ref().map(|process| json(serde_json::json!(process))).into()),
    ];
    let words = [
        ("role", &said.role),
        ("friendly_name", &said.friendly_name),
        ("purpose", &said.purpose),
        ("interface", &said.interface),
        ("icon", &said.icon),
        ("color", &said.color),
    ];
    set.extend(words.into_iter().filter_map(|(column, word)| Some((column, word.as_ref()?.into()))));
    let ids = [("role_id", &said.role), ("friendly_id", &said.friendly_name)];
    set.extend(ids.into_iter().filter_map(|(column, word)| Some((column, fold(word.as_ref()?).into()))));
    set.extend(said.capabilities.as_ref().map(|all| ("capabilities", json(serde_json::json!(all)))));
    set.extend(said.scripted.map(|scripted| ("scripted", scripted.into())));
    if !said.keeps_status {
        set.extend([("status", "active".into()), ("status_message", "".into())]);
    }
    set
}

fn patch(name: &AgentName, set: Vec<(&'static str, Cell)>) -> Change {
    Change::Patch { table: AGENTS, key: vec![name.folded().into()], set }
}
