//! The projection of mail: how far every message has come, and what lies in each inbox.

use protocol::event::Event;
use protocol::message::MessageEvent;
use store::{Cell, Change, Column, Projection, Row, Table, Ty};

/// What lies unacknowledged in an inbox, keyed by the recipient's folded name.
pub(crate) const INBOXES: &str = "inboxes";
/// Messages, keyed by id.
pub(crate) const MESSAGES: &str = "messages";
/// Totals that never fall.
pub(crate) const TALLY: &str = "mail_tally";

pub(crate) const fn text(name: &'static str) -> Column {
    Column { name, ty: Ty::Text }
}

pub(crate) const fn int(name: &'static str) -> Column {
    Column { name, ty: Ty::Int }
}

static TABLES: [Table; 3] = [
    Table { name: INBOXES, columns: &[text("id"), int("unread"), int("bytes")], key: &["id"], indexes: &[] },
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

/// The projector of messages.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mail;

impl Projection for Mail {
    fn tables(&self) -> &'static [Table] {
        &TABLES
    }

    fn version(&self) -> u32 {
        2
    }

    fn project(&self, event: &Event) -> Vec<Change> {
        event.fact::<MessageEvent>().map_or_else(Vec::new, |fact| message(event, fact))
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
                Change::Add { table: INBOXES, key: vec![recipient.folded().into()], column: "unread", by: 1 },
                tally("sent"),
            ]
        }
        MessageEvent::MessageOffered { id, .. } => vec![reached(&id, "offered")],
        MessageEvent::MessageInjected { id, .. } => vec![reached(&id, "injected")],
        MessageEvent::MessageAcked { id, recipient } => vec![
            reached(&id, "acked"),
            Change::Add { table: INBOXES, key: vec![recipient.folded().into()], column: "unread", by: -1 },
            tally("acked"),
        ],
    }
}

fn tally(what: &'static str) -> Change {
    Change::Add { table: TALLY, key: vec![what.into()], column: "count", by: 1 }
}
