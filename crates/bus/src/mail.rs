//! The projection: who is there, and how far every message has come.

use protocol::agent::AgentEvent;
use protocol::event::Event;
use protocol::id::fold;
use protocol::message::MessageEvent;
use store::{Cell, Change, Column, Projection, Row, Table, Ty};

/// The roster: one row an agent, keyed by the folded name.
pub(crate) const AGENTS: &str = "agents";
/// Messages, keyed by id.
pub(crate) const MESSAGES: &str = "messages";
/// Totals that never fall.
pub(crate) const TALLY: &str = "mail_tally";

const fn text(name: &'static str) -> Column {
    Column { name, ty: Ty::Text }
}

const fn int(name: &'static str) -> Column {
    Column { name, ty: Ty::Int }
}

static TABLES: [Table; 3] = [
    Table {
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
            int("unread"),
            int("last_seen"),
        ],
        key: &["id"],
        indexes: &[],
    },
    Table {
        name: MESSAGES,
        columns: &[
            text("id"),
            int("seq"),
            text("action"),
            text("sender"),
            int("verified"),
            text("recipient"),
            text("recipient_name"),
            text("reply_to"),
            int("offered"),
            int("injected"),
            int("acked"),
            int("created_at"),
        ],
        key: &["id"],
        indexes: &[&["recipient", "acked", "seq"], &["seq"]],
    },
    Table { name: TALLY, columns: &[text("what"), int("count")], key: &["what"], indexes: &[] },
];

/// The projector of agents and messages.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mail;

impl Projection for Mail {
    fn tables(&self) -> &'static [Table] {
        &TABLES
    }

    fn version(&self) -> u32 {
        1
    }

    fn searched(&self) -> &'static [&'static str] {
        &["message_sent"]
    }

    fn project(&self, event: &Event) -> Vec<Change> {
        if let Some(fact) = event.fact::<MessageEvent>() {
            return message(event, fact);
        }
        event.fact::<AgentEvent>().map_or_else(Vec::new, |fact| agent(event, fact))
    }
}

fn message(event: &Event, fact: MessageEvent) -> Vec<Change> {
    // One column a state, each set once: whatever order reports come in, a message never moves back.
    let reached = |id: &protocol::id::MessageId, column| Change::Patch {
        table: MESSAGES,
        key: vec![id.as_str().into()],
        set: vec![(column, 1_i64.into())],
    };
    match fact {
        MessageEvent::MessageSent { id, action, sender, verified, recipient, reply_to, bytes: _ } => {
            let row = Row::new()
                .with("id", id.as_str())
                .with("seq", event.lsn)
                .with("action", action.as_str())
                .with("sender", sender.as_str())
                .with("verified", verified)
                .with("recipient", recipient.folded())
                .with("recipient_name", recipient.as_str())
                .with("reply_to", reply_to.map_or(Cell::Null, |id| id.as_str().into()))
                .with("offered", 0_i64)
                .with("injected", 0_i64)
                .with("acked", 0_i64)
                .with("created_at", event.ts.0);
            vec![
                Change::Put { table: MESSAGES, row },
                Change::Add { table: AGENTS, key: vec![recipient.folded().into()], column: "unread", by: 1 },
                tally("sent"),
            ]
        }
        MessageEvent::MessageOffered { id, .. } => vec![reached(&id, "offered")],
        MessageEvent::MessageInjected { id, .. } => vec![reached(&id, "injected")],
        MessageEvent::MessageAcked { id, recipient } => vec![
            reached(&id, "acked"),
            Change::Add { table: AGENTS, key: vec![recipient.folded().into()], column: "unread", by: -1 },
            tally("acked"),
        ],
    }
}

fn tally(what: &'static str) -> Change {
    Change::Add { table: TALLY, key: vec![what.into()], column: "count", by: 1 }
}

fn agent(event: &Event, fact: AgentEvent) -> Vec<Change> {
    match fact {
        AgentEvent::AgentRegistered { name, kind, role, capabilities, scripted } => {
            // Patch first would miss a new row and Put would forget the unread count: `Add` of nothing makes the row.
            vec![
                Change::Add { table: AGENTS, key: vec![name.folded().into()], column: "unread", by: 0 },
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
