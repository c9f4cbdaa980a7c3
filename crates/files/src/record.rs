//! Events of message files, and their tables.

pub(crate) mod held;
pub(crate) mod incoming;
pub(crate) mod outgoing;

use switchboard_protocol::event::Event;
use switchboard_protocol::file::{FileEvent, Gone};
use switchboard_protocol::id::{AgentName, Digest, MessageId};
use switchboard_protocol::message::{Action, MessageEvent};
use switchboard_protocol::time::Millis;
use switchboard_store::{Cell, Change, Column, Projection, Row, Table};

/// Files that were taken, keyed by message id.
pub(super) const TAKEN: &str = "message_files_taken";
/// Files that wait for a person, keyed by message id.
pub(super) const HELD: &str = "message_files_held";
/// Files that were written, keyed by message id.
pub(super) const OUT: &str = "message_files_out";
/// Nonces that were used, until their envelopes expire.
pub(super) const NONCES: &str = "auth_nonces";

/// Projector of message files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Files;

static TABLES: [Table; 4] = [
    Table {
        name: TAKEN,
        columns: &[Column::text("id"), Column::text("digest"), Column::int("seq"), Column::int("signed")],
        key: &["id"],
        indexes: &[],
        sparse: &[],
    },
    Table {
        name: HELD,
        columns: &[
            Column::text("id"),
            Column::text("need"),
            Column::int("seq"),
            Column::text("digest"),
            Column::text("from_path"),
            Column::text("action"),
            Column::text("sender"),
            Column::text("recipient"),
            Column::int("asked_at"),
            Column::int("expires_at"),
            Column::text("outcome"),
        ],
        key: &["id"],
        indexes: &[&["outcome", "seq"], &["need"]],
        sparse: &[],
    },
    Table {
        name: OUT,
        columns: &[
            Column::text("id"),
            Column::text("recipient"),
            Column::text("folder"),
            Column::text("state"),
            Column::int("acked"),
            Column::int("seq"),
        ],
        key: &["id"],
        indexes: &[&["state", "seq"]],
        sparse: &[],
    },
    Table {
        name: NONCES,
        columns: &[Column::text("nonce"), Column::int("until")],
        key: &["nonce"],
        indexes: &[&["until"]],
        sparse: &[],
    },
];

impl Projection for Files {
    fn tables(&self) -> &'static [Table] {
        &TABLES
    }

    fn version(&self) -> u32 {
        3
    }

    fn prefixes(&self) -> &'static [&'static str] {
        &["message_file_", "message_held", "message_acked", "message_revived", "held_message_", "nonces_"]
    }

    fn project(&self, event: &Event) -> Vec<Change> {
        if let Some(fact) = event.fact::<MessageEvent>() {
            return of_mail(&fact);
        }
        event.fact::<FileEvent>().map_or_else(Vec::new, |fact| project(event, fact))
    }
}

/// Returns the changes of the file's row for an event of its message.
fn of_mail(fact: &MessageEvent) -> Vec<Change> {
    let patch = |id: &MessageId, set: (&'static str, Cell)| vec![Change::patch(OUT, [id.as_str().into()], [set])];
    match fact {
        MessageEvent::MessageAcked { id, .. } => patch(id, ("acked", 1_i64.into())),
        // Its file is in the archive; a new one is written.
        MessageEvent::MessageRevived { id, .. } => patch(id, ("state", "lost".into())),
        MessageEvent::MessageSent { .. }
        | MessageEvent::MessageDetailed { .. }
        | MessageEvent::MessageOffered { .. }
        | MessageEvent::MessageInjected { .. }
        | MessageEvent::MessageLeased { .. }
        | MessageEvent::MessageExtended { .. }
        | MessageEvent::MessageReturned { .. }
        | MessageEvent::MessageDone { .. }
        | MessageEvent::MessageEnded { .. }
        | MessageEvent::MessageDropped { .. }
        | MessageEvent::RequestReplied { .. } => Vec::new(),
    }
}

fn project(event: &Event, fact: FileEvent) -> Vec<Change> {
    let set = |table, id: &MessageId, column, value: &str| {
        vec![Change::patch(table, [id.as_str().into()], [(column, value.into())])]
    };
    match fact {
        FileEvent::MessageFileTaken { id, digest, nonce, .. } => taken(event, &id, &digest, nonce),
        FileEvent::MessageFileRefused { .. } => Vec::new(),
        FileEvent::MessageHeld { id, need, digest, from, action, sender, recipient, expires_at } => {
            let row = Row::new()
                .with("id", id.as_str())
                .with("need", need.as_str())
                .with("seq", event.lsn)
                .with("digest", digest.to_string())
                .with("from_path", from)
                .with("action", action.as_str())
                .with("sender", sender.as_str())
                .with("recipient", recipient.as_str())
                .with("asked_at", event.ts.0)
                .with("expires_at", expires_at.0)
                .with("outcome", "");
            vec![Change::put(HELD, row)]
        }
        FileEvent::HeldMessageSettled { id, outcome } => set(HELD, &id, "outcome", &outcome),
        FileEvent::MessageFileStaged { id, recipient, folder } => {
            let row = Row::new()
                .with("id", id.as_str())
                .with("recipient", recipient.as_str())
                .with("folder", folder)
                .with("state", "staged")
                .with("acked", 0_i64)
                .with("seq", event.lsn);
            vec![Change::put(OUT, row)]
        }
        FileEvent::MessageFileWritten { id } => set(OUT, &id, "state", "written"),
        FileEvent::MessageFileGone { id, how } => set(
            OUT,
            &id,
            "state",
            match how {
                Gone::PickedUp => "picked_up",
                Gone::Archived => "archived",
                Gone::Lost => "lost",
            },
        ),
        FileEvent::NoncesForgotten { nonces } => {
            nonces.into_iter().map(|nonce| Change::delete(NONCES, [nonce.into()])).collect()
        }
    }
}

fn taken(event: &Event, id: &MessageId, digest: &Digest, nonce: Option<(String, Millis)>) -> Vec<Change> {
    let row = Row::new()
        .with("id", id.as_str())
        .with("digest", digest.to_string())
        .with("seq", event.lsn)
        .with("signed", nonce.is_some());
    let mut changes = vec![Change::put(TAKEN, row)];
    if let Some((nonce, until)) = nonce {
        changes.push(Change::put(NONCES, Row::new().with("nonce", nonce).with("until", until.0)));
    }
    changes
}

/// Message, from its event in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Id of the message.
    pub id: MessageId,
    /// Purpose of the message.
    pub action: Action,
    /// Sender of the message.
    pub sender: AgentName,
    /// True if the sender is verified.
    pub is_verified: bool,
    /// Recipient of the message.
    pub recipient: AgentName,
    /// Id of the message that it answers.
    pub reply_to: Option<MessageId>,
    /// Text of the message.
    pub payload: String,
    /// Time at which the store recorded it.
    pub at: Millis,
}

/// Returns the message that an event records, if it records one.
#[must_use]
pub fn sent_in(event: &Event) -> Option<Sent> {
    let fact = event.fact::<MessageEvent>()?;
    let MessageEvent::MessageSent { id, action, sender, verified, recipient, reply_to, .. } = fact else { return None };
    let payload = event.body.clone().unwrap_or_default();
    Some(Sent { id, action, sender, is_verified: verified, recipient, reply_to, payload, at: event.ts })
}
