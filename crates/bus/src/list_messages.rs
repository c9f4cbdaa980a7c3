//! `list_messages`: lists messages between agents, with their delivery states.

use switchboard_protocol::message::MessageEvent;
use switchboard_protocol::verb::bus::{ListMessagesReply, ListMessagesRequest};
use switchboard_store::{Filter, Query, Row, Store};

use crate::Error;
use crate::dead_letters::dead;
use crate::mail::{INBOXES, MESSAGES};
use crate::message::of_rows;

/// Default number of messages in an answer.
const DEFAULT_LIMIT: u32 = 50;
/// Maximum number of messages in one answer.
const MAX_LIMIT: u32 = 1000;
/// Initial and maximum number of events read at once in a search from the end of the log.
const SPAN: u64 = 512;
const MAX_SPAN: u64 = 16_384;

/// Lists messages, newest last.
///
/// # Errors
/// When the store can't be read.
pub fn list_messages(store: &Store, request: &ListMessagesRequest) -> Result<ListMessagesReply, Error> {
    let limit = request.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    let newest = |query: Query| {
        let query = match request.state {
            Some(state) => query.eq("state", state.as_str()),
            None => query,
        };
        store.read(&query.desc("seq").limit(u64::from(limit)))
    };
    let mut rows = match &request.agent {
        None => newest_of_all(store, request, limit as usize)?,
        Some(agent) => {
            let mut rows = newest(Query::table(MESSAGES).eq("recipient", agent.folded()))?;
            let sent = Query::table(MESSAGES).eq("sender_id", agent.folded()).ne("recipient", agent.folded());
            rows.extend(newest(sent)?);
            rows.sort_by_key(|row| std::cmp::Reverse(row.get_int("seq")));
            rows.truncate(limit as usize);
            rows
        }
    };
    rows.reverse();
    let messages = of_rows(store, &rows)?;
    let [sent, acked] = totals(store)?;
    Ok(ListMessagesReply { messages, sent, acked, dead: dead(store)?, at: store.now() })
}

/// Returns the totals of all inboxes: messages sent, and messages acknowledged.
fn totals(store: &Store) -> Result<[u64; 2], Error> {
    let inboxes = store.read(&Query::table(INBOXES))?;
    let total = |column| {
        let counts = inboxes.iter().filter_map(|row| row.get_int(column));
        counts.map(|count| u64::try_from(count).unwrap_or(0)).sum()
    };
    Ok(["sent", "acked"].map(total))
}

/// Returns the newest messages, newest first, read backwards from the end of the log: a list of all inboxes is rare,
/// and no index is kept for it.
fn newest_of_all(store: &Store, request: &ListMessagesRequest, limit: usize) -> Result<Vec<Row>, Error> {
    let (mut found, mut to, mut width) = (Vec::new(), store.head().lsn, SPAN);
    while to > 0 && found.len() < limit {
        let from = to.saturating_sub(width);
        // The log is dense: this number of events after `from` ends at `to`.
        let events = store.events(from, &Filter::all(), usize::try_from(to - from).unwrap_or(usize::MAX))?;
        for event in events.iter().rev() {
            let Some(MessageEvent::MessageSent { id, terms, .. }) = event.fact() else { continue };
            // Messages that are never delivered are listed only for their recipient or sender.
            if terms.taken {
                continue;
            }
            let row = store.get(MESSAGES, &[id.as_str().into()])?;
            let is_wanted = |row: &Row| request.state.is_none_or(|state| row.get_text("state") == Some(state.as_str()));
            found.extend(row.filter(is_wanted));
            if found.len() == limit {
                break;
            }
        }
        (to, width) = (from, (width * 2).min(MAX_SPAN));
    }
    Ok(found)
}
