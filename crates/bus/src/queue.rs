//! Changes of one message in a queue: reads it, asks the pure rule, writes the decision under guards, and retries after
//! a race.

use serde::{Serialize, de::DeserializeOwned};
use switchboard_pipeline::delivery::{Item, Turn};
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::{AgentName, MessageId};
use switchboard_protocol::message::{MessageEvent, QueueState};
use switchboard_protocol::text::cut;
use switchboard_protocol::time::Millis;
use switchboard_store::{Batch, Durability, Guard, Query, Row, Store};

use crate::error::refuse;
use crate::mail::MESSAGES;
use crate::message::{bytes, id, item, millis, name};
use crate::{Call, Error, repeated};

/// Maximum number of retries of a decision after races.
const RACES: usize = 8;

/// Code of a guard broken by a race; it never reaches a caller.
const RACED: &str = "somebody else was faster";

/// Maximum number of messages settled by one sweep.
const SWEEP: u64 = 500;

/// Message with its queue data.
pub(crate) struct Entry {
    pub(crate) id: MessageId,
    pub(crate) recipient: AgentName,
    pub(crate) sender: AgentName,
    pub(crate) bytes: u64,
    pub(crate) expires_at: Option<Millis>,
    pub(crate) item: Item,
    pub(crate) is_done: bool,
}

/// Result of a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Number of messages that were returned or ended.
    pub settled: usize,
    /// When the clock acts on a message next.
    pub next: Option<Millis>,
}

// === impl Entry ===

impl Entry {
    pub(crate) fn of(row: &Row) -> Result<Self, Error> {
        Ok(Self {
            id: id(row, "id")?,
            recipient: name(row, "recipient_name")?,
            sender: name(row, "sender")?,
            bytes: bytes(row),
            expires_at: millis(row, "expires_at"),
            item: item(row)?,
            is_done: row.get_bool("done"),
        })
    }

    pub(crate) fn read(store: &Store, id: &MessageId) -> Result<Self, Error> {
        Self::of(&crate::message::row(store, id)?)
    }

    /// Returns the guards that the message has not changed since it was read.
    pub(crate) fn unchanged(&self) -> [Guard; 2] {
        let key = || [self.id.as_str().into()];
        let token = self.item.lease.map_or(switchboard_store::Cell::Null, |lease| lease.token.into());
        [
            Guard::equals(MESSAGES, key(), "state", self.item.state.as_str(), raced()),
            Guard::equals(MESSAGES, key(), "token", token, raced()),
        ]
    }

    pub(crate) fn event(&self, fact: &MessageEvent, actor: &str) -> Result<NewEvent, Error> {
        Ok(NewEvent::of(fact, format!("message/{}", self.id), actor)?)
    }

    /// Returns the event for a change of the message.
    pub(crate) fn turned(&self, turn: Turn, why: &str, actor: &str) -> Result<NewEvent, Error> {
        let fact = match turn {
            Turn::Returned(not_before) => MessageEvent::MessageReturned {
                id: self.id.clone(),
                recipient: self.recipient.clone(),
                why: cut(why, 200),
                not_before,
                expires_at: self.expires_at,
            },
            Turn::Dead(cause) if why.is_empty() => self.ended(QueueState::Dead, cause),
            Turn::Dead(cause) => self.ended(QueueState::Dead, &format!("{cause}: {why}")),
            Turn::Expired => self.ended(QueueState::Expired, "its time to live was over"),
        };
        self.event(&fact, actor)
    }

    pub(crate) fn ended(&self, state: QueueState, cause: &str) -> MessageEvent {
        MessageEvent::MessageEnded {
            id: self.id.clone(),
            recipient: self.recipient.clone(),
            state,
            cause: cut(cause, 200),
            bytes: self.bytes,
        }
    }
}

pub(crate) fn raced() -> Failure {
    Failure::new("store.conflict", RACED)
}

/// Returns true if a commit was refused because of a race.
pub(crate) fn is_race(error: &switchboard_store::Error) -> bool {
    matches!(error, switchboard_store::Error::Refused(failure) if failure.what == RACED)
}

/// Reads a message, decides, and writes; starts over if the message has changed in between. An empty decision writes
/// nothing. A repeated call gets its first answer, whatever has happened to the message since.
pub(crate) async fn change<T: Serialize + DeserializeOwned>(
    store: &Store,
    call: &Call,
    id: &MessageId,
    decide: impl Fn(&Entry, Millis) -> Result<(Vec<NewEvent>, T), Error>,
) -> Result<T, Error> {
    for _ in 0..RACES {
        let entry = Entry::read(store, id)?;
        let (events, answer) = match decide(&entry, store.now()) {
            Ok(decided) => decided,
            Err(Error::Refused(refused)) => {
                let first = repeated::or_refuse(store, call.idempotency.as_ref(), refused).await?;
                return Ok(serde_json::from_value(first.reply)?);
            }
            Err(error) => return Err(error),
        };
        if events.is_empty() {
            return Ok(answer);
        }
        let mut batch = Batch { events, reply: serde_json::to_value(&answer)?, ..call.batch() };
        batch.guards.extend(entry.unchanged());
        match store.commit(batch).await {
            Err(error) if is_race(&error) => {}
            result => return Ok(serde_json::from_value(result?.reply)?),
        }
    }
    refuse(Failure::new("store.conflict", format!("the message {id} changes all the time")).hint("try again"))
}

/// Applies the effects of time: lapsed deliveries return or become dead letters, and messages beyond their time to live
/// expire. At most 500 messages per call.
///
/// # Errors
/// A failure of the store.
pub async fn sweep(store: &Store) -> Result<Swept, Error> {
    let (now, next) = (store.now(), next_due(store)?);
    if next.is_none_or(|next| next > now) {
        return Ok(Swept { settled: 0, next });
    }
    Ok(Swept { settled: expire(store, now).await?, next: next_due(store)? })
}

/// As [`sweep`], for the many callers that don't ask when the clock acts next.
///
/// # Errors
/// A failure of the store.
pub(crate) async fn expire_due(store: &Store) -> Result<(), Error> {
    let now = store.now();
    if next_due(store)?.is_some_and(|next| next <= now) {
        expire(store, now).await?;
    }
    Ok(())
}

/// Applies the effects of time that are due; returns their number.
async fn expire(store: &Store, now: Millis) -> Result<usize, Error> {
    let mut settled = 0;
    for row in store.read(&Query::table(MESSAGES).le("due", now.0).asc("due").limit(SWEEP))? {
        let entry = Entry::of(&row)?;
        let Some(turn) = entry.item.expire(now) else { continue };
        let mut batch = Batch::new(Durability::Written).event(entry.turned(turn, "", "switchboard")?);
        batch.guards.extend(entry.unchanged());
        match store.commit(batch).await {
            Ok(_) => settled += 1,
            Err(error) if is_race(&error) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(settled)
}

/// Returns when the clock acts on a message next.
fn next_due(store: &Store) -> Result<Option<Millis>, Error> {
    Ok(store.least(MESSAGES, "due")?.map(Millis))
}
