//! Mail that waits for an agent, and evidence that the agent has seen it.

use std::collections::BTreeSet;

use switchboard_pipeline::delivery::choose;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::{AgentName, MessageId};
use switchboard_protocol::message::{Message, MessageEvent};
use switchboard_store::{Row, Store};

use crate::Error;
use crate::check_inbox::{inbox, injections};
use crate::mail::MESSAGES;
use crate::message::{item, of_row, of_rows};

/// Maximum number of rows examined for one delivery.
const MAX_EXAMINED: u64 = 1_000;

/// Returns messages that may be delivered now and that the recipient is not known to have seen: control first, then
/// urgent ones, oldest first.
///
/// # Errors
/// When the store can't be read.
pub fn waiting(store: &Store, recipient: &AgentName, limit: usize) -> Result<Vec<Message>, Error> {
    let rows = store.read(&inbox(recipient).eq("injected", 0_i64).asc("lane").asc("seq").limit(MAX_EXAMINED))?;
    let items = rows.iter().map(item).collect::<Result<Vec<_>, _>>()?;
    let chosen: Vec<&Row> = choose(&items, store.now(), limit).into_iter().map(|place| &rows[place]).collect();
    of_rows(store, chosen)
}

/// Returns the ids of all messages that [`waiting`] could return.
pub(crate) fn unseen_ids(store: &Store, recipient: &AgentName) -> Result<BTreeSet<String>, Error> {
    let rows = store.read(&inbox(recipient).eq("injected", 0_i64).asc("lane").asc("seq").limit(MAX_EXAMINED))?;
    let items = rows.iter().map(item).collect::<Result<Vec<_>, _>>()?;
    let chosen = choose(&items, store.now(), rows.len());
    chosen.into_iter().map(|place| Ok(rows[place].try_text("id")?.to_owned())).collect()
}

/// Returns the events that messages were offered in a channel of their recipient (`prompt`, `inbox-file`), which does
/// not prove that it saw them.
///
/// # Errors
/// When the fact does not serialise.
pub fn offered(ids: &[MessageId], recipient: &AgentName, channel: &str, actor: &str) -> Result<Vec<NewEvent>, Error> {
    let event = |id: &MessageId| {
        let (recipient, channel) = (recipient.clone(), channel.to_owned());
        let fact = MessageEvent::MessageOffered { id: id.clone(), recipient, channel };
        Ok(NewEvent::of(&fact, format!("message/{id}"), actor)?)
    };
    ids.iter().map(event).collect()
}

/// Returns true if there is a message with this id.
///
/// # Errors
/// When the store can't be read.
pub fn is_known(store: &Store, id: &MessageId) -> Result<bool, Error> {
    Ok(store.get(MESSAGES, &[id.as_str().into()])?.is_some())
}

/// Returns a message by its id.
///
/// # Errors
/// When the store can't be read.
pub fn message(store: &Store, id: &MessageId) -> Result<Option<Message>, Error> {
    store.get(MESSAGES, &[id.as_str().into()])?.map(|row| of_row(store, &row)).transpose()
}

/// Returns the events that record that an agent has seen messages; the caller commits them.
///
/// # Errors
/// When the fact does not serialise.
pub fn injected(ids: &[MessageId], recipient: &AgentName, evidence: &str, actor: &str) -> Result<Vec<NewEvent>, Error> {
    injections(ids, recipient, evidence, actor)
}
