//! The leases that agents have on files, wired by the daemon: a merge waits for those of others.

use switchboard_protocol::id::AgentName;
use switchboard_protocol::run::HeldBy;

use super::BoxFuture;
use crate::Error;

/// What others have reserved.
pub trait FileLeases: Send + Sync + 'static {
    /// Who else has reserved files that an agent is about to change; `None` if nobody has.
    fn held_by_others<'a>(
        &'a self,
        own: Option<&'a AgentName>,
        files: &'a [String],
    ) -> BoxFuture<'a, Result<Option<HeldBy>, Error>>;

    /// Waits until nobody else has the files, or it is another lease than the one that is known.
    fn held_by_another<'a>(
        &'a self,
        own: Option<&'a AgentName>,
        files: &'a [String],
        known: &'a HeldBy,
    ) -> BoxFuture<'a, Result<Option<HeldBy>, Error>>;
}
