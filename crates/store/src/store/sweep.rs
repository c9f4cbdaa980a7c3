//! [`Store::sweep`]: retention.

use std::ops::ControlFlow;

use switchboard_protocol::event::{Event, Lsn};
use switchboard_protocol::time::Millis;

use super::Store;
use crate::{Batch, Error};

/// Most bodies that one transaction drops, and most events that one look takes.
const ROUND: (usize, usize) = (500, 4_096);

/// Most rounds of one sweep.
const ROUNDS: usize = 20;

/// A rule of retention: once an event of one of these kinds is old enough, the bodies that nobody needs after it may go. The rule
/// follows the log with a cursor of its own, so each event is looked at once; what no such event names is never touched.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    /// Its durable cursor, which is also its name.
    pub cursor: &'static str,
    /// Kinds of events after which something needs no body any more: a message was acknowledged.
    pub kinds: &'static [&'static str],
    /// How long a body is kept after such an event, in milliseconds.
    pub keep_for: i64,
    /// The events whose bodies nobody needs after such an event.
    pub bodies_of: fn(&Store, &Event) -> Result<Vec<Lsn>, Error>,
}

/// What a sweep did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Bodies that were to go.
    pub dropped: u64,
    /// Whether everything is done that was due; false when the sweep stopped at its bound.
    pub is_done: bool,
}

impl Store {
    /// Drops the bodies, with their salts and their words, that a rule no longer keeps at `now`: at most 500 in a
    /// transaction and 10,000 in a call. The chain stays whole.
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

    /// What a rule lets go among the next events.
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
