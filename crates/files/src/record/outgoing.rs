//! Messages as files for those who read no other way: which, how they look, and the record of where they are.

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

/// The durable cursor of the adapter that writes files.
const CURSOR: &str = "files/out";

/// The word among an agent's capabilities that says that it reads files.
const CAPABILITY: &str = "files";

/// A message that is written as a file, or was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Out {
    /// The message.
    pub id: MessageId,
    /// Whose.
    pub recipient: AgentName,
    /// The folder in `inbox/`.
    pub folder: String,
    /// Whether it is in its place; else only its temporary file may be there.
    pub is_written: bool,
    /// Whether the recipient has acknowledged it.
    pub is_acked: bool,
}

// === impl Out ===

impl Out {
    /// The file's name.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}.json", self.id)
    }
}

/// Whether an agent's mail is written as files: it says so, or keeps a folder in `inbox/`. Workers get theirs in turns.
#[must_use]
pub fn is_reached(agent: &Agent, has_folder: bool) -> bool {
    let reads_files = agent.capabilities.iter().any(|word| word == CAPABILITY);
    agent.kind != AgentKind::Worker && (reads_files || has_folder)
}

/// Messages of an agent that wait and have no file yet, oldest first: those from before it read files, and those whose
/// folder vanished.
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

/// Where the adapter stands in the log.
///
/// # Errors
/// When the store can't be read.
pub fn cursor(store: &Store) -> Result<Lsn, Error> {
    Ok(store.cursor(CURSOR)?)
}

/// What the log tells the adapter, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// A message was sent.
    Sent(Sent),
    /// A message was acknowledged.
    Acked(MessageId),
    /// A message is not to be delivered any more: expired, taken back, replaced, or dead.
    Ended(MessageId),
    /// A dead message of somebody is to be delivered again.
    Revived(AgentName),
    /// A held message was decided about.
    Settled(MessageId),
}

/// The news after a position, and the position up to which was looked.
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

/// Files that are, or may be, in a folder.
///
/// # Errors
/// When the store can't be read.
pub fn outstanding(store: &Store) -> Result<Vec<Out>, Error> {
    let query = Query::table(OUT).is_in("state", ["staged", "written"]).asc("seq");
    store.read(&query)?.iter().map(of_row).collect()
}

/// Whether a message has, or had, a file that was not lost.
///
/// # Errors
/// When the store can't be read.
pub fn was_written(store: &Store, id: &MessageId) -> Result<bool, Error> {
    let row = store.get(OUT, &[id.as_str().into()])?;
    Ok(row.is_some_and(|row| row.get_text("state") != Some("lost")))
}

/// Records that the temporary files of some messages are there.
///
/// # Errors
/// The store's failure.
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

/// Records that files are in their place, which offers the messages; moves the cursor along.
///
/// # Errors
/// The store's failure.
pub async fn mark_written(store: &Store, files: &[Out], until: Lsn) -> Result<(), Error> {
    let mut batch = Batch::new(Durability::Synced).advance(CURSOR, until);
    for file in files {
        let written = FileEvent::MessageFileWritten { id: file.id.clone() };
        batch = batch.event(NewEvent::of(&written, subject(&file.id), "daemon")?).event(offered(file)?);
    }
    store.commit(batch).await?;
    Ok(())
}

/// Records that files are gone; those that were picked up count as seen.
///
/// # Errors
/// The store's failure.
pub async fn mark_gone(store: &Store, files: &[Out], how: Gone) -> Result<(), Error> {
    let mut batch = Batch::new(Durability::Synced);
    for file in files {
        batch = batch.event(gone(file, how)?);
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

fn gone(file: &Out, how: Gone) -> Result<NewEvent, Error> {
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

/// The text of a message's file: the protocol's fields in their documented order, then whether the sender is proven.
/// What makes an agent act is signed, so that its reader can tell it from a file that anybody wrote.
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

/// What came along in the file of a message that came as one.
fn carried(store: &Store, id: &MessageId) -> Result<Fields, Error> {
    let Some(row) = store.get(TAKEN, &[id.as_str().into()])? else { return said(store, id) };
    let body = store.body(row.try_u64("seq")?)?;
    Ok(body.map_or_else(|| Ok(Fields::new()), |text| serde_json::from_str(&text))?)
}

/// What a message holds beside its text, whatever face it came by.
fn said(store: &Store, id: &MessageId) -> Result<Fields, Error> {
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
