//! Leases: claims with a deadline and a fencing token.

use serde::{Deserialize, Serialize};

use crate::id::AgentName;

/// Most globs of one lease.
pub const MAX_GLOBS: usize = 64;
/// How long a lease lasts unless asked otherwise, in seconds: an hour, as agents' mail tools have it.
pub const DEFAULT_TTL_S: u64 = 60 * 60;
/// How long a lease lasts at most, in seconds: a day.
pub const MAX_TTL_S: u64 = 24 * 60 * 60;

crate::id!(LeaseId, "lease", "One lease.");

/// What is claimed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Files: paths and globs relative to the repository's root; a folder stands for all it contains.
    Files(Vec<String>),
    /// A unit of a plan: `1.2`.
    Unit(String),
    /// A terminal, by its agent's name.
    Terminal(AgentName),
}

/// With whom a claim is compatible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// With no other claim: to write.
    #[default]
    Exclusive,
    /// With other shared ones: to rely on it staying as it is.
    Shared,
}

impl Mode {
    /// The word that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exclusive => "exclusive",
            Self::Shared => "shared",
        }
    }

    /// Whether two holders can't have both.
    #[must_use]
    pub const fn excludes(self, other: Self) -> bool {
        matches!(self, Self::Exclusive) || matches!(other, Self::Exclusive)
    }
}

/// A lease as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Lease {
    /// Its id.
    pub id: LeaseId,
    /// Who holds it.
    pub holder: AgentName,
    /// What it is on.
    pub resource: Resource,
    /// Whether others may hold it, too.
    pub mode: Mode,
    /// The fencing token: grows with every grant, so that work under an older lease can be told and refused.
    pub token: u64,
    /// Time left in milliseconds.
    pub left_ms: u64,
    /// How long it was granted for, in milliseconds.
    pub ttl_ms: u64,
    /// Why the holder wants it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// Why a lease ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Its holder gave it back, or a person took it away.
    Released,
    /// Its time was up.
    Lapsed,
    /// Its holder left.
    HolderLeft,
}

/// What happens to leases; all of it on the one subject [`SUBJECT`], whose revision is what a decision is based on.
///
/// `at` is the leases' own clock in milliseconds: it stands still while no daemon runs, and no change of the time of day
/// moves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", content = "facts", rename_all = "snake_case")]
pub enum LeaseEvent {
    /// Somebody holds something; the event's lsn is the token.
    LeaseGranted {
        /// Its id.
        id: LeaseId,
        /// Who holds it.
        holder: AgentName,
        /// What it is on; of many globs the first.
        resource: Resource,
        /// Whether others may hold it, too.
        mode: Mode,
        /// When, by the leases' clock.
        at: u64,
        /// For how long, in milliseconds.
        span: u64,
        /// Why the holder wants it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// More globs of a lease that was just granted.
    LeaseGlobsAdded {
        /// The lease.
        id: LeaseId,
        /// Which part of its globs, from 1.
        part: u32,
        /// The globs.
        globs: Vec<String>,
    },
    /// A lease has a new deadline.
    LeaseRenewed {
        /// The lease.
        id: LeaseId,
        /// When, by the leases' clock.
        at: u64,
        /// For how long from then, in milliseconds.
        span: u64,
    },
    /// A lease is over.
    LeaseEnded {
        /// The lease.
        id: LeaseId,
        /// When, by the leases' clock.
        at: u64,
        /// Why.
        ending: Ending,
        /// How many parts its globs have, the first not counted.
        #[serde(default, skip_serializing_if = "is_zero")]
        parts: u32,
    },
    /// A daemon took the leases over from an earlier one, or the time of day has jumped; their clock goes on from here.
    LeasesResumed {
        /// The leases' clock.
        at: u64,
    },
}

/// The subject of all lease events.
pub const SUBJECT: &str = "leases";

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(parts: &u32) -> bool {
    *parts == 0
}
