//! What happened to message files, and the tables that follow from it.

use serde::{Deserialize, Serialize};
use switchboard_protocol::event::Event;
use switchboard_protocol::id::{AgentName, Digest, MessageId, NeedId};
use switchboard_protocol::message::{Action, MessageEvent};
use switchboard_protocol::time::Millis;
use switchboard_store::{Cell, Change, Column, Projection, Row, Table};

/// Files that were taken, keyed by message id.
pub(super) const TAKEN: &str = "message_files_taken";
/// Files that wait for a person, keyed by message id.
pub(super) const HELD: &str = "message_files_held";
/// Files that were written, keyed by message id.
pub(super) const OUT: &str = "message_files_out";
/// Nonces that were used, until nobody would believe them anyway.
pub(super) const NONCES: &str = "auth_nonces";

/// What happens to message files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "facts", rename_all = "snake_case")]
pub enum FileEvent {
    /// A file is being taken: its message is sent next. The fields that go on with it are the body.
    MessageFileTaken {
        /// The message.
        id: MessageId,
        /// SHA-256 of the file.
        digest: Digest,
        /// Where it lay, below `.switchboard/`.
        from: String,
        /// Who it says sends it.
        sender: AgentName,
        /// The key whose signature was believed.
        signed_by: Option<String>,
        /// The nonce that is used up, and until when it counts.
        nonce: Option<(String, Millis)>,
    },
    /// A file was refused and set aside.
    MessageFileRefused {
        /// Where it lay.
        from: String,
        /// The message, where it says one.
        id: Option<MessageId>,
        /// Why.
        code: String,
        /// The same in words.
        what: String,
    },
    /// A file asks for more than it may; a person decides. The whole file is the body.
    MessageHeld {
        /// The message.
        id: MessageId,
        /// The question.
        need: NeedId,
        /// SHA-256 of the file.
        digest: Digest,
        /// Where it lay.
        from: String,
        /// What it is for.
        action: Action,
        /// Who it says sends it.
        sender: AgentName,
        /// Who is to read it.
        recipient: AgentName,
        /// When nobody's word counts as no.
        expires_at: Millis,
    },
    /// A person or the clock decided.
    HeldMessageSettled {
        /// The message.
        id: MessageId,
        /// `approved`, `denied`, `expired`, or `refused` when it could not be sent after a yes.
        outcome: String,
    },
    /// A message is being written as a file: its temporary file is there.
    MessageFileStaged {
        /// The message.
        id: MessageId,
        /// Whose.
        recipient: AgentName,
        /// The folder in `inbox/`.
        folder: String,
    },
    /// The file is in its place.
    MessageFileWritten {
        /// The message.
        id: MessageId,
    },
    /// The file is not there any more.
    MessageFileGone {
        /// The message.
        id: MessageId,
        /// Why.
        how: Gone,
    },
    /// Nonces that nobody would believe any more are forgotten.
    NoncesForgotten {
        /// Which.
        nonces: Vec<String>,
    },
}

/// Why a file is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gone {
    /// The recipient took it.
    PickedUp,
    /// We archived it.
    Archived,
    /// Its whole folder vanished; it is written again.
    Lost,
}

/// The projector of message files.
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
        match event.kind.as_str() {
            "message_acked" => patch_of_message(event, ("acked", 1_i64.into())),
            // Its file is in the archive; it gets another one.
            "message_revived" => patch_of_message(event, ("state", "lost".into())),
            _ => event.fact::<FileEvent>().map_or_else(Vec::new, |fact| project(event, fact)),
        }
    }
}

/// The mail's own events, of which only the id matters here.
fn patch_of_message(event: &Event, set: (&'static str, Cell)) -> Vec<Change> {
    let id = event.facts.get("id").and_then(serde_json::Value::as_str);
    id.map_or_else(Vec::new, |id| vec![Change::patch(OUT, [id.into()], [set])])
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

/// A message as the log tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Its id.
    pub id: MessageId,
    /// What it is for.
    pub action: Action,
    /// Who sent it.
    pub sender: AgentName,
    /// Whether the sender is proven.
    pub is_verified: bool,
    /// Who is to read it.
    pub recipient: AgentName,
    /// What it answers.
    pub reply_to: Option<MessageId>,
    /// The text.
    pub payload: String,
    /// When the store took it.
    pub at: Millis,
}

/// The message that an event tells of, if it is one.
#[must_use]
pub fn sent_in(event: &Event) -> Option<Sent> {
    let fact = event.fact::<MessageEvent>()?;
    let MessageEvent::MessageSent { id, action, sender, verified, recipient, reply_to, .. } = fact else { return None };
    let payload = event.body.clone().unwrap_or_default();
    Some(Sent { id, action, sender, is_verified: verified, recipient, reply_to, payload, at: event.ts })
}
