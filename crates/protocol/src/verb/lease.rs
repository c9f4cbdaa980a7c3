//! Leases: files that are one agent's for a while.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verb;
use crate::id::AgentName;
use crate::lease::{Lease, LeaseId, Mode};

/// Which files, and for how long.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReserveFilesRequest {
    /// Paths or globs from the repository's root, at most 64; you get all or none.
    #[serde(alias = "paths")]
    pub globs: Vec<String>,
    /// `shared` leaves room for other shared ones.
    #[serde(default)]
    pub mode: Mode,
    /// Seconds; 3,600 by default, 86,400 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u64>,
    /// Why, for those who have to wait.
    #[serde(default)]
    pub reason: String,
}

/// The lease.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReserveFilesReply {
    /// What you hold; keep its id and token.
    pub lease: Lease,
}

verb! {
    /// Reserve files before you edit them. A conflict says who holds them and for how long.
    ReserveFiles = "reserve_files", Synced, Lease, Listed,
    ReserveFilesRequest => ReserveFilesReply
}

/// Which agent, and for how long.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReserveAgentRequest {
    /// Its name.
    pub agent: AgentName,
    /// Seconds; 3,600 by default, 86,400 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u64>,
    /// Why, for those who have to wait.
    #[serde(default)]
    pub reason: String,
}

/// The lease on the agent.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReserveAgentReply {
    /// What you hold; keep its id and token.
    pub lease: Lease,
}

verb! {
    /// Have an agent to yourself: until you release the lease, execute and delegate_task reach it from you and from people only.
    ReserveAgent = "reserve_agent", Synced, Lease, Found,
    ReserveAgentRequest => ReserveAgentReply
}

/// Which lease, and for how long from now.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RenewLeaseRequest {
    /// Its id.
    pub lease: LeaseId,
    /// Its token.
    pub token: u64,
    /// Seconds; as long as before by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u64>,
}

/// The lease with its new deadline.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RenewLeaseReply {
    /// What you hold.
    pub lease: Lease,
}

verb! {
    /// Keep a lease for longer. `lease.lost` means that it is over: stop and reserve again.
    RenewLease = "renew_lease", Synced, Lease, Found,
    RenewLeaseRequest => RenewLeaseReply
}

/// Which lease.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseFilesRequest {
    /// Its id; all of yours when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseId>,
    /// Its token; refused when it is not the lease's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<u64>,
}

/// What is free again.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseFilesReply {
    /// The leases that ended now; one that was over before is not among them.
    pub released: Vec<LeaseId>,
}

verb! {
    /// Give reserved files back: one lease, or all of yours.
    ReleaseFiles = "release_files", Synced, Lease, Listed,
    ReleaseFilesRequest => ReleaseFilesReply
}

/// Which leases.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListLeasesRequest {
    /// Only those of this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// At most so many, the oldest; 100 by default, 1000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Live leases.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListLeasesReply {
    /// Oldest first.
    pub leases: Vec<Lease>,
    /// How many there are in all.
    pub total: u64,
}

verb! {
    /// List who holds which files, and for how long.
    ListLeases = "list_leases", Read, Status, Found,
    ListLeasesRequest => ListLeasesReply
}
