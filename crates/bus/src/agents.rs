//! The projection of the roster: who is there.

use protocol::agent::AgentEvent;
use protocol::event::Event;
use protocol::id::fold;
use store::{Cell, Change, Projection, Table};

use crate::mail::{int, text};

/// One row an agent, keyed by the folded name.
pub(crate) const AGENTS: &str = "agents";

static TABLES: [Table; 1] = [Table {
    name: AGENTS,
    columns: &[
        text("id"),
        text("name"),
        text("kind"),
        text("role"),
        text("status"),
        text("status_message"),
        text("capabilities"),
        int("scripted"),
        int("epoch"),
        int("last_seen"),
    ],
    key: &["id"],
    indexes: &[],
}];

/// The projector of agents.
#[derive(Debug, Clone, Copy, Default)]
pub struct Agents;

impl Projection for Agents {
    fn tables(&self) -> &'static [Table] {
        &TABLES
    }

    fn version(&self) -> u32 {
        1
    }

    fn project(&self, event: &Event) -> Vec<Change> {
        event.fact::<AgentEvent>().map_or_else(Vec::new, |fact| change(event, fact))
    }
}

fn change(event: &Event, fact: AgentEvent) -> Vec<Change> {
    match fact {
        AgentEvent::AgentRegistered { name, kind, role, capabilities, scripted } => {
            // Patch alone would miss a new row: adding one to a column makes it.
            vec![
                Change::Add { table: AGENTS, key: vec![name.folded().into()], column: "epoch", by: 1 },
                Change::Patch {
                    table: AGENTS,
                    key: vec![name.folded().into()],
                    set: vec![
                        ("name", name.as_str().into()),
                        ("kind", kind.as_str().into()),
                        ("role", role.into()),
                        ("capabilities", serde_json::json!(capabilities).to_string().into()),
                        ("scripted", scripted.into()),
                        ("status", "active".into()),
                        ("status_message", "".into()),
                        ("last_seen", event.ts.0.into()),
                    ],
                },
            ]
        }
        AgentEvent::AgentStatusSet { name, status, message } => {
            vec![patch(
                &name,
                vec![("status", status.into()), ("status_message", message.into()), ("last_seen", event.ts.0.into())],
            )]
        }
        AgentEvent::AgentLeft { name, why } => {
            vec![patch(
                &name,
                vec![("status", "left".into()), ("status_message", why.into()), ("last_seen", event.ts.0.into())],
            )]
        }
    }
}

fn patch(name: &protocol::id::AgentName, set: Vec<(&'static str, Cell)>) -> Change {
    Change::Patch { table: AGENTS, key: vec![fold(name.as_str()).into()], set }
}
