//! `list_messages`: who wrote to whom, and how far it has come.

use protocol::verb::bus::{ListMessagesReply, ListMessagesRequest};
use store::{Query, Store};

use crate::Error;
use crate::mail::{MESSAGES, TALLY};
use crate::message::of_row;

/// Messages in an answer unless asked otherwise.
const DEFAULT_LIMIT: u32 = 50;
/// Most messages in one answer.
const MAX_LIMIT: u32 = 1000;

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
        None => newest(Query::table(MESSAGES))?,
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
    let messages = rows.iter().map(|row| of_row(store, row)).collect::<Result<_, _>>()?;
    let (sent, acked, dead) = (tally(store, "sent")?, tally(store, "acked")?, dead(store)?);
    Ok(ListMessagesReply { messages, sent, acked, dead, at: store.now() })
}

/// Dead letters that nobody has looked after.
///
/// # Errors
/// When the store can't be read.
pub fn dead(store: &Store) -> Result<u64, Error> {
    tally(store, "dead")
}

fn tally(store: &Store, what: &'static str) -> Result<u64, Error> {
    let row = store.get(TALLY, &[what.into()])?;
    Ok(row.and_then(|row| row.get_int("count")).map_or(0, |count| u64::try_from(count).unwrap_or(0)))
}
