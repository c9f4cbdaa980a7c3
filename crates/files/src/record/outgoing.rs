//! Outgoing message files: which messages are written, their form, and the record of where they are.

use serde_json::{Map, Value, json};
use switchboard_protocol::agent::{Agent, AgentKind};
use switchboard_protocol::event::{Lsn, NewEvent};
use switchboard_protocol::file::{FileEvent, Gone};
use switchboard_protocol::id::{AgentName, MessageId};
use switchboard_protocol::message::{Action, MessageEvent};
use switchboard_store::{Batch, Durability, Filter, Query, Row, Store};

use super::incoming::subject;
use super::{OUT, Sent, TAKEN, sent_in};
use crate::Error;
use switchboard_bus::auth::{Fields, Key, sign};

/// Durable cursor of the writer of files.
const CURSOR: &str = "files/out";

/// Capability of an agent that reads files.
const CAPABILITY: &str = "files";

/// Message that is written as a file, or was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Out {
    /// Id of the message.
    pub id: MessageId,
    /// Recipient of the message.
    pub recipient: AgentName,
    /// Name of the folder in `inbox/`.
    pub folder: String,
    /// True if the file is in its place; otherwise only its temporary file may exist.
    pub is_written: bool,
    /// True if the recipient has acknowledged it.
    pub is_acked: bool,
}

// === impl Out ===

impl Out {
    /// Returns the file's name.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}.json", self.id)
    }
}

/// Returns true if an agent's mail is written as files: it has the capability, or a folder in `inbox/`. Workers get
/// their mail in turns.
#[must_use]
pub fn is_reached(agent: &Agent, has_folder: bool) -> bool {
    let reads_files = agent.capabilities.iter().any(|word| word == CAPABILITY);
    agent.kind != AgentKind::Worker && (reads_files || has_folder)
}

/// Returns the waiting messages of an agent that have no file yet, oldest first: those from before it read files, and
/// those whose folder was removed.
///
/// # Errors
/// When the store can't be read.
pub fn waiting_without_file(store: &Store, recipient: &AgentName, limit: usize) -> Result<Vec<Sent>, Error> {
    let mut found = Vec::new();
    for message in switchboard_bus::waiting(store, recipient, limit)? {
        if !was_written(store, &message.id)? {
            found.push(Sent {
                id: message.id,
                action: message.action,
                sender: message.sender,
                is_verified: message.sender_verified,
                recipient: message.recipient,
                reply_to: message.reply_to,
                payload: message.payload,
                at: message.created_at,
            });
        }
    }
    Ok(found)
}

/// Returns the writer's position in the log.
///
/// # Errors
/// When the store can't be read.
pub fn cursor(store: &Store) -> Result<Lsn, Error> {
    Ok(store.cursor(CURSOR)?)
}

/// News for the writer of files, in the order of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// A message was sent.
    Sent(Sent),
    /// A message was acknowledged.
    Acked(MessageId),
    /// A message is not to be delivered any more: it expired, was cancelled or replaced, or is a dead letter.
    Ended(MessageId),
    /// A dead letter of a recipient is to be delivered again.
    Revived(AgentName),
    /// A held message was decided on.
    Settled(MessageId),
}

/// Returns the news after a position, and the last position examined.
///
/// # Errors
/// When the store can't be read.
pub fn news(store: &Store, after: Lsn, limit: usize) -> Result<(Vec<News>, Lsn), Error> {
    let head = store.head().lsn;
    let kinds = ["message_sent", "message_acked", "message_ended", "message_revived", "held_message_settled"];
    let events = store.events(after, &Filter::kinds(kinds), limit)?;
    let until = if events.len() < limit { head } else { events.last().map_or(head, |event| event.lsn) };
    let mut news = Vec::new();
    for mut event in events {
        if let Some(fact) = event.fact::<FileEvent>() {
            news.extend(of_file(fact));
        } else if let Some(fact) = event.fact::<MessageEvent>() {
            if matches!(fact, MessageEvent::MessageSent { .. }) {
                event.body = store.body(event.lsn)?;
                news.extend(sent_in(&event).map(News::Sent));
            } else {
                news.extend(of_message(fact));
            }
        }
    }
    Ok((news, until))
}

fn of_file(fact: FileEvent) -> Option<News> {
    match fact {
        FileEvent::HeldMessageSettled { id, .. } => Some(News::Settled(id)),
        FileEvent::MessageFileTaken { .. }
        | FileEvent::MessageFileRefused { .. }
        | FileEvent::MessageHeld { .. }
        | FileEvent::MessageFileStaged { .. }
        | FileEvent::MessageFileWritten { .. }
        | FileEvent::MessageFileGone { .. }
        | FileEvent::NoncesForgotten { .. } => None,
    }
}

fn of_message(fact: MessageEvent) -> Option<News> {
    match fact {
        MessageEvent::MessageAcked { id, .. } => Some(News::Acked(id)),
        MessageEvent::MessageEnded { id, .. } => Some(News::Ended(id)),
        MessageEvent::MessageRevived { recipient, .. } => Some(News::Revived(recipient)),
        MessageEvent::MessageSent { .. }
        | MessageEvent::MessageDetailed { .. }
        | MessageEvent::MessageOffered { .. }
        | MessageEvent::MessageInjected { .. }
        | MessageEvent::MessageLeased { .. }
        | MessageEvent::MessageExtended { .. }
        | MessageEvent::MessageReturned { .. }
        | MessageEvent::MessageDone { .. }
        | MessageEvent::MessageDropped { .. }
        | MessageEvent::RequestReplied { .. } => None,
    }
}

/// Returns the files that are, or may be, in a folder.
///
/// # Errors
/// When the store can't be read.
pub fn outstanding(store: &Store) -> Result<Vec<Out>, Error> {
    let query = Query::table(OUT).is_in("state", ["staged", "written"]).asc("seq");
    store.read(&query)?.iter().map(of_row).collect()
}

/// Returns true if a message has, or had, a file that was not lost.
///
/// # Errors
/// When the store can't be read.
pub fn was_written(store: &Store, id: &MessageId) -> Result<bool, Error> {
    let row = store.get(OUT, &[id.as_str().into()])?;
    Ok(row.is_some_and(|row| row.get_text("state") != Some("lost")))
}

/// Records that the temporary files of some messages exist.
///
/// # Errors
/// A failure of the store.
pub async fn stage(store: &Store, files: &[Out]) -> Result<(), Error> {
    let mut batch = Batch::new(Durability::Synced);
    for file in files {
        let fact = FileEvent::MessageFileStaged {
            id: file.id.clone(),
            recipient: file.recipient.clone(),
            folder: file.folder.clone(),
        };
        batch = batch.event(NewEvent::of(&fact, subject(&file.id), "daemon")?);
    }
    store.commit(batch).await?;
    Ok(())
}

/// Records that files are in their place, which offers the messages; advances the cursor.
///
/// # Errors
/// A failure of the store.
pub async fn mark_written(store: &Store, files: &[Out], until: Lsn) -> Result<(), Error> {
    let mut batch = Batch::new(Durability::Synced).advance(CURSOR, until);
    for file in files {
        let written = FileEvent::MessageFileWritten { id: file.id.clone() };
        batch = batch.event(NewEvent::of(&written, subject(&file.id), "daemon")?).event(offered(file)?);
    }
    store.commit(batch).await?;
    Ok(())
}

/// Records that files no longer exist; messages whose files were picked up count as seen.
///
/// # Errors
/// A failure of the store.
pub async fn mark_gone(store: &Store, files: &[Out], how: Gone) -> Result<(), Error> {
    let mut batch = Batch::new(Durability::Synced);
    for file in files {
        batch = batch.event(file_gone(file, how)?);
        if how == Gone::PickedUp {
            for event in
                switchboard_bus::injected(std::slice::from_ref(&file.id), &file.recipient, "file picked up", "daemon")?
            {
                batch = batch.event(event);
            }
        }
    }
    store.commit(batch).await?;
    Ok(())
}

fn file_gone(file: &Out, how: Gone) -> Result<NewEvent, Error> {
    Ok(NewEvent::of(&FileEvent::MessageFileGone { id: file.id.clone(), how }, subject(&file.id), "daemon")?)
}

fn offered(file: &Out) -> Result<NewEvent, Error> {
    let fact = MessageEvent::MessageOffered {
        id: file.id.clone(),
        recipient: file.recipient.clone(),
        channel: "inbox-file".to_owned(),
    };
    Ok(NewEvent::of(&fact, format!("message/{}", file.id), "daemon")?)
}

fn of_row(row: &Row) -> Result<Out, Error> {
    let bad = |what: &'static str, text: &str| Error::BadRow { what, text: text.to_owned() };
    let (id, recipient) = (row.try_text("id")?, row.try_text("recipient")?);
    Ok(Out {
        id: MessageId::new(id).map_err(|_| bad("a message id", id))?,
        recipient: AgentName::new(recipient).map_err(|_| bad("a recipient", recipient))?,
        folder: row.try_text("folder")?.to_owned(),
        is_written: row.get_text("state") == Some("written"),
        is_acked: row.get_bool("acked"),
    })
}

/// Returns the text of a message's file: the protocol's fields in their documented order, then whether the sender is
/// verified. Messages that make an agent act are signed, so that its reader can distinguish them from files of any
/// other writer.
///
/// # Errors
/// When the store can't be read.
pub fn render(store: &Store, message: &Sent, key: Option<&Key>, nonce: &str) -> Result<String, Error> {
    let carried = carried(store, &message.id)?;
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("id", json!(message.id));
    put("action", json!(message.action));
    put("sender", json!(message.sender));
    put("recipient", json!(message.recipient));
    put("payload", json!(message.payload));
    for name in ["metadata", "persona", "team"] {
        if let Some(value) = carried.get(name) {
            put(name, value.clone());
        }
    }
    if let Some(reply_to) = &message.reply_to {
        put("replyTo", json!(reply_to));
    }
    put("createdAt", json!(message.at.to_string()));
    put("senderVerified", json!(message.is_verified));
    let acts = matches!(message.action, Action::Execute | Action::DelegateTask);
    if let Some(key) = key.filter(|_| acts) {
        // Metadata that can't be signed is sent without a signature, rather than changed.
        if let Ok(envelope) = sign(&fields, key, nonce) {
            fields.insert("auth".to_owned(), serde_json::to_value(envelope)?);
        }
    }
    Ok(serde_json::to_string_pretty(&fields)? + "\n")
}

/// Returns the fields that were passed on with a message that came as a file.
fn carried(store: &Store, id: &MessageId) -> Result<Fields, Error> {
    let Some(row) = store.get(TAKEN, &[id.as_str().into()])? else { return message_fields(store, id) };
    let body = store.body(row.try_u64("seq")?)?;
    Ok(body.map_or_else(|| Ok(Fields::new()), |text| serde_json::from_str(&text))?)
}

/// Returns the fields of a message in addition to its text, whatever face it came by.
fn message_fields(store: &Store, id: &MessageId) -> Result<Fields, Error> {
    let message = switchboard_bus::message(store, id)?;
    let (metadata, persona, team) =
        message.map_or_else(Default::default, |message| (message.metadata, message.persona, message.team));
    let mut fields = Fields::new();
    fields.extend(metadata.map(|metadata| ("metadata".to_owned(), metadata)));
    for (name, word) in [("persona", persona), ("team", team)] {
        if !word.is_empty() {
            fields.insert(name.to_owned(), word.into());
        }
    }
    Ok(fields)
}
