//! Scope and report of a check of the record.

use std::path::PathBuf;

use switchboard_protocol::event::Lsn;
use switchboard_protocol::id::Digest;

use crate::log::{Chain, Finding};
use crate::{Error, Head};

/// Scope of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The hash chain and the bodies.
    Chain,
    /// The chain, and the file's structure and the tables.
    All,
}

/// Result of a check.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    /// Id of the chain.
    pub chain_id: String,
    /// Last event that was checked.
    pub head: Head,
    /// Number of bodies that match their salted hash.
    pub bodies: u64,
    /// Number of bodies that were dropped by retention or redaction.
    pub dropped: u64,
    /// Number of rows that were compared with rebuilt ones.
    pub rows: u64,
    /// Findings in the order of the log, at most 20.
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

    /// Returns true if there are no findings.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// Returns the first finding.
    #[must_use]
    pub fn first(&self) -> Option<&Finding> {
        self.findings.first()
    }

    /// Returns the number of checked events.
    #[must_use]
    pub fn events(&self) -> Lsn {
        self.head.lsn
    }

    /// Returns what the check proves: "hash chain verified" and no more, as long as no signed head was checked.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        if self.is_clean() { "hash chain verified" } else { "the record is damaged" }
    }

    /// Returns the report itself, or its first finding as an error.
    pub(crate) fn into_clean(self) -> Result<Self, Error> {
        match self.findings.into_iter().next() {
            Some(finding) => Err(Error::Corrupt { place: finding.place.to_string(), what: finding.what }),
            None => Ok(Self { findings: Vec::new(), ..self }),
        }
    }

    /// Returns the hash of the head.
    #[must_use]
    pub fn hash(&self) -> Digest {
        self.head.hash
    }
}

/// A store that was restored from a backup.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Restored {
    /// Head of the backup.
    pub from: Head,
    /// Current head: one event further, which records the restore.
    pub head: Head,
    /// Epoch of the restore, later than every epoch of the replaced store; the next owner begins another.
    pub epoch: u64,
    /// Folder of the replaced store; `None` if there was none.
    pub replaced: Option<PathBuf>,
}
