//! A batch of events to write as one transaction, and the writer's answer.

use serde_json::Value;
use switchboard_protocol::event::{Lsn, NewEvent};
use switchboard_protocol::id::Digest;
use switchboard_protocol::time::Millis;

use crate::Guard;

/// Point in time at which a batch is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// After fdatasync: survives a power cut. One such batch makes its whole group synced.
    #[default]
    Synced,
    /// After the write to the WAL: survives a kill of the process; a power cut may lose the most recent writes.
    Written,
}

/// Identifies a call, so that repeating it within 24 hours has one effect and one answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    /// Key that the caller gave outside the arguments: a message id, a header, `_meta`.
    pub key: String,
    /// Name of the caller; keys of different callers are independent.
    pub caller: String,
    /// Name of the verb.
    pub verb: &'static str,
    /// Digest of the arguments; other arguments under the same key are a conflict.
    pub args: Digest,
}

/// One transaction: events, conditions, and an answer to remember.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// Events, appended in this order.
    pub events: Vec<NewEvent>,
    /// Subjects with their expected revision before the batch; 0 means that the subject must not exist yet.
    pub expect: Vec<(String, u64)>,
    /// Conditions that must hold before the batch.
    pub guards: Vec<Guard>,
    /// Identity of the call, if the caller may repeat it.
    pub idempotency: Option<Idempotency>,
    /// Point in time at which the batch is answered.
    pub durability: Durability,
    /// Answer to remember under the key, at most 1 MiB of JSON.
    pub reply: Value,
    /// Epoch in which the batch was decided; a store in a later epoch refuses it.
    pub epoch: Option<u64>,
    /// Durable cursors to move, in the same transaction.
    pub cursors: Vec<(String, Lsn)>,
    /// Events whose body and salt are dropped, for retention or redaction; the chain stays intact.
    pub drop_bodies: Vec<Lsn>,
}

impl Batch {
    /// Creates an empty batch with this durability.
    #[must_use]
    pub fn new(durability: Durability) -> Self {
        Self { durability, ..Self::default() }
    }

    /// Creates an empty batch that is answered after the sync.
    #[must_use]
    pub fn synced() -> Self {
        Self::new(Durability::Synced)
    }

    /// Creates an empty batch that is answered after the write.
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

    /// Expects a revision of a subject; 0 means that the subject must not exist yet.
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

    /// Sets the identity of the call.
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

    /// Sets the epoch in which the batch was decided.
    #[must_use]
    pub fn epoch(mut self, epoch: u64) -> Self {
        self.epoch = Some(epoch);
        self
    }

    /// Moves a durable cursor forward to `lsn`; a cursor beyond `lsn` stays. An lsn past the batch's last event is
    /// refused.
    #[must_use]
    pub fn advance(mut self, cursor: impl Into<String>, lsn: Lsn) -> Self {
        self.cursors.push((cursor.into(), lsn));
        self
    }

    /// Drops an event's body and salt; does nothing if there is none.
    #[must_use]
    pub fn drop_body(mut self, lsn: Lsn) -> Self {
        self.drop_bodies.push(lsn);
        self
    }
}

/// Result of a commit.
#[derive(Debug, Clone, PartialEq)]
pub struct Committed {
    /// Lsn of the first event; one more than `last` if the batch had no events.
    pub first: Lsn,
    /// Lsn of the last event.
    pub last: Lsn,
    /// Time of all events of the batch.
    pub ts: Millis,
    /// Answer of the batch; for a repeated call, that of the first call.
    pub reply: Value,
    /// True if the call had been made before. Nothing was written then, and the fields above are those of the first
    /// call.
    pub repeated: bool,
}
