//! Counts the messages that agents sent and received in a period: the mail of a run.

use std::collections::BTreeSet;

use switchboard_protocol::event::Lsn;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::time::Millis;
use switchboard_store::{Query, Row, Store};

use crate::Error;
use crate::mail::MESSAGES;

/// Number of rows read at once.
const PAGE: u64 = 1000;

/// Number of messages sent, and of those acknowledged by now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MailCount {
    /// Number of messages sent.
    pub sent: u64,
    /// Number of these that are acknowledged.
    pub acked: u64,
}

/// Counts the messages from and to any of `agents`, each once, that were sent after an event of the log and not later
/// than `until`. Messages that are never delivered don't count. The cost grows with the mail of these agents, not with
/// that of others.
///
/// # Errors
/// When the store can't be read.
pub fn count_mail(store: &Store, agents: &[AgentName], after: Lsn, until: Option<Millis>) -> Result<MailCount, Error> {
    let (mut seen, mut count) = (BTreeSet::new(), MailCount::default());
    let names: BTreeSet<String> = agents.iter().map(AgentName::folded).collect();
    for name in &names {
        for column in ["recipient", "sender_id"] {
            visit(store, Query::table(MESSAGES).eq(column, name.as_str()), after, until, |row, seq| {
                if !row.get_bool("taken") && seen.insert(seq) {
                    count.sent += 1;
                    count.acked += u64::from(row.get_bool("acked"));
                }
            })?;
        }
    }
    Ok(count)
}

/// Visits the rows of a query in the order of sending.
fn visit(
    store: &Store,
    query: Query,
    mut after: Lsn,
    until: Option<Millis>,
    mut count: impl FnMut(&Row, Lsn),
) -> Result<(), Error> {
    loop {
        let rows = store.read(&query.clone().gt("seq", after).asc("seq").limit(PAGE))?;
        for row in &rows {
            if until.is_some_and(|until| row.get_int("created_at").is_some_and(|at| at > until.0)) {
                return Ok(());
            }
            after = row.try_u64("seq")?;
            count(row, after);
        }
        if (rows.len() as u64) < PAGE {
            return Ok(());
        }
    }
}
