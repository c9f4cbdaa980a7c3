//! Outgoing messages: their events, and the guards of their commit.

use switchboard_pipeline::delivery::MAX_ATTEMPTS;
use switchboard_pipeline::dispatch_terms::{self, About};
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::{AgentName, MessageId};
use switchboard_protocol::message::{
    Action, CONTROL_RESERVE, MAX_METADATA_BYTES, MAX_PAYLOAD_BYTES, MessageEvent, MessageKind, Priority, QueueState,
    Terms,
};
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::bus::{Metadata, SendOptions};
use switchboard_store::{Batch, Guard, Query, Row, Store};

use crate::error::refuse;
use crate::leases::LEASES;
use crate::mail::{COOLDOWNS, INBOXES, MESSAGES};
use crate::message::Details;
use crate::queue::Entry;
use crate::{Call, Error};

/// Minimum interval between two dispatches of one kind from one sender to one recipient, in milliseconds: a loop of two
/// agents stays slow enough to be noticed.
const COOLDOWN_MS: i64 = 30_000;

/// Maximum length of a topic or order key, in bytes.
const MAX_WORD_BYTES: usize = 64;

/// Maximum delay and time to live, in milliseconds: 30 days.
const MAX_SPAN_MS: i64 = 30 * 24 * 3_600_000;

/// Maximum number of open messages in a queue that are searched for tasks to be replaced by a new one.
const MAX_SEARCHED: u64 = 1_000;

/// Message before it is addressed.
#[derive(Debug, Clone)]
pub(crate) struct Draft<'a> {
    pub(crate) payload: &'a str,
    pub(crate) action: Action,
    pub(crate) reply_to: Option<&'a MessageId>,
    pub(crate) topic: &'a str,
    pub(crate) priority: Priority,
    pub(crate) options: Option<&'a SendOptions>,
    pub(crate) metadata: Option<&'a Metadata>,
    pub(crate) persona: &'a str,
    pub(crate) team: &'a str,
    pub(crate) broadcast: Option<&'a MessageId>,
}

/// Events added to a batch for one recipient.
pub(crate) struct Added {
    pub(crate) id: MessageId,
    pub(crate) recipient: AgentName,
    /// Index of its `message_sent` in the batch.
    pub(crate) place: usize,
    pub(crate) superseded: Vec<MessageId>,
}

// === impl Draft ===

impl Draft<'_> {
    /// Refuses what exceeds a limit, before anything is read.
    pub(crate) fn check(&self, call: &Call) -> Result<(), Error> {
        if self.payload.len() > MAX_PAYLOAD_BYTES {
            let what = format!("the payload has {} bytes, at most {MAX_PAYLOAD_BYTES} are carried", self.payload.len());
            let hint = "put the text into a file and send its path";
            return refuse(Failure::new("bus.payload-too-large", what).hint(hint));
        }
        let options = self.options.cloned().unwrap_or_default();
        if let Some(word) = [self.topic, &options.order_key].into_iter().find(|word| word.len() > MAX_WORD_BYTES) {
            let what = format!("a topic or order key has at most {MAX_WORD_BYTES} bytes, this one {}", word.len());
            return refuse(Failure::new("request.bad-args", what));
        }
        if options.kind == MessageKind::Control && !call.caller.is_person() {
            return refuse(Failure::new(
                "policy.denied",
                "control messages come from a person or from Switchboard itself",
            ));
        }
        Ok(())
    }

    /// Adds the message to a batch.
    pub(crate) fn add(
        &self,
        store: &Store,
        call: &Call,
        recipient: &AgentName,
        id: MessageId,
        batch: Batch,
    ) -> Result<(Batch, Added), Error> {
        let now = store.now();
        let options = self.options.cloned().unwrap_or_default();
        let about = About {
            id: id.as_str(),
            action: self.action,
            sender: call.caller.name.as_str(),
            recipient: recipient.as_str(),
            payload: self.payload,
            root: call.root.as_deref().and_then(std::path::Path::to_str).unwrap_or(""),
            now,
        };
        let known = dispatch_terms::complete(about, self.metadata.cloned()).map_err(Error::Refused)?;
        let details = details(known.metadata, self.persona)?;
        let (answers, late) = self.answers(store, call, recipient, &id, now)?;
        let given = span(options.ttl_ms).map(|ttl| now.plus(ttl));
        let kind =
            if answers.is_some() && options.kind == MessageKind::Event { MessageKind::Reply } else { options.kind };
        let terms = Terms {
            message_kind: kind,
            priority: self.priority,
            topic: self.topic.to_owned(),
            order_key: options.order_key.clone(),
            not_before: span(options.delay_ms).map(|delay| now.plus(delay)),
            expires_at: given.or(known.expires_at),
            max_attempts: options.max_attempts.unwrap_or(0).min(MAX_ATTEMPTS),
            team: self.team.to_owned(),
            broadcast: self.broadcast.cloned(),
            late,
            details: details.is_some(),
            taken: false,
        };
        let fact = MessageEvent::MessageSent {
            id: id.clone(),
            action: self.action,
            sender: call.caller.name.clone(),
            verified: call.caller.is_verified,
            recipient: recipient.clone(),
            reply_to: self.reply_to.cloned(),
            bytes: self.payload.len() as u64,
            terms,
        };
        let subject = format!("inbox/{}", recipient.folded());
        let event = NewEvent::of(&fact, subject, call.caller.name.as_str())?.with_body(self.payload);
        let place = batch.events.len();
        let mut batch = batch.event(event).guard(unused(&id));
        batch.guards.extend(room(call, recipient, kind));
        batch.guards.push(open(recipient));
        if let Some(body) = details {
            let fact = MessageEvent::MessageDetailed { id: id.clone() };
            let event = NewEvent::of(&fact, format!("message/{id}"), call.caller.name.as_str())?;
            batch = batch.event(event.with_body(body));
        }
        if self.action.is_dispatch() && !call.caller.is_person() {
            batch = batch.guard(unlocked(&call.caller.name, recipient));
        }
        if self.action.is_dispatch() && !known.skips_cooldown {
            batch = batch.guard(cooled(&call.caller.name, recipient, self.action, now));
        }
        for more in answers.into_iter().flatten() {
            batch.events.extend(more.events);
            batch.guards.extend(more.guards);
        }
        let superseded = if known.is_replacing { older_tasks(store, call, recipient)? } else { Vec::new() };
        for entry in &superseded {
            let ended = entry.ended(QueueState::Cancelled, &format!("{id} took its place"));
            batch = batch.event(entry.event(&ended, call.caller.name.as_str())?);
            batch.guards.extend(entry.unchanged());
        }
        let superseded = superseded.into_iter().map(|entry| entry.id).collect();
        Ok((batch, Added { id, recipient: recipient.clone(), place, superseded }))
    }

    /// Returns the change of the answered request, and whether the answer is too late.
    fn answers(
        &self,
        store: &Store,
        call: &Call,
        recipient: &AgentName,
        id: &MessageId,
        now: Millis,
    ) -> Result<(Option<Vec<Batch>>, bool), Error> {
        let Some(asked) = self.reply_to else { return Ok((None, false)) };
        // A message of another store may be answered too; there is nothing to record then.
        let Some(row) = store.get(MESSAGES, &[asked.as_str().into()])? else { return Ok((None, false)) };
        let is_answer = row.get_text("recipient") == Some(&call.caller.name.folded())
            && row.get_text("sender_id") == Some(&recipient.folded());
        if !is_answer {
            return Ok((None, false));
        }
        let entry = Entry::of(&row)?;
        let mut more = Batch::default();
        let is_request = row.get_text("kind") == Some(MessageKind::Request.as_str());
        if is_request {
            let fact = MessageEvent::RequestReplied { id: asked.clone(), reply: id.clone() };
            let refusal = Failure::new("bus.already-replied", format!("{asked} was answered before"));
            let unanswered =
                Guard::equals(MESSAGES, [asked.as_str().into()], "replied", switchboard_store::Cell::Null, refusal);
            more = more.event(entry.event(&fact, call.caller.name.as_str())?).guard(unanswered);
        }
        if self.action == Action::SubmitResult && !entry.is_done {
            let fact = MessageEvent::MessageDone { id: asked.clone(), recipient: entry.recipient.clone() };
            more = more.event(entry.event(&fact, call.caller.name.as_str())?);
        }
        let late = is_request && entry.expires_at.is_some_and(|end| end <= now);
        Ok((Some(vec![more]), late))
    }
}

fn span(ms: Option<u64>) -> Option<i64> {
    ms.map(|ms| i64::try_from(ms).unwrap_or(MAX_SPAN_MS).min(MAX_SPAN_MS))
}

fn details(metadata: Option<Metadata>, persona: &str) -> Result<Option<String>, Error> {
    if metadata.is_none() && persona.is_empty() {
        return Ok(None);
    }
    let details = Details { metadata: metadata.map(serde_json::Value::Object), persona: persona.to_owned() };
    let body = serde_json::to_string(&details)?;
    if body.len() > MAX_METADATA_BYTES {
        let what = format!("metadata and persona have {} bytes, at most {MAX_METADATA_BYTES} are carried", body.len());
        return refuse(Failure::new("bus.payload-too-large", what));
    }
    Ok(Some(body))
}

/// Returns the guards that the inbox has room for one more message; some room is reserved for control messages.
fn room(call: &Call, recipient: &AgentName, kind: MessageKind) -> [Guard; 2] {
    let reserve = if kind == MessageKind::Control { CONTROL_RESERVE } else { 0 };
    let most = call.limits.messages;
    let refusal =
        |what: String| Failure::new("bus.inbox-full", what).hint("wait until it has read some, or ask a person");
    let many = refusal(format!("the inbox of {recipient} holds {most} messages that are not acknowledged"));
    let large =
        refusal(format!("the inbox of {recipient} holds {} bytes that are not acknowledged", call.limits.bytes));
    let key = || [recipient.folded().into()];
    let bytes = call.limits.bytes.saturating_add(reserve * i64::try_from(MAX_PAYLOAD_BYTES).unwrap_or(0));
    [
        Guard::below(INBOXES, key(), "unread", most.saturating_add(reserve), many),
        Guard::below(INBOXES, key(), "bytes", bytes, large),
    ]
}

/// Returns the guard that the recipient has not left.
fn open(recipient: &AgentName) -> Guard {
    let (key, refusal) = (vec![recipient.folded().into()], crate::addressee::closed(recipient));
    let here = vec![switchboard_store::Cell::Null, 0_i64.into()];
    Guard::OneOf { table: crate::agents::AGENTS, key, column: "gone", values: here, refusal }
}

/// Returns the guard that no other agent has reserved the recipient.
fn unlocked(sender: &AgentName, recipient: &AgentName) -> Guard {
    let others = Query::table(LEASES).eq("agent", recipient.folded()).ne("holder_id", sender.folded());
    let refusal = Failure::new("bus.recipient-locked", format!("{recipient} is reserved by another agent"));
    Guard::Fewer { query: others, than: 1, refusal: refusal.hint("list_leases says by whom and for how long") }
}

pub(crate) fn unused(id: &MessageId) -> Guard {
    let refusal = Failure::new("request.conflict", format!("the id {id} was used for another message"));
    Guard::absent(MESSAGES, [id.as_str().into()], refusal)
}

fn cooled(sender: &AgentName, recipient: &AgentName, action: Action, now: Millis) -> Guard {
    let what = format!("{sender} sent {recipient} {} less than {} s ago", action.as_str(), COOLDOWN_MS / 1000);
    let refusal = Failure::new("bus.cooldown", what).hint("wait, or set metadata.no_cooldown");
    let key = [sender.folded().into(), recipient.folded().into(), action.as_str().into()];
    Guard::below(COOLDOWNS, key, "at", now.0 - COOLDOWN_MS + 1, refusal)
}

/// Returns tasks of the same sender that the recipient has not taken yet.
fn older_tasks(store: &Store, call: &Call, recipient: &AgentName) -> Result<Vec<Entry>, Error> {
    let open = crate::check_inbox::inbox(recipient).asc("lane").asc("seq").limit(MAX_SEARCHED);
    let is_older = |row: &Row| {
        row.get_text("sender_id") == Some(&call.caller.name.folded())
            && row.get_text("action") == Some(Action::DelegateTask.as_str())
            && row.get_text("state") == Some(QueueState::Ready.as_str())
    };
    store.read(&open)?.iter().filter(|row| is_older(row)).map(Entry::of).collect()
}
