//! What is written at once, and what the writer answers.

use serde_json::Value;
use switchboard_protocol::event::{Lsn, NewEvent};
use switchboard_protocol::id::Digest;
use switchboard_protocol::time::Millis;

use crate::Guard;

/// When a batch is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// After fdatasync: survives a power cut. One such batch makes its whole group synced.
    #[default]
    Synced,
    /// After the write to the WAL: survives a kill of the process; a power cut may take the tail.
    Written,
}

/// Names a call, so that the same call twice has one effect and one answer, for 24 hours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    /// The key that the caller gave outside the arguments: a message id, a header, `_meta`.
    pub key: String,
    /// Who calls; the keys of different callers never meet.
    pub caller: String,
    /// The verb.
    pub verb: &'static str,
    /// Digest of the arguments; other arguments under the same key are a conflict.
    pub args: Digest,
}

/// One transaction: events, under conditions, with an answer to remember.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// The events, appended in this order.
    pub events: Vec<NewEvent>,
    /// Subjects with the revision that they must have before the batch; 0 means that it must not exist yet.
    pub expect: Vec<(String, u64)>,
    /// What must hold before the batch.
    pub guards: Vec<Guard>,
    /// The call's name, when the caller may repeat it.
    pub idempotency: Option<Idempotency>,
    /// When to answer.
    pub durability: Durability,
    /// The answer to remember under the key, at most 1 MiB of JSON.
    pub reply: Value,
    /// The epoch in which the batch was decided; refused when the store is in a later one.
    pub epoch: Option<u64>,
    /// Durable cursors to move, in the same transaction.
    pub cursors: Vec<(String, Lsn)>,
    /// Events whose body and salt are dropped, for retention or redaction; the chain stays whole.
    pub drop_bodies: Vec<Lsn>,
}

impl Batch {
    /// An empty batch of one durability.
    #[must_use]
    pub fn new(durability: Durability) -> Self {
        Self { durability, ..Self::default() }
    }

    /// An empty batch that is answered after the sync.
    #[must_use]
    pub fn synced() -> Self {
        Self::new(Durability::Synced)
    }

    /// An empty batch that is answered after the write.
    #[must_use]
    pub fn written() -> Self {
        Self::new(Durability::Written)
    }

    /// Adds an event.
    #[must_use]
    pub fn event(mut self, event: NewEvent) -> Self {
        self.events.push(event);
        self
    }

    /// Expects a revision of a subject; 0 means that it must not exist yet.
    #[must_use]
    pub fn expect(mut self, subject: impl Into<String>, rev: u64) -> Self {
        self.expect.push((subject.into(), rev));
        self
    }

    /// Adds a guard.
    #[must_use]
    pub fn guard(mut self, guard: Guard) -> Self {
        self.guards.push(guard);
        self
    }

    /// Names the call.
    #[must_use]
    pub fn idempotent(mut self, call: Idempotency) -> Self {
        self.idempotency = Some(call);
        self
    }

    /// Sets the answer.
    #[must_use]
    pub fn reply(mut self, reply: Value) -> Self {
        self.reply = reply;
        self
    }

    /// Says in which epoch the batch was decided.
    #[must_use]
    pub fn epoch(mut self, epoch: u64) -> Self {
        self.epoch = Some(epoch);
        self
    }

    /// Moves a durable cursor forward to `lsn`; one that is further already stays. An lsn past the batch's last event is
    /// refused.
    #[must_use]
    pub fn advance(mut self, cursor: impl Into<String>, lsn: Lsn) -> Self {
        self.cursors.push((cursor.into(), lsn));
        self
    }

    /// Drops an event's body and salt; nothing happens when there is none.
    #[must_use]
    pub fn drop_body(mut self, lsn: Lsn) -> Self {
        self.drop_bodies.push(lsn);
        self
    }
}

/// What was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Committed {
    /// The first event's lsn; one more than `last` when the batch had no events.
    pub first: Lsn,
    /// The last event's lsn.
    pub last: Lsn,
    /// The time that all events of the batch carry.
    pub ts: Millis,
    /// The batch's answer, or the first one's when this is a repetition.
    pub reply: Value,
    /// Whether the call had been made before; nothing was written then, and the fields above are the first call's.
    pub repeated: bool,
}
