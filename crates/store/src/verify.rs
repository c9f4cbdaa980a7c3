//! What a check of the record says.

use protocol::event::Lsn;
use protocol::id::Digest;

use crate::Head;
use crate::log::{Chain, Finding};

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

    /// The head's hash.
    #[must_use]
    pub fn hash(&self) -> Digest {
        self.head.hash
    }
}
