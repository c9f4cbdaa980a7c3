//! `search_messages`: searches the texts of messages.

use std::ops::Range;

use switchboard_protocol::id::AgentName;
use switchboard_protocol::message::{Message, MessageEvent};
use switchboard_protocol::verb::search::{MessageHit, SearchMessagesReply, SearchMessagesRequest};
use switchboard_store::{Store, Words};

use crate::Error;
use crate::mail::MESSAGES;
use crate::message::of_row;

/// Default number of messages in an answer.
const DEFAULT_LIMIT: u32 = 20;
/// Maximum number of messages in one answer.
const MAX_LIMIT: u32 = 100;
/// Number of matches examined at once.
const PAGE: usize = 200;
/// Maximum number of matches examined by one call: one agent may have few among many.
const MAX_LOOKED: usize = 4_000;
/// Number of characters of an excerpt before its first match, and in all.
const EXCERPT: (usize, usize) = (80, 240);

/// Searches the payloads of all messages for words, newest first. Blocks: call it on a separate thread.
///
/// # Errors
/// An invalid query (`request.bad-args`), or a failure of the store.
pub fn search_messages(store: &Store, request: &SearchMessagesRequest) -> Result<SearchMessagesReply, Error> {
    let words = Words::parse(&request.text)?;
    let limit = request.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT) as usize;
    let mut reply = SearchMessagesReply { hits: Vec::new(), next: None, is_whole: true };
    let (mut before, mut looked) = (request.before, 0);
    loop {
        let found = store.search(&words, before, PAGE)?;
        reply.is_whole &= found.is_whole;
        for lsn in &found.lsns {
            if reply.hits.len() == limit || looked == MAX_LOOKED {
                reply.next = before;
                return Ok(reply);
            }
            reply.hits.extend(hit(store, *lsn, &words, request.agent.as_ref())?);
            (before, looked) = (Some(*lsn), looked + 1);
        }
        if found.lsns.len() < PAGE {
            return Ok(reply);
        }
    }
}

/// Returns the message of an event, if it is one of the agent's and still contains the words.
fn hit(store: &Store, lsn: u64, words: &Words, agent: Option<&AgentName>) -> Result<Option<MessageHit>, Error> {
    let Some(event) = store.event(lsn)? else { return Ok(None) };
    let Some(MessageEvent::MessageSent { id, .. }) = event.fact() else { return Ok(None) };
    let row = store.get(MESSAGES, &[id.as_str().into()])?;
    let Some(message) = row.map(|row| of_row(store, &row)).transpose()? else { return Ok(None) };
    let is_theirs =
        |agent: &AgentName| [&message.sender, &message.recipient].iter().any(|name| name.folded() == agent.folded());
    if agent.is_some_and(|agent| !is_theirs(agent)) {
        return Ok(None);
    }
    Ok(words.find(&message.payload).map(|place| of_message(&message, &place)))
}

fn of_message(message: &Message, place: &Range<usize>) -> MessageHit {
    MessageHit {
        id: message.id.clone(),
        seq: message.seq,
        action: message.action,
        sender: message.sender.clone(),
        sender_verified: message.sender_verified,
        recipient: message.recipient.clone(),
        state: message.state,
        created_at: message.created_at,
        excerpt: excerpt(&message.payload, place),
    }
}

/// Returns the text around a match.
fn excerpt(text: &str, place: &Range<usize>) -> String {
    let front = text.get(..place.start).unwrap_or_default();
    let from = front.char_indices().rev().take(EXCERPT.0).last().map_or(place.start, |(at, _)| at);
    let rest = text.get(from..).unwrap_or_default();
    let to = rest.char_indices().nth(EXCERPT.1 - 2).map_or(rest.len(), |(at, _)| at);
    let (before, behind) = (if from > 0 { "…" } else { "" }, if to < rest.len() { "…" } else { "" });
    format!("{before}{}{behind}", rest.get(..to).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_short_and_holds_the_match() {
        let text = format!("{} wörd {}", "ä".repeat(500), "ö".repeat(500));
        let place = Words::parse("wörd").unwrap().find(&text).unwrap();

        let shown = excerpt(&text, &place);

        assert!(shown.chars().count() <= 240 && shown.contains(" wörd ö"), "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…'));
        assert_eq!(excerpt("a wörd", &(2..7)), "a wörd");
    }
}
