//! [`Store::sweep`]: retention.

use std::ops::ControlFlow;

use switchboard_protocol::event::{Event, Lsn};
use switchboard_protocol::time::Millis;

use super::Store;
use crate::{Batch, Error};

/// Maximum number of bodies that one transaction drops, and of events that one read returns.
const ROUND: (usize, usize) = (500, 4_096);

/// Maximum number of rounds of one sweep.
const ROUNDS: usize = 20;

/// A rule of retention: once an event of one of these kinds is old enough, the bodies that are not needed after it may
/// be dropped. The rule follows the log with its own cursor, so each event is read once; bodies to which no such event
/// refers are never dropped.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    /// Name of the rule's durable cursor, which also identifies the rule.
    pub cursor: &'static str,
    /// Kinds of events after which bodies are not needed any more: a message was acknowledged.
    pub kinds: &'static [&'static str],
    /// How long a body is kept after such an event, in milliseconds.
    pub keep_for: i64,
    /// Returns the events whose bodies are not needed after such an event.
    pub bodies_of: fn(&Store, &Event) -> Result<Vec<Lsn>, Error>,
}

/// Result of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Number of dropped bodies.
    pub dropped: u64,
    /// True if everything that was due is done; false if the sweep stopped at its limit.
    pub is_done: bool,
}

impl Store {
    /// Drops the bodies, with their salts and indexed words, that a rule no longer keeps at `now`: at most 500 in one
    /// transaction and 10,000 in one call. The chain stays intact.
    ///
    /// # Errors
    /// Those of [`commit`](Store::commit), [`read`](Store::read) and the rule's own.
    pub async fn sweep(&self, rule: &Retention, now: Millis) -> Result<Swept, Error> {
        let mut swept = Swept::default();
        let mut from = self.cursor(rule.cursor)?;
        for _ in 0..ROUNDS {
            let due = self.due(rule, now, from)?;
            for lsns in due.bodies.chunks(ROUND.0) {
                self.commit(lsns.iter().copied().fold(Batch::written(), Batch::drop_body)).await?;
            }
            if due.upto > from {
                self.commit(Batch::written().advance(rule.cursor, due.upto)).await?;
            }
            (from, swept.dropped) = (due.upto, swept.dropped + due.bodies.len() as u64);
            if due.is_last {
                swept.is_done = true;
                break;
            }
        }
        Ok(swept)
    }

    /// Returns what a rule drops for the next events.
    fn due(&self, rule: &Retention, now: Millis, from: Lsn) -> Result<Due, Error> {
        let (mut due, mut ends) = (Due { upto: from, bodies: Vec::new(), is_last: true }, Vec::new());
        let mut looked = 0;
        self.inner.scan_short(from, self.head().lsn, false, &mut |record, _| {
            if now.since(record.ts) < rule.keep_for {
                return Ok(ControlFlow::Break(()));
            }
            (due.upto, looked) = (record.lsn, looked + 1);
            if rule.kinds.contains(&record.kind.as_str()) {
                ends.push(record.into_event(&self.inner.core.schema, None)?);
            }
            due.is_last = looked < ROUND.1 && ends.len() < ROUND.0;
            Ok(if due.is_last { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        for event in ends {
            due.bodies.extend((rule.bodies_of)(self, &event)?);
        }
        Ok(due)
    }
}

struct Due {
    upto: Lsn,
    bodies: Vec<Lsn>,
    is_last: bool,
}
