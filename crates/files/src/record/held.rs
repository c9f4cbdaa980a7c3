//! Messages that wait for a person's approval.

use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::file::FileEvent;
use switchboard_protocol::id::{AgentName, Digest, MessageId, NeedId};
use switchboard_protocol::time::Millis;
use switchboard_store::{Batch, Durability, Guard, Idempotency, Query, Row, Store};

use super::HELD;
use super::incoming::subject;
use crate::Error;

/// Maximum number of questions in one answer.
const MAX_LISTED: u64 = 1000;

/// Message that waits for a person, or did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Id of the question.
    pub need: NeedId,
    /// Id of the message.
    pub id: MessageId,
    /// Former path of its file, below `.switchboard/`.
    pub from: String,
    /// Purpose of the message.
    pub action: String,
    /// Claimed sender.
    pub sender: AgentName,
    /// Recipient of the message.
    pub recipient: AgentName,
    /// SHA-256 of the file.
    pub digest: Digest,
    /// Text of the file.
    pub text: String,
    /// Time of arrival.
    pub asked_at: Millis,
    /// Time at which it expires.
    pub expires_at: Millis,
    /// Outcome: `approved`, `denied`, `expired` or `refused`; empty while it waits.
    pub outcome: String,
}

/// Lists held messages, oldest first.
///
/// # Errors
/// When the store can't be read.
pub fn list_held(store: &Store, include_settled: bool) -> Result<Vec<Held>, Error> {
    let query = Query::table(HELD).asc("seq").limit(MAX_LISTED);
    let query = if include_settled { query } else { query.eq("outcome", "") };
    store.read(&query)?.iter().map(|row| of_row(store, row)).collect()
}

/// Finds held messages by the beginning of their question's id, with or without `need_`.
///
/// # Errors
/// When the store can't be read.
pub fn find_held(store: &Store, need: &str) -> Result<Vec<NeedId>, Error> {
    let rows = store.read(&Query::table(HELD).desc("seq").limit(10_000))?;
    let fits = |known: &&str| known.starts_with(need) || known.trim_start_matches("need_").starts_with(need);
    let found = rows.iter().filter_map(|row| row.get_text("need")).filter(fits);
    Ok(found.filter_map(|known| NeedId::new(known).ok()).collect())
}

/// Returns the held message of a question.
///
/// # Errors
/// When the store can't be read.
pub fn held(store: &Store, need: &NeedId) -> Result<Option<Held>, Error> {
    let rows = store.read(&Query::table(HELD).eq("need", need.as_str()).limit(1))?;
    rows.first().map(|row| of_row(store, row)).transpose()
}

/// Returns the held message with an id.
///
/// # Errors
/// When the store can't be read.
pub fn held_message(store: &Store, id: &MessageId) -> Result<Option<Held>, Error> {
    store.get(HELD, &[id.as_str().into()])?.map(|row| of_row(store, &row)).transpose()
}

/// Resolves a question; the message of an approved one is sent next.
///
/// # Errors
/// `need.settled` if it was settled before, or a failure of the store.
pub async fn settle_held(
    store: &Store,
    held: &Held,
    outcome: &str,
    by: &str,
    call: Option<Idempotency>,
) -> Result<(), Error> {
    let fact = FileEvent::HeldMessageSettled { id: held.id.clone(), outcome: outcome.to_owned() };
    let event = NewEvent::of(&fact, subject(&held.id), by)?;
    let refusal = Failure::new("need.settled", format!("{} was settled before", held.need));
    let guard = Guard::equals(HELD, [held.id.as_str().into()], "outcome", held.outcome.as_str(), refusal);
    let mut batch = Batch::new(Durability::Synced).event(event).guard(guard);
    batch.idempotency = call;
    store.commit(batch).await?;
    Ok(())
}

/// Returns the held messages that were approved and are not sent yet, and those that have expired.
///
/// # Errors
/// When the store can't be read.
pub fn due(store: &Store) -> Result<(Vec<Held>, Vec<Held>), Error> {
    let now = store.now();
    let approved = store.read(&Query::table(HELD).eq("outcome", "approved").asc("seq").limit(MAX_LISTED))?;
    let mut unsent = Vec::new();
    for row in &approved {
        let held = of_row(store, row)?;
        if !switchboard_bus::is_known(store, &held.id)? {
            unsent.push(held);
        }
    }
    let waiting = store.read(&Query::table(HELD).eq("outcome", "").asc("seq").limit(MAX_LISTED))?;
    let late = waiting.iter().filter(|row| row.get_int("expires_at").is_some_and(|at| at <= now.0));
    Ok((unsent, late.map(|row| of_row(store, row)).collect::<Result<_, _>>()?))
}

fn of_row(store: &Store, row: &Row) -> Result<Held, Error> {
    let bad = |what: &'static str, text: &str| Error::BadRow { what, text: text.to_owned() };
    let name = |column: &'static str| {
        let text = row.try_text(column)?;
        AgentName::new(text).map_err(|_| bad(column, text))
    };
    let (id, need, digest) = (row.try_text("id")?, row.try_text("need")?, row.try_text("digest")?);
    Ok(Held {
        need: NeedId::new(need).map_err(|_| bad("a question's id", need))?,
        id: MessageId::new(id).map_err(|_| bad("a message id", id))?,
        from: row.try_text("from_path")?.to_owned(),
        action: row.try_text("action")?.to_owned(),
        sender: name("sender")?,
        recipient: name("recipient")?,
        digest: Digest::parse(digest).ok_or_else(|| bad("a digest", digest))?,
        text: store.body(row.try_u64("seq")?)?.unwrap_or_default(),
        asked_at: Millis(row.try_int("asked_at")?),
        expires_at: Millis(row.try_int("expires_at")?),
        outcome: row.get_text("outcome").unwrap_or_default().to_owned(),
    })
}
