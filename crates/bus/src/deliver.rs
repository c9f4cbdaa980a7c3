//! For whoever puts mail before an agent: what waits, and the evidence that it was seen.

use protocol::event::NewEvent;
use protocol::id::{AgentName, MessageId};
use protocol::message::Message;
use store::Store;

use crate::Error;
use crate::check_inbox::{inbox, injections, of_row};
use crate::mail::MESSAGES;

/// Messages that are not known to have been before the recipient's eyes, oldest first.
///
/// # Errors
/// When the store can't be read.
pub fn waiting(store: &Store, recipient: &AgentName, limit: usize) -> Result<Vec<Message>, Error> {
    let query = inbox(recipient, false).eq("injected", 0_i64).asc("seq").limit(limit as u64);
    store.read(&query)?.iter().map(|row| of_row(store, row)).collect()
}

/// One message.
///
/// # Errors
/// When the store can't be read.
pub fn message(store: &Store, id: &MessageId) -> Result<Option<Message>, Error> {
    store.get(MESSAGES, &[id.as_str().into()])?.map(|row| of_row(store, &row)).transpose()
}

/// The events that record that messages were before an agent's eyes, for whoever commits the evidence.
///
/// # Errors
/// When the fact does not serialise.
pub fn injected(ids: &[MessageId], recipient: &AgentName, evidence: &str, actor: &str) -> Result<Vec<NewEvent>, Error> {
    injections(ids, recipient, evidence, actor)
}
