//! A batch made ready on the caller's thread: sizes checked, facts serialised, bodies salted and hashed.

use protocol::event::{Lsn, MAX_BODY_BYTES, MAX_FACTS_BYTES, NewEvent};
use protocol::id::Digest;
use serde_json::Value;

use crate::record::Body;
use crate::{Batch, Durability, Error, Guard, Idempotency};

/// Most events of one batch; a broadcast to every agent of a large team fits many times over.
const MAX_EVENTS: usize = 4096;

/// Longest kind, subject, actor, key, caller and cursor name, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// A batch that the writer can take as it is.
pub(crate) struct Prepared {
    pub(crate) drafts: Vec<Draft>,
    pub(crate) expect: Vec<(String, u64)>,
    pub(crate) guards: Vec<Guard>,
    pub(crate) call: Option<Call>,
    pub(crate) durability: Durability,
    pub(crate) reply: Value,
    pub(crate) epoch: Option<u64>,
    pub(crate) cursors: Vec<(String, Lsn)>,
    pub(crate) drop_bodies: Vec<Lsn>,
    /// About what it holds in memory, for the bound of the queue.
    pub(crate) bytes: usize,
}

/// A named call and its answer as text.
pub(crate) struct Call {
    pub(crate) name: Idempotency,
    pub(crate) reply: String,
}

/// An event without its place in the log.
pub(crate) struct Draft {
    pub(crate) kind: String,
    pub(crate) v: u16,
    pub(crate) subject: String,
    pub(crate) actor: String,
    /// What is hashed and stored.
    pub(crate) facts: String,
    /// What the projectors see: read back from `facts`, exactly as a rebuild will read it.
    pub(crate) value: Value,
    pub(crate) body: Option<Body>,
    pub(crate) body_hash: Digest,
}

// === impl Prepared ===

impl Prepared {
    /// Makes a batch ready, or says what is too large.
    pub(crate) fn new(batch: Batch) -> Result<Self, Error> {
        limit("the batch (counted in events)", batch.events.len(), MAX_EVENTS)?;
        for (cursor, _) in &batch.cursors {
            limit("a cursor's name", cursor.len(), MAX_NAME_BYTES)?;
        }
        let call = batch.idempotency.map(|name| Call::new(name, &batch.reply)).transpose()?;
        let drafts = batch.events.into_iter().map(Draft::new).collect::<Result<Vec<_>, _>>()?;
        let bytes = drafts.iter().map(Draft::bytes).sum::<usize>() + call.as_ref().map_or(0, |call| call.reply.len());
        Ok(Self {
            drafts,
            expect: batch.expect,
            guards: batch.guards,
            call,
            durability: batch.durability,
            reply: batch.reply,
            epoch: batch.epoch,
            cursors: batch.cursors,
            drop_bodies: batch.drop_bodies,
            bytes,
        })
    }
}

// === impl Call ===

impl Call {
    fn new(name: Idempotency, reply: &Value) -> Result<Self, Error> {
        limit("the idempotency key", name.key.len(), MAX_NAME_BYTES)?;
        limit("the caller's name", name.caller.len(), MAX_NAME_BYTES)?;
        let reply = reply.to_string();
        limit("the reply", reply.len(), MAX_BODY_BYTES)?;
        Ok(Self { name, reply })
    }
}

// === impl Draft ===

impl Draft {
    fn new(event: NewEvent) -> Result<Self, Error> {
        let NewEvent { kind, v, subject, actor, facts, body } = event;
        limit("an event's kind", kind.len(), MAX_NAME_BYTES)?;
        limit(&format!("the subject of {kind}"), subject.len(), MAX_NAME_BYTES)?;
        limit(&format!("the actor of {kind}"), actor.len(), MAX_NAME_BYTES)?;
        let facts = facts.to_string();
        limit(&format!("the facts of {kind} of {subject}"), facts.len(), MAX_FACTS_BYTES)?;
        let value = serde_json::from_str(&facts).map_err(|_| Error::TooLarge {
            what: format!("the nesting of the facts of {kind} of {subject}"),
            size: facts.len(),
            limit: 127,
        })?;
        if let Some(body) = &body {
            limit(&format!("the body of {kind} of {subject}"), body.len(), MAX_BODY_BYTES)?;
        }
        let body = body.map(Body::new).transpose()?;
        let body_hash = body.as_ref().map_or(Digest::ZERO, Body::hash);
        Ok(Self { kind, v, subject, actor, facts, value, body, body_hash })
    }

    fn bytes(&self) -> usize {
        256 + 2 * self.facts.len() + self.body.as_ref().map_or(0, |body| body.text.len())
    }
}

fn limit(what: &str, size: usize, limit: usize) -> Result<(), Error> {
    if size > limit {
        return Err(Error::TooLarge { what: what.to_owned(), size, limit });
    }
    Ok(())
}
