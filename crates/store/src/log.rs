//! Reading the log: the visitor that every backend calls, and the check of the chain.

use std::fmt;
use std::ops::ControlFlow;

use switchboard_protocol::event::Lsn;
use switchboard_protocol::id::Digest;

use crate::Error;
use crate::record::{Body, Record};

/// Receives the events in order; breaks to end the scan.
pub(crate) type Visit<'a> = dyn FnMut(Record, Option<Body>) -> Result<ControlFlow<()>, Error> + 'a;

/// Maximum number of findings of one check: with more damage, the fix is to restore the backup, not to read a list.
const MAX_FINDINGS: usize = 20;

/// Where the record is damaged.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DamageSite {
    /// An event; kind and subject are empty when they can't be read.
    Event {
        /// Position of the event in the log.
        lsn: Lsn,
        /// Kind of the event as stored.
        kind: String,
        /// Subject of the event as stored.
        subject: String,
    },
    /// A projected table.
    Table(
        /// Name of the table.
        String,
    ),
    /// The database file or the export as a whole.
    File,
}

impl DamageSite {
    pub(crate) fn of(record: &Record) -> Self {
        Self::Event { lsn: record.lsn, kind: record.kind.clone(), subject: record.subject.clone() }
    }

    /// Returns the site of an event of which only the position is known.
    pub(crate) fn at(lsn: Lsn) -> Self {
        Self::Event { lsn, kind: String::new(), subject: String::new() }
    }
}

impl fmt::Display for DamageSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Event { lsn, kind, .. } if kind.is_empty() => write!(f, "event {lsn}"),
            Self::Event { lsn, kind, subject } => write!(f, "event {lsn} ({kind} of {subject})"),
            Self::Table(name) => write!(f, "table {name}"),
            Self::File => f.write_str("the file"),
        }
    }
}

/// One damage that was found in the record.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// Where the damage is.
    pub place: DamageSite,
    /// Description of the damage.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// Follows a chain event by event and collects findings.
pub(crate) struct Chain<'a> {
    chain_id: &'a str,
    pub(crate) lsn: Lsn,
    pub(crate) hash: Digest,
    pub(crate) bodies: u64,
    pub(crate) dropped: u64,
    pub(crate) findings: Vec<Finding>,
}

// === impl Chain ===

impl<'a> Chain<'a> {
    /// Starts after an event whose hash is known; at `(0, Digest::ZERO)` for the whole chain.
    pub(crate) fn after(chain_id: &'a str, lsn: Lsn, hash: Digest) -> Self {
        Self { chain_id, lsn, hash, bodies: 0, dropped: 0, findings: Vec::new() }
    }

    /// Checks the next event, and its body if it has one.
    pub(crate) fn follow(&mut self, record: &Record, body: Option<&Body>) {
        if record.lsn != self.lsn + 1 {
            self.found(DamageSite::at(self.lsn + 1), format!("it is missing; event {} stands there", record.lsn));
        } else if record.prev_hash != self.hash {
            self.found(DamageSite::of(record), "it doesn't continue the event before it");
        }
        if record.seal(self.chain_id) != record.hash {
            self.found(DamageSite::of(record), "its content doesn't match its hash");
        }
        match body {
            Some(_) if record.body_hash == Digest::ZERO => {
                self.found(DamageSite::of(record), "it has a body that it never had")
            }
            Some(body) if body.hash() != record.body_hash => {
                self.found(DamageSite::of(record), "its body doesn't match its hash");
            }
            Some(_) => self.bodies += 1,
            None => self.dropped += u64::from(record.body_hash != Digest::ZERO),
        }
        self.lsn = record.lsn;
        self.hash = record.hash;
    }

    /// Checks that the chain ends where it should.
    pub(crate) fn end(&mut self, lsn: Lsn, hash: Digest) {
        if self.lsn < lsn {
            self.found(DamageSite::at(self.lsn + 1), format!("it is missing; the log should end at event {lsn}"));
        } else if self.lsn > lsn || self.hash != hash {
            self.found(DamageSite::at(self.lsn), "the log doesn't end with this event");
        }
    }

    /// Adds a finding.
    pub(crate) fn found(&mut self, place: DamageSite, what: impl Into<String>) {
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(Finding { place, what: what.into() });
        }
    }
}
