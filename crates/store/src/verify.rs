//! What a check of the record says.

use std::path::PathBuf;

use switchboard_protocol::event::Lsn;
use switchboard_protocol::id::Digest;

use crate::log::{Chain, Finding};
use crate::{Error, Head};

/// How much to check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The hash chain and the bodies.
    Chain,
    /// Also the file's structure and the tables.
    All,
}

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    /// The chain.
    pub chain_id: String,
    /// The head that was reached.
    pub head: Head,
    /// Bodies that match their salted hash.
    pub bodies: u64,
    /// Bodies that are gone, by retention or redaction.
    pub dropped: u64,
    /// Rows that were compared with rebuilt ones.
    pub rows: u64,
    /// What is wrong, in the order of the log, at most 20.
    pub findings: Vec<Finding>,
}

// === impl Report ===

impl Report {
    pub(crate) fn new(chain: Chain<'_>, chain_id: &str, rows: u64) -> Self {
        Self {
            chain_id: chain_id.to_owned(),
            head: Head { lsn: chain.lsn, hash: chain.hash },
            bodies: chain.bodies,
            dropped: chain.dropped,
            rows,
            findings: chain.findings,
        }
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// The first thing that is wrong.
    #[must_use]
    pub fn first(&self) -> Option<&Finding> {
        self.findings.first()
    }

    /// How many events were checked.
    #[must_use]
    pub fn events(&self) -> Lsn {
        self.head.lsn
    }

    /// What may be said of the record: "hash chain verified" and no more, as long as no signed head was checked.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        if self.is_clean() { "hash chain verified" } else { "the record is damaged" }
    }

    /// The report itself, or its first finding as an error.
    pub(crate) fn into_clean(self) -> Result<Self, Error> {
        match self.findings.into_iter().next() {
            Some(finding) => Err(Error::Corrupt { place: finding.place.to_string(), what: finding.what }),
            None => Ok(Self { findings: Vec::new(), ..self }),
        }
    }

    /// The head's hash.
    #[must_use]
    pub fn hash(&self) -> Digest {
        self.head.hash
    }
}

/// A store that was put back from a backup.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Restored {
    /// The head of the backup.
    pub from: Head,
    /// The head now: one event further, which records the restoring.
    pub head: Head,
    /// The epoch in which it was restored, after every one of the replaced store; the next owner begins another.
    pub epoch: u64,
    /// Folder of the replaced store; `None` if there was none.
    pub replaced: Option<PathBuf>,
}
