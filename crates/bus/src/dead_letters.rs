//! Dead letters: undeliverable messages that wait for a person to put them back or drop them. Messages unseen for too
//! long, and those addressed to an agent that has left, become dead letters.

use switchboard_pipeline::delivery::{DEAD_LETTER_MS, LEFT_MS, SEEN_LATE_MS, Turn, UNSEEN_MS, abandoned};
use switchboard_protocol::agent::{Agent, AgentKind};
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::{Event, NewEvent};
use switchboard_protocol::id::{MessageId, NeedId};
use switchboard_protocol::message::{Message, MessageEvent, QueueState};
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::queue::ReviveMessageRequest;
use switchboard_store::{Batch, Cell, Change, Durability, Guard, Projection, Query, Row, Store, Table};

use crate::error::refuse;
use crate::mail::{MESSAGES, int, text};
use crate::message::{id, millis, of_row, row};
use crate::queue::{Entry, change, is_race, raced};
use crate::{Call, Error, revive_message, roster};

/// Dead letters, keyed by the message's id.
const DEAD_LETTERS: &str = "dead_letters";

/// Maximum number of dead letters in one answer.
const MAX_LISTED: u64 = 1000;

/// Maximum number of messages of one inbox that one call ends.
const MOST_ENDED: u64 = 500;

/// Maximum up to which unseen messages of one inbox are counted.
const COUNTED: u64 = 100;

static TABLES: [Table; 1] = [Table {
    name: DEAD_LETTERS,
    // `outcome` is empty while it waits; `at` is when it died or was settled.
    columns: &[text("id"), text("need"), int("seq"), int("at"), text("outcome")],
    key: &["id"],
    indexes: &[&["outcome", "seq"], &["need"]],
    sparse: &[],
}];

/// Projector of dead letters.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeadLetters;

/// Message that could not be delivered.
#[derive(Debug, Clone, PartialEq)]
pub struct DeadLetter {
    /// Id of the question whether to put it back.
    pub need: NeedId,
    /// Message, with the reason for which it was not delivered.
    pub message: Message,
    /// Time at which it became a dead letter, or was settled.
    pub at: Millis,
    /// `revived` or `dropped`; empty while it waits.
    pub outcome: String,
}

/// Mail that an agent has not seen for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unseen {
    /// Recipient of the mail.
    pub agent: Agent,
    /// Number of messages, counted up to 100.
    pub count: u64,
    /// Time since which the oldest one waits.
    pub since: Millis,
}

// === impl DeadLetters ===

impl Projection for DeadLetters {
    fn tables(&self) -> &'static [Table] {
        &TABLES
    }

    fn version(&self) -> u32 {
        1
    }

    fn prefixes(&self) -> &'static [&'static str] {
        &["message_ended", "message_revived", "message_dropped"]
    }

    fn project(&self, event: &Event) -> Vec<Change> {
        let settled = |id: &MessageId, outcome: &str| {
            let set = [("outcome", outcome.into()), ("at", event.ts.0.into())];
            vec![Change::patch(DEAD_LETTERS, [id.as_str().into()], set)]
        };
        match event.fact::<MessageEvent>() {
            Some(MessageEvent::MessageEnded { id, state: QueueState::Dead, .. }) => {
                let row = Row::new()
                    .with("id", id.as_str())
                    .with("need", need(&id).as_str())
                    .with("seq", event.lsn)
                    .with("at", event.ts.0)
                    .with("outcome", "");
                vec![Change::put(DEAD_LETTERS, row)]
            }
            Some(MessageEvent::MessageRevived { id, .. }) => settled(&id, "revived"),
            Some(MessageEvent::MessageDropped { id }) => settled(&id, "dropped"),
            _ => Vec::new(),
        }
    }
}

/// Returns the id of the question for a message: the same each time that the message becomes a dead letter.
fn need(id: &MessageId) -> NeedId {
    NeedId::of_dead_letter(id)
}

/// Returns the number of dead letters that wait for a person.
///
/// # Errors
/// When the store can't be read.
pub fn dead(store: &Store) -> Result<u64, Error> {
    crate::mail::total(store, "dead")
}

/// Lists dead letters, oldest first.
///
/// # Errors
/// When the store can't be read.
pub fn dead_letters(store: &Store, include_settled: bool) -> Result<Vec<DeadLetter>, Error> {
    let query = Query::table(DEAD_LETTERS).asc("seq").limit(MAX_LISTED);
    let query = if include_settled { query } else { query.eq("outcome", "") };
    store.read(&query)?.iter().map(|row| of_letter(store, row)).collect()
}

/// Finds dead letters by the beginning of their question's id, with or without `need_`.
///
/// # Errors
/// When the store can't be read.
pub fn find_dead_letters(store: &Store, need: &str) -> Result<Vec<DeadLetter>, Error> {
    let rows = store.read(&Query::table(DEAD_LETTERS).desc("seq").limit(10_000))?;
    let fits = |known: &str| known.starts_with(need) || known.trim_start_matches("need_").starts_with(need);
    let fitting = rows.iter().filter(|row| row.get_text("need").is_some_and(fits));
    fitting.map(|row| of_letter(store, row)).collect()
}

/// Puts a dead letter back into its queue or drops it, as decided by a person; returns the outcome.
///
/// # Errors
/// A refusal (not a person, settled before) or a failure of the store.
pub async fn settle_dead_letter(
    store: &Store,
    call: &Call,
    letter: &DeadLetter,
    revive: bool,
) -> Result<&'static str, Error> {
    let id = letter.message.id.clone();
    let settled = match revive {
        true => revive_message(store, call, ReviveMessageRequest { id }).await.map(|_| "revived"),
        false => drop_letter(store, call, &id).await.map(|()| "dropped"),
    };
    match settled {
        Err(Error::Refused(failure)) if failure.code == "bus.settled" => {
            refuse(Failure::new("need.settled", format!("{} was settled before: {}", letter.need, failure.what)))
        }
        other => other,
    }
}

async fn drop_letter(store: &Store, call: &Call, id: &MessageId) -> Result<(), Error> {
    if !call.caller.is_person() {
        return refuse(Failure::new("policy.denied", "only a person lets a dead letter go"));
    }
    change(store, call, id, |entry, _| {
        if entry.item.state != QueueState::Dead {
            let what = format!("the message is {}, not dead", entry.item.state.as_str());
            return refuse(Failure::new("bus.settled", what));
        }
        Ok((vec![dropped(entry, call.caller.name.as_str())?], ()))
    })
    .await
}

/// Returns the agents that have not seen mail for more than ten minutes, by name. People are left out.
///
/// # Errors
/// When the store can't be read.
pub fn unseen(store: &Store) -> Result<Vec<Unseen>, Error> {
    let late = store.now().0 - SEEN_LATE_MS;
    let mut found = Vec::new();
    // Usually no mail is late, which one read shows, however many agents and messages there are.
    if store
        .read(&Query::table(MESSAGES).ge("unseen_at", 0_i64).le("unseen_at", late).asc("unseen_at").limit(1))?
        .is_empty()
    {
        return Ok(found);
    }
    for agent in roster(store)?.into_iter().filter(|agent| agent.unread > 0 && agent.kind != AgentKind::Person) {
        let waiting = unseen_by(&agent).le("created_at", late);
        let oldest = store.read(&waiting.clone().asc("created_at").limit(1))?;
        if let Some(since) = oldest.first().and_then(|row| millis(row, "created_at")) {
            let count = store.count_up_to(&waiting, COUNTED)?;
            found.push(Unseen { agent, count, since });
        }
    }
    Ok(found)
}

/// Returns the query for messages that an agent has not seen, by their own index.
fn unseen_by(agent: &Agent) -> Query {
    Query::table(MESSAGES).eq("unseen", agent.name.folded()).eq("injected", 0_i64)
}

/// Ends messages that no recipient will see, which makes them dead letters, and drops dead letters after a week;
/// returns the total number of both.
///
/// # Errors
/// A failure of the store.
pub async fn end_unseen(store: &Store) -> Result<usize, Error> {
    let mut count = 0;
    for agent in roster(store)?.into_iter().filter(|agent| agent.unread > 0 && agent.kind != AgentKind::Person) {
        let left = agent.has_left.then_some(agent.last_seen);
        let patience = if agent.has_left { LEFT_MS } else { UNSEEN_MS };
        let old = unseen_by(&agent).le("created_at", store.now().0 - patience).asc("created_at");
        for row in store.read(&old.limit(MOST_ENDED))? {
            let Some(why) = abandoned(waits_since(store, &row)?, left, store.now()) else { continue };
            let entry = Entry::of(&row)?;
            let batch = Batch::new(Durability::Written).event(entry.turned(Turn::Dead(why), "", "switchboard")?);
            let unseen = Guard::equals(MESSAGES, [entry.id.as_str().into()], "injected", 0_i64, raced());
            count += usize::from(written(store, batch.guard(unseen), &entry).await?);
        }
    }
    let old = Query::table(DEAD_LETTERS).eq("outcome", "").asc("seq").limit(MOST_ENDED);
    for row in store.read(&old)? {
        if millis(&row, "at").is_some_and(|at| at.plus(DEAD_LETTER_MS) > store.now()) {
            break;
        }
        let entry = Entry::read(store, &id(&row, "id")?)?;
        let batch = Batch::new(Durability::Written).event(dropped(&entry, "switchboard")?);
        count += usize::from(written(store, batch, &entry).await?);
    }
    Ok(count)
}

fn dropped(entry: &Entry, actor: &str) -> Result<NewEvent, Error> {
    entry.event(&MessageEvent::MessageDropped { id: entry.id.clone() }, actor)
}

/// Commits a decision on a message; returns false if the message has changed meanwhile.
async fn written(store: &Store, mut batch: Batch, entry: &Entry) -> Result<bool, Error> {
    batch.guards.extend(entry.unchanged());
    match store.commit(batch).await {
        Ok(_) => Ok(true),
        Err(error) if is_race(&error) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns since when a message could be seen: it was sent, its delay was over, or a person put it back.
fn waits_since(store: &Store, row: &Row) -> Result<Millis, Error> {
    let key: [Cell; 1] = [row.try_text("id")?.into()];
    let back = store.get(DEAD_LETTERS, &key)?.and_then(|letter| millis(&letter, "at"));
    let times = [millis(row, "created_at"), millis(row, "not_before"), back];
    Ok(times.into_iter().flatten().max().unwrap_or(store.now()))
}

fn of_letter(store: &Store, letter: &Row) -> Result<DeadLetter, Error> {
    let id = id(letter, "id")?;
    Ok(DeadLetter {
        need: need(&id),
        message: of_row(store, &row(store, &id)?)?,
        at: Millis(letter.try_int("at")?),
        outcome: letter.get_text("outcome").unwrap_or_default().to_owned(),
    })
}
