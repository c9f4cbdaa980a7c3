//! Prepares a batch on the caller's thread: checks sizes, lifts facts, salts and hashes bodies.

use serde_json::Value;
use switchboard_protocol::event::{Event, Facts, Lsn, MAX_BODY_BYTES, MAX_FACTS_BYTES, NewEvent};
use switchboard_protocol::id::Digest;
use switchboard_protocol::time::Millis;

use crate::record::{Body, Entry, Tip};
use crate::schema::Schema;
use crate::{Batch, Durability, Error, Guard, Idempotency};

/// Maximum number of events in one batch; far more than a broadcast to every agent of a large team needs.
const MAX_EVENTS: usize = 4096;

/// Maximum nesting of facts: `serde_json` reads 127 levels, and a typed fact is read within an object that names its kind.
const MAX_NESTING: usize = 126;

/// Maximum length of a kind, subject, actor, key, caller or cursor name, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// A batch that is ready for the writer.
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
    /// Approximate memory use in bytes, for the limit of the queue.
    pub(crate) bytes: usize,
}

/// Identity of a call, and its answer as text.
pub(crate) struct Call {
    pub(crate) name: Idempotency,
    pub(crate) reply: String,
}

/// An event without its final position in the log.
pub(crate) struct Draft {
    /// Event for the projectors: without a body, its facts lifted, exactly as a rebuild will read it. The writer fills
    /// in its lsn, time, revision and chain.
    pub(crate) event: Event,
    /// Version as stored.
    pub(crate) v: u16,
    /// Facts as hashed and stored.
    pub(crate) facts: Facts,
    pub(crate) body: Option<Body>,
}

// === impl Prepared ===

impl Prepared {
    /// Prepares a batch; fails if a part of it is too large.
    pub(crate) fn new(batch: Batch, schema: &Schema) -> Result<Self, Error> {
        check("events", batch.events.len(), MAX_EVENTS, || "the batch".to_owned())?;
        for (cursor, _) in &batch.cursors {
            limit("a cursor's name", cursor.len(), MAX_NAME_BYTES)?;
        }
        let call = batch.idempotency.map(|name| Call::new(name, &batch.reply)).transpose()?;
        let drafts = batch.events.into_iter().map(|event| Draft::new(event, schema)).collect::<Result<Vec<_>, _>>()?;
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

    /// Frees what only the decision needed, because the batch may have to wait for a while.
    pub(crate) fn lean(&mut self) {
        (self.guards, self.expect) = (Vec::new(), Vec::new());
        self.drafts.iter_mut().for_each(|draft| draft.event.facts = Facts::default());
    }
}

// === impl Call ===

impl Call {
    fn new(name: Idempotency, reply: &Value) -> Result<Self, Error> {
        limit("the idempotency key", name.key.len(), MAX_NAME_BYTES)?;
        limit("the caller's name", name.caller.len(), MAX_NAME_BYTES)?;
        let reply = text(reply)?;
        limit("the reply", reply.len(), MAX_BODY_BYTES)?;
        Ok(Self { name, reply })
    }
}

// === impl Draft ===

impl Draft {
    fn new(event: NewEvent, schema: &Schema) -> Result<Self, Error> {
        let NewEvent { kind, v, subject, actor, facts, body } = event;
        for (what, text) in [("an event's kind", &kind), ("an event's subject", &subject), ("an event's actor", &actor)]
        {
            limit(what, text.len(), MAX_NAME_BYTES)?;
        }
        let of = |part: &str| format!("the {part} of {kind} of {subject}");
        check("bytes", facts.as_str().len(), MAX_FACTS_BYTES, || of("facts"))?;
        check("levels of nesting", nesting(facts.as_str()), MAX_NESTING, || of("facts"))?;
        check("bytes", body.as_ref().map_or(0, String::len), MAX_BODY_BYTES, || of("body"))?;
        let body = body.map(Body::new).transpose()?;
        let body_hash = body.as_ref().map_or(Digest::ZERO, Body::hash);
        let (lifted, newest) = schema.lift(&kind, v, facts.clone()).map_err(unliftable)?;
        let event = Event {
            lsn: 0,
            ts: Millis(0),
            kind,
            v: lifted,
            subject,
            rev: 0,
            actor,
            facts: newest,
            body: None,
            body_hash,
            prev_hash: Digest::ZERO,
            hash: Digest::ZERO,
        };
        Ok(Self { event, v, facts, body })
    }

    /// Assigns the position after the tip.
    pub(crate) fn place(&mut self, tip: &Tip, rev: u64, chain_id: &str) {
        (self.event.lsn, self.event.ts, self.event.rev) = (tip.lsn + 1, tip.ts, rev);
        self.event.prev_hash = tip.hash;
        self.event.hash = self.entry().seal(chain_id);
    }

    /// Returns the event in its stored form.
    pub(crate) fn entry(&self) -> Entry<'_> {
        let event = &self.event;
        Entry {
            lsn: event.lsn,
            ts: event.ts,
            kind: &event.kind,
            v: self.v,
            subject: &event.subject,
            rev: event.rev,
            actor: &event.actor,
            facts: self.facts.as_str(),
            body_hash: &event.body_hash,
            prev_hash: &event.prev_hash,
            hash: &event.hash,
        }
    }

    fn bytes(&self) -> usize {
        256 + 2 * self.facts.as_str().len() + self.body.as_ref().map_or(0, |body| body.text.len())
    }
}

/// Returns how deep a JSON text is nested.
fn nesting(json: &str) -> usize {
    let (mut depth, mut deepest, mut is_text, mut is_escaped) = (0_usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Returns a value as compact JSON. As `to_string`, but without a formatter between the value and the text.
fn text(value: &Value) -> Result<String, Error> {
    serde_json::to_string(value).map_err(unwritable)
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::io("a value can't be written as JSON", error.into())
}

fn unliftable(error: serde_json::Error) -> Error {
    Error::io("facts of an older version can't be read", error.into())
}

fn limit(what: &str, size: usize, limit: usize) -> Result<(), Error> {
    check("bytes", size, limit, || what.to_owned())
}

fn check(unit: &'static str, size: usize, limit: usize, what: impl FnOnce() -> String) -> Result<(), Error> {
    if size > limit {
        return Err(Error::TooLarge { what: what(), size, limit, unit });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::nesting;

    #[test]
    fn brackets_are_counted_outside_of_texts() {
        for (json, depth) in [
            ("1", 0),
            ("[]", 1),
            (r#"{"a":[{}],"b":[[]]}"#, 3),
            (r#"["[[[", "\"[[", "\\", []]"#, 2),
            (r#"{"a\\\"[":"]"}"#, 1),
            ("[[],[],[]]", 2),
        ] {
            assert_eq!(nesting(json), depth, "{json}");
        }
    }
}
