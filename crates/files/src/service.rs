//! What every pass over the folders works with.

use std::path::Path;
use std::sync::Arc;

use switchboard_bus::auth::Keys;
use switchboard_protocol::error::Failure;
use switchboard_protocol::time::Millis;
use switchboard_store::Store;
use tokio::runtime::Handle;

use crate::Error;
use crate::folder::Folder;
use crate::host::Host;

/// The daemon, the store, and where commits run.
pub(crate) struct Service {
    pub(crate) host: Arc<dyn Host>,
    pub(crate) store: Store,
    pub(crate) runtime: Handle,
}

// === impl Service ===

impl Service {
    pub(crate) fn project(&self) -> &Path {
        self.host.project()
    }

    /// The protocol's folder, made again where somebody has swept it away.
    pub(crate) fn root(&self) -> Result<Folder, Error> {
        self.host.restore()?;
        for name in ["inbox", "outbox"] {
            self.host.private_folder(&self.project().join(name))?;
        }
        Ok(Folder::root(self.project())?)
    }

    pub(crate) fn now(&self) -> Millis {
        self.store.now()
    }

    pub(crate) fn keys(&self) -> Result<Keys, Failure> {
        self.host.keys()
    }
}
