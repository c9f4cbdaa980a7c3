//! An event as stored and hashed: with the exact bytes of its facts, never re-serialised.

use switchboard_protocol::event::{Event, Facts, Lsn, RawEvent};
use switchboard_protocol::id::Digest;
use switchboard_protocol::time::Millis;

use crate::Error;
use crate::schema::Schema;

/// First part of every event's hash, which separates it from hashes of anything else.
const DOMAIN: &[u8] = b"switchboard event 1";

/// Size of a body's salt in bytes.
pub(crate) const SALT_BYTES: usize = 16;

/// One event, with its facts as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) lsn: Lsn,
    pub(crate) ts: Millis,
    pub(crate) kind: String,
    pub(crate) v: u16,
    pub(crate) subject: String,
    pub(crate) rev: u64,
    pub(crate) actor: String,
    pub(crate) facts: String,
    pub(crate) body_hash: Digest,
    pub(crate) prev_hash: Digest,
    pub(crate) hash: Digest,
}

/// An event before it is appended to the log, in its stored form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) lsn: Lsn,
    pub(crate) ts: Millis,
    pub(crate) kind: &'a str,
    pub(crate) v: u16,
    pub(crate) subject: &'a str,
    pub(crate) rev: u64,
    pub(crate) actor: &'a str,
    pub(crate) facts: &'a str,
    pub(crate) body_hash: &'a Digest,
    pub(crate) prev_hash: &'a Digest,
    pub(crate) hash: &'a Digest,
}

impl Entry<'_> {
    /// Returns the hash of this event in a chain. It covers the chain's id, so that events can't be moved between
    /// chains, all stored fields of the event except its body, and the hash of the event before.
    pub(crate) fn seal(&self, chain_id: &str) -> Digest {
        Digest::of_parts(&[
            DOMAIN,
            chain_id.as_bytes(),
            &self.lsn.to_le_bytes(),
            &self.ts.0.to_le_bytes(),
            self.kind.as_bytes(),
            &self.v.to_le_bytes(),
            self.subject.as_bytes(),
            &self.rev.to_le_bytes(),
            self.actor.as_bytes(),
            self.facts.as_bytes(),
            &self.body_hash.0,
            &self.prev_hash.0,
        ])
    }

    /// Returns a copy that owns its strings.
    pub(crate) fn to_record(self) -> Record {
        Record {
            lsn: self.lsn,
            ts: self.ts,
            kind: self.kind.to_owned(),
            v: self.v,
            subject: self.subject.to_owned(),
            rev: self.rev,
            actor: self.actor.to_owned(),
            facts: self.facts.to_owned(),
            body_hash: *self.body_hash,
            prev_hash: *self.prev_hash,
            hash: *self.hash,
        }
    }
}

impl Record {
    /// Returns the hash that this record must have in a chain.
    pub(crate) fn seal(&self, chain_id: &str) -> Digest {
        self.entry().seal(chain_id)
    }

    /// Returns the record as a borrowed entry.
    pub(crate) fn entry(&self) -> Entry<'_> {
        Entry {
            lsn: self.lsn,
            ts: self.ts,
            kind: &self.kind,
            v: self.v,
            subject: &self.subject,
            rev: self.rev,
            actor: &self.actor,
            facts: &self.facts,
            body_hash: &self.body_hash,
            prev_hash: &self.prev_hash,
            hash: &self.hash,
        }
    }

    /// Converts it to an event for readers, with facts of the newest version.
    pub(crate) fn into_event(self, schema: &Schema, body: Option<Body>) -> Result<Event, Error> {
        let (v, facts) = self.lifted(schema)?;
        Ok(Event {
            lsn: self.lsn,
            ts: self.ts,
            kind: self.kind,
            v,
            subject: self.subject,
            rev: self.rev,
            actor: self.actor,
            facts,
            body: body.map(|body| body.text),
            body_hash: self.body_hash,
            prev_hash: self.prev_hash,
            hash: self.hash,
        })
    }
}

impl Record {
    /// As [`into_event`](Self::into_event), without what readers of raw events don't get.
    pub(crate) fn into_raw(self, schema: &Schema) -> Result<RawEvent, Error> {
        let (_, facts) = self.lifted(schema)?;
        Ok(RawEvent { lsn: self.lsn, ts: self.ts, kind: self.kind, rev: self.rev, facts })
    }

    /// As [`into_raw`](Self::into_raw), for a record that others keep.
    pub(crate) fn to_raw(&self, schema: &Schema) -> Result<RawEvent, Error> {
        let (_, facts) = self.lifted(schema)?;
        Ok(RawEvent { lsn: self.lsn, ts: self.ts, kind: self.kind.clone(), rev: self.rev, facts })
    }

    /// Returns the newest version of the facts.
    fn lifted(&self, schema: &Schema) -> Result<(u16, Facts), Error> {
        let lifted = Facts::parse(self.facts.as_str()).and_then(|facts| schema.lift(&self.kind, self.v, facts));
        lifted.map_err(|error| self.unreadable(&error))
    }

    fn unreadable(&self, error: &serde_json::Error) -> Error {
        Error::Corrupt {
            place: format!("event {} ({} of {})", self.lsn, self.kind, self.subject),
            what: format!("its facts do not parse: {error}"),
        }
    }
}

/// Text of an event and the salt of its hash, which are always dropped together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Body {
    pub(crate) salt: [u8; SALT_BYTES],
    pub(crate) text: String,
}

impl Body {
    /// Creates a body with a new salt.
    pub(crate) fn new(text: String) -> Result<Self, Error> {
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt)
            .map_err(|error| Error::io("the system gave no random bytes", std::io::Error::other(error)))?;
        Ok(Self { salt, text })
    }

    /// Returns the hash that the event carries; the salt prevents guessing a short text from it.
    pub(crate) fn hash(&self) -> Digest {
        Digest::of_parts(&[&self.salt, self.text.as_bytes()])
    }
}

/// End of the log and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tip {
    pub(crate) lsn: Lsn,
    pub(crate) hash: Digest,
    pub(crate) ts: Millis,
}

impl Tip {
    /// The tip of an empty log.
    pub(crate) const START: Self = Self { lsn: 0, hash: Digest::ZERO, ts: Millis(0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_that_are_not_json_make_the_record_corrupt() {
        let (kind, subject, actor) = ("of_another_version".to_owned(), "s".to_owned(), "a".to_owned());
        let record = Record {
            lsn: 7,
            ts: Millis(0),
            kind,
            v: 1,
            subject,
            rev: 1,
            actor,
            facts: r#"{"part":1"#.to_owned(),
            body_hash: Digest::ZERO,
            prev_hash: Digest::ZERO,
            hash: Digest::ZERO,
        };
        let schema = Schema::new(Vec::new()).unwrap();
        let is_corrupt = |error: Error| matches!(error, Error::Corrupt { place, .. } if place.starts_with("event 7 "));

        assert!(is_corrupt(record.to_raw(&schema).unwrap_err()));
        assert!(is_corrupt(record.clone().into_raw(&schema).unwrap_err()));
        assert!(is_corrupt(record.into_event(&schema, None).unwrap_err()));
    }
}
