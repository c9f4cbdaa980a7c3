//! Verbs about leases: files that are reserved for one agent for a limited time.

use serde::{Deserialize, Serialize};

use super::verb;
use crate::id::AgentName;
use crate::lease::{Lease, LeaseId, Mode};
use crate::schema::JsonSchema;

/// Files to reserve.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReserveFilesRequest {
    /// Paths or globs from the repository's root, at most 64; you get all or none.
    #[serde(alias = "paths")]
    pub globs: Vec<String>,
    /// Mode of the lease; `shared` allows other shared leases.
    #[serde(default)]
    pub mode: Mode,
    /// Duration in seconds: 3,600 by default, 86,400 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u64>,
    /// Reason, shown to agents that have to wait.
    #[serde(default)]
    pub reason: String,
}

/// The new lease.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReserveFilesReply {
    /// The lease; keep its id and token.
    pub lease: Lease,
}

verb! {
    /// Reserve files before you edit them. A conflict names the holder and the time left.
    ReserveFiles = "reserve_files", Synced, Lease, Listed,
    ReserveFilesRequest => ReserveFilesReply
}

/// The agent to reserve.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReserveAgentRequest {
    /// Name of the agent.
    pub agent: AgentName,
    /// Duration in seconds: 3,600 by default, 86,400 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u64>,
    /// Reason, shown to agents that have to wait.
    #[serde(default)]
    pub reason: String,
}

/// The lease on the agent.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReserveAgentReply {
    /// The lease; keep its id and token.
    pub lease: Lease,
}

verb! {
    /// Reserve an agent for yourself: until you release the lease, execute and delegate_task reach it only from you and from people.
    ReserveAgent = "reserve_agent", Synced, Lease, Found,
    ReserveAgentRequest => ReserveAgentReply
}

/// The lease to renew.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RenewLeaseRequest {
    /// Id of the lease.
    pub lease: LeaseId,
    /// Token of the lease.
    pub token: u64,
    /// Duration from now, in seconds; by default as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u64>,
}

/// The lease with its new deadline.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RenewLeaseReply {
    /// The lease.
    pub lease: Lease,
}

verb! {
    /// Extend a lease. `lease.lost` means that it is over: stop and reserve again.
    RenewLease = "renew_lease", Synced, Lease, Found,
    RenewLeaseRequest => RenewLeaseReply
}

/// The leases to release.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseFilesRequest {
    /// Id of the lease; all of yours by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseId>,
    /// Token of the lease; the call is refused if it is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<u64>,
}

/// The leases that were released.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseFilesReply {
    /// Ids of the leases that ended now, without those that were over before.
    pub released: Vec<LeaseId>,
}

verb! {
    /// Release reserved files: one lease, or all of yours.
    ReleaseFiles = "release_files", Synced, Lease, Listed,
    ReleaseFilesRequest => ReleaseFilesReply
}

/// Leases to list.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListLeasesRequest {
    /// Only leases of this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// Maximum number of leases, the oldest: 100 by default, 1000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Live leases.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListLeasesReply {
    /// Leases, oldest first.
    pub leases: Vec<Lease>,
    /// Total number of live leases.
    pub total: u64,
}

verb! {
    /// List who holds which files, and for how long.
    ListLeases = "list_leases", Read, Status, Found,
    ListLeasesRequest => ListLeasesReply
}
