//! Ownership of a root: a lock ensures that only one daemon serves it.

use switchboard_protocol::error::Failure;

use crate::{Error, RootPaths};

/// The daemon that owns a root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Process id of the daemon.
    pub pid: u32,
}

// === impl Owner ===

impl Owner {
    /// Finds the daemon of a place, if one runs.
    ///
    /// # Errors
    /// When the lock can't be read.
    pub fn of(place: &RootPaths) -> Result<Option<Self>, Error> {
        Ok(switchboard_process::lock::holder(&place.lock())?.map(|holder| Self { pid: holder.pid }))
    }
}

/// Locks the root, or fails with its owner.
pub(crate) fn take(place: &RootPaths) -> Result<switchboard_process::lock::Lock, Error> {
    match switchboard_process::lock::Lock::take(&place.lock(), &place.socket.display().to_string()) {
        Err(switchboard_process::Error::Held { holder, .. }) => {
            let pid = holder.map_or(0, |holder| holder.pid);
            let what = format!("a daemon (process {pid}) already runs for {}", place.root.display());
            Err(Failure::new("daemon.running", what)
                .at(place.socket.display().to_string())
                .hint("switchboard status")
                .into())
        }
        other => Ok(other?),
    }
}
