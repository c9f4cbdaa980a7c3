//! Writing side of the record.

use switchboard_store::{Batch, Committed, Store};

use crate::future::BoxFuture;

/// Writes batches to the record.
pub(crate) trait Commits: Send + Sync {
    /// Writes a batch; see [`Store::commit`].
    ///
    /// # Errors
    /// Those of [`Store::commit`].
    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<Committed, switchboard_store::Error>>;
}

impl Commits for Store {
    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<Committed, switchboard_store::Error>> {
        Box::pin(Self::commit(self, batch))
    }
}
