//! Leases: claims with a deadline and a fencing token.

use serde::{Deserialize, Serialize};

use crate::id::AgentName;

/// Maximum number of globs of one lease.
pub const MAX_GLOBS: usize = 64;
/// Default duration of a lease, in seconds: an hour, as in agents' mail tools.
pub const DEFAULT_TTL_S: u64 = 60 * 60;
/// Maximum duration of a lease, in seconds: a day.
pub const MAX_TTL_S: u64 = 24 * 60 * 60;

crate::id!(LeaseId, "lease", "One lease.");

/// What a lease claims.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, crate::schema::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Files: paths and globs relative to the repository's root; a folder stands for all it contains.
    Files(Vec<String>),
    /// A unit of a plan: `1.2`.
    Unit(String),
    /// A terminal, by its agent's name.
    Terminal(AgentName),
}

/// Which other claims a claim is compatible with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, crate::schema::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// With no other claim; for writing.
    #[default]
    Exclusive,
    /// With other shared claims; for relying on the resource to stay unchanged.
    Shared,
}

impl Mode {
    /// Returns the mode as it is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exclusive => "exclusive",
            Self::Shared => "shared",
        }
    }

    /// Returns true if two holders can't have both claims.
    #[must_use]
    pub const fn excludes(self, other: Self) -> bool {
        matches!(self, Self::Exclusive) || matches!(other, Self::Exclusive)
    }
}

/// A lease as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema)]
pub struct Lease {
    /// Id of the lease.
    pub id: LeaseId,
    /// Name of the holder.
    pub holder: AgentName,
    /// Claimed resource.
    pub resource: Resource,
    /// Whether others may hold a claim on it, too.
    pub mode: Mode,
    /// Fencing token: it grows with every grant, so that work under an older lease is recognised and refused.
    pub token: u64,
    /// Time left, in milliseconds.
    pub left_ms: u64,
    /// Duration of the grant, in milliseconds.
    pub ttl_ms: u64,
    /// Why the holder wants it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// Reason why a lease ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Its holder returned it, or a person revoked it.
    Released,
    /// Its time ran out.
    Lapsed,
    /// Its holder left.
    HolderLeft,
}

/// Events about leases; all of them have the subject [`SUBJECT`], whose revision a decision is based on.
///
/// `at` is the time of the leases' own clock in milliseconds: it stands still while no daemon runs, and a change of the time of day
/// does not affect it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(tag = "kind", content = "facts")]
pub enum LeaseEvent {
    /// A lease was granted; the event's lsn is its token.
    LeaseGranted {
        /// Id of the lease.
        id: LeaseId,
        /// Name of the holder.
        holder: AgentName,
        /// Claimed resource; of many globs only the first.
        resource: Resource,
        /// Whether others may hold a claim on it, too.
        mode: Mode,
        /// Time of the grant, by the leases' clock.
        at: u64,
        /// Duration in milliseconds.
        span: u64,
        /// Why the holder wants it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// More globs of a lease that was just granted.
    LeaseGlobsAdded {
        /// Id of the lease.
        id: LeaseId,
        /// Number of this part of its globs, from 1.
        part: u32,
        /// The globs.
        globs: Vec<String>,
    },
    /// A lease has a new deadline.
    LeaseRenewed {
        /// Id of the lease.
        id: LeaseId,
        /// Time of the renewal, by the leases' clock.
        at: u64,
        /// Duration from that time, in milliseconds.
        span: u64,
    },
    /// A lease ended.
    LeaseEnded {
        /// Id of the lease.
        id: LeaseId,
        /// Time of the end, by the leases' clock.
        at: u64,
        /// Reason.
        ending: Ending,
        /// Number of parts that its globs have, without the first.
        #[serde(default, skip_serializing_if = "is_zero")]
        parts: u32,
    },
    /// A daemon took over the leases of an earlier one, or the time of day has jumped; the leases' clock continues from here.
    LeasesResumed {
        /// Time of the leases' clock.
        at: u64,
    },
}

/// The subject of all lease events.
pub const SUBJECT: &str = "leases";

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(parts: &u32) -> bool {
    *parts == 0
}
