//! `check_inbox`: lists mail waiting for its recipient, or the delivery state of sent mail. The recipient's own call is
//! evidence that it saw the mail.

use serde::{Deserialize, Serialize};
use switchboard_protocol::coordination::COORDINATOR;
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::{AgentName, MessageId};
use switchboard_protocol::message::{Action, DeliveryState, LANES, Message, MessageEvent};
use switchboard_protocol::text::cut;
use switchboard_protocol::verb::bus::{CheckInboxReply, CheckInboxRequest, MailBox};
use switchboard_store::{Batch, Durability, Query, Row, Store};

use crate::error::refuse;
use crate::mail::MESSAGES;
use crate::message::{of_rows, preview};
use crate::queue::expire_due;
use crate::{Call, Error, addressee, repeated, roster};

/// Default number of messages in an answer.
const DEFAULT_LIMIT: u32 = 20;
/// Maximum number of messages in one answer.
const MAX_LIMIT: u32 = 100;
/// Maximum up to which further messages are counted, so that a full inbox costs no more than a short one.
const MAX_BEHIND: u64 = 100;

/// Stored answer of a call, by its idempotency key.
#[derive(Debug, Serialize, Deserialize)]
struct Answered {
    ids: Vec<MessageId>,
    cursor: u64,
    more: u64,
}

/// Reads an inbox or an outbox. The recipient's own messages count as injected from now on, unless only previews were
/// requested. A call repeated under its idempotency key shows the messages of the first answer.
///
/// # Errors
/// A refusal (another agent's inbox, an unknown action) or a failure of the store.
pub async fn check_inbox(store: &Store, call: &Call, request: CheckInboxRequest) -> Result<CheckInboxReply, Error> {
    let owner = request.agent.clone().unwrap_or_else(|| call.caller.name.clone());
    let is_own = owner.folded() == call.caller.name.folded();
    if !is_own && !call.caller.is_person() {
        return refuse(Failure::new("bus.not-yours", format!("only {owner} or a person reads the inbox of {owner}")));
    }
    if owner.folded() != COORDINATOR && !roster::is_known(store, &owner)? {
        return refuse(addressee::absent(store, call, &owner)?);
    }
    expire_due(store).await?;
    let limit = request.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    let all = matching_messages(&owner, &request)?;
    let is_open = request.mailbox == MailBox::Inbox && !request.include_acked;
    let all = All { query: all, is_open };
    let rows = page(store, &all, request.since, u64::from(limit))?;
    let is_whole = request.since.is_none() && rows.len() < limit as usize;
    let (cursor, more) = rest(store, &all, request.since, &rows, is_whole)?;
    let mut messages = of_rows(store, &rows)?;
    if request.verbose == Some(false) {
        messages.iter_mut().for_each(preview);
    }
    let reply = CheckInboxReply { messages, cursor, more };
    if is_own && request.mailbox == MailBox::Inbox {
        let before = record_seen(store, call, &reply).await?;
        return before.map_or(Ok(reply), |before| again(store, &before, request.verbose == Some(false)));
    }
    Ok(reply)
}

/// Returns the query for all messages that match the request, without order.
fn matching_messages(owner: &AgentName, request: &CheckInboxRequest) -> Result<Query, Error> {
    let mut query = match request.mailbox {
        MailBox::Inbox if request.include_acked => Query::table(MESSAGES).eq("recipient", owner.folded()),
        MailBox::Inbox => inbox(owner),
        // The sender wants to see the outcome of its messages.
        MailBox::Outbox => Query::table(MESSAGES).eq("sender_id", owner.folded()),
    };
    if let Some(word) = request.filter.as_deref().filter(|word| *word != "all") {
        let action: Result<Action, _> = serde_json::from_value(word.into());
        let Ok(action) = action else {
            let what = format!("no action is called {:?}", cut(word, 40));
            let hint = "all, delegate_task, request_review, submit_result, status_update or execute";
            return refuse(Failure::new("request.bad-args", what).hint(hint));
        };
        query = query.eq("action", action.as_str());
    }
    Ok(query)
}

/// Returns the query for messages to be delivered to an agent.
pub(crate) fn inbox(owner: &AgentName) -> Query {
    Query::table(MESSAGES).eq("recipient", owner.folded()).eq("open", 1_i64)
}

/// All messages that match a request.
struct All {
    query: Query,
    /// True for messages still to be delivered, which are stored in the order of their lanes.
    is_open: bool,
}

// === impl All ===

impl All {
    /// Returns the oldest messages after an event, at most `limit`.
    fn oldest(&self, store: &Store, after: u64, limit: u64) -> Result<Vec<Row>, Error> {
        let oldest = |query: Query| store.read(&query.gt("seq", after).asc("seq").limit(limit));
        if !self.is_open {
            return Ok(oldest(self.query.clone())?);
        }
        // Each lane is stored in this order; all together would have to be sorted, however many there are.
        let mut rows = Vec::new();
        for lane in 0..LANES {
            rows.extend(oldest(self.query.clone().eq("lane", i64::from(lane)))?);
        }
        rows.sort_by_key(|row| row.get_int("seq"));
        rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(rows)
    }
}

fn page(store: &Store, all: &All, since: Option<u64>, limit: u64) -> Result<Vec<Row>, Error> {
    match since {
        Some(since) => all.oldest(store, since, limit),
        None => Ok(store.read(&all.query.clone().asc("lane").asc("seq").limit(limit))?),
    }
}

/// Returns the position from which to read on so that nothing is left out, and how many messages follow.
/// `is_whole` is true if all of them are shown.
fn rest(store: &Store, all: &All, since: Option<u64>, shown: &[Row], is_whole: bool) -> Result<(u64, u64), Error> {
    let begin = since.unwrap_or(0);
    let mut seqs = shown.iter().map(|row| row.try_u64("seq")).collect::<Result<Vec<_>, _>>()?;
    seqs.sort_unstable();
    let Some(last) = seqs.last().copied() else { return Ok((begin, 0)) };
    if is_whole {
        return Ok((last, 0));
    }
    // With lanes, the messages shown need not be the oldest: the cursor stops before the first one not shown.
    let oldest = all.oldest(store, begin, seqs.len() as u64 + 1)?;
    let oldest = oldest.iter().map(|row| row.try_u64("seq")).collect::<Result<Vec<_>, _>>()?;
    let first_missed = oldest.iter().find(|seq| seqs.binary_search(seq).is_err());
    let cursor = first_missed.map_or(last, |seq| last.min(seq - 1));
    let Some(missed) = first_missed else { return Ok((cursor, 0)) };
    let behind = all.oldest(store, missed - 1, MAX_BEHIND)?.len() as u64;
    let shown_behind = seqs.iter().filter(|seq| *seq >= missed).count() as u64;
    Ok((cursor, behind.saturating_sub(shown_behind)))
}

/// Records that the recipient has seen messages. For a repeated call, returns the first answer.
async fn record_seen(store: &Store, call: &Call, reply: &CheckInboxReply) -> Result<Option<Answered>, Error> {
    let is_fresh = |message: &&Message| message.state < DeliveryState::Injected && !message.is_preview;
    let fresh: Vec<_> = reply.messages.iter().filter(is_fresh).map(|message| message.id.clone()).collect();
    let key = call.idempotency.clone();
    let committed = if fresh.is_empty() {
        // A call that records nothing stores no answer, unless it repeats one under the same key.
        match repeated::or_refuse(store, key.as_ref(), nothing_before()).await {
            Err(Error::Refused(_)) => return Ok(None),
            committed => committed?,
        }
    } else {
        let ids = reply.messages.iter().map(|message| message.id.clone()).collect();
        let answered = Answered { ids, cursor: reply.cursor, more: reply.more };
        let mut batch = Batch { idempotency: key, ..Batch::new(Durability::Written) };
        batch.reply = serde_json::to_value(answered)?;
        for event in injections(&fresh, &call.caller.name, "check_inbox", call.caller.name.as_str())? {
            batch = batch.event(event);
        }
        store.commit(batch).await?
    };
    Ok(if committed.repeated { Some(serde_json::from_value(committed.reply)?) } else { None })
}

fn nothing_before() -> Failure {
    Failure::new("request.conflict", "no call was made under this key before")
}

/// Returns the messages of an earlier answer in their present state.
fn again(store: &Store, before: &Answered, is_short: bool) -> Result<CheckInboxReply, Error> {
    let rows = before.ids.iter().map(|id| crate::message::row(store, id)).collect::<Result<Vec<_>, _>>()?;
    let mut messages = of_rows(store, &rows)?;
    if is_short {
        messages.iter_mut().for_each(preview);
    }
    Ok(CheckInboxReply { messages, cursor: before.cursor, more: before.more })
}

/// Returns the events that record that a recipient has seen messages.
pub(crate) fn injections(
    ids: &[MessageId],
    recipient: &AgentName,
    evidence: &str,
    actor: &str,
) -> Result<Vec<NewEvent>, Error> {
    ids.iter()
        .map(|id| {
            let fact = MessageEvent::MessageInjected {
                id: id.clone(),
                recipient: recipient.clone(),
                evidence: evidence.to_owned(),
            };
            Ok(NewEvent::of(&fact, format!("message/{id}"), actor)?)
        })
        .collect()
}
