//! Leases of agents on files, provided by the daemon: a merge waits for those of others.

use switchboard_protocol::id::AgentName;
use switchboard_protocol::run::HeldBy;

use crate::Error;
use crate::future::BoxFuture;

/// Files reserved by other agents.
pub trait FileLeases: Send + Sync + 'static {
    /// Returns the lease of another agent on files that an agent is about to change; `None` if there is none.
    fn held_by_others<'a>(
        &'a self,
        own: Option<&'a AgentName>,
        files: &'a [String],
    ) -> BoxFuture<'a, Result<Option<HeldBy>, Error>>;

    /// Waits until no other agent has reserved the files, or until the lease is not the known one.
    fn held_by_another<'a>(
        &'a self,
        own: Option<&'a AgentName>,
        files: &'a [String],
        known: &'a HeldBy,
    ) -> BoxFuture<'a, Result<Option<HeldBy>, Error>>;
}
