//! `list_messages`: who wrote to whom, and how far it has come.

use protocol::verb::bus::{ListMessagesReply, ListMessagesRequest};
use store::{Query, Store};

use crate::Error;
use crate::check_inbox::of_row;
use crate::mail::{MESSAGES, TALLY};

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
    let mut rows = match &request.agent {
        None => store.read(&Query::table(MESSAGES).desc("seq").limit(u64::from(limit)))?,
        Some(agent) => {
            let mut rows = store
                .read(&Query::table(MESSAGES).eq("recipient", agent.folded()).desc("seq").limit(u64::from(limit)))?;
            let sent = Query::table(MESSAGES).eq("sender", agent.as_str()).ne("recipient", agent.folded());
            rows.extend(store.read(&sent.desc("seq").limit(u64::from(limit)))?);
            rows.sort_by_key(|row| std::cmp::Reverse(row.get_int("seq")));
            rows.truncate(limit as usize);
            rows
        }
    };
    rows.reverse();
    let messages = rows.iter().map(|row| of_row(store, row)).collect::<Result<_, _>>()?;
    Ok(ListMessagesReply { messages, sent: tally(store, "sent")?, acked: tally(store, "acked")?, at: store.now() })
}

fn tally(store: &Store, what: &'static str) -> Result<u64, Error> {
    let row = store.get(TALLY, &[what.into()])?;
    Ok(row.and_then(|row| row.get_int("count")).map_or(0, |count| u64::try_from(count).unwrap_or(0)))
}
