//! Shared context of all passes over the folders.

use std::path::Path;
use std::sync::Arc;
use std::task::Poll;

use switchboard_bus::auth::Keys;
use switchboard_protocol::error::Failure;
use switchboard_protocol::time::Millis;
use switchboard_store::Store;
use tokio::runtime::Handle;

use crate::Error;
use crate::folder::Folder;
use crate::host::Host;

/// Daemon, store, and runtime of commits.
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

    /// Returns the protocol's folder, created again if it was removed.
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

    /// Runs calls concurrently, started in their order: their commits share one sync of the disk.
    pub(crate) fn together<F: Future>(&self, calls: impl IntoIterator<Item = F>) -> Vec<F::Output> {
        let mut calls: Vec<_> = calls.into_iter().map(|call| (Box::pin(call), None)).collect();
        let all = std::future::poll_fn(|context| {
            let mut is_done = true;
            for (call, answer) in calls.iter_mut().filter(|(_, answer)| answer.is_none()) {
                match call.as_mut().poll(context) {
                    Poll::Ready(answered) => *answer = Some(answered),
                    Poll::Pending => is_done = false,
                }
            }
            if is_done { Poll::Ready(()) } else { Poll::Pending }
        });
        self.runtime.block_on(all);
        calls.into_iter().filter_map(|(_, answer)| answer).collect()
    }

    pub(crate) fn keys(&self) -> Result<Keys, Failure> {
        self.host.keys()
    }
}
