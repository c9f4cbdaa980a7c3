//! Keeps the roll: leases that are over and terminals that are gone.

use std::sync::Arc;
use std::time::Duration;

use bus::LeaseBook;
use process::fingerprint::Fingerprint;
use protocol::agent::Process;
use store::Store;
use tokio_util::sync::CancellationToken;

/// How often it is looked at: as often as the protocol's terminals give a sign of life.
const LOOK: Duration = Duration::from_secs(60);

/// Looks until the daemon ends.
pub(crate) async fn keep(store: Store, leases: Arc<LeaseBook>, stop: CancellationToken) {
    while stop.run_until_cancelled(tokio::time::sleep(LOOK)).await.is_some() {
        let gone = bus::dismiss_terminals(&store, is_alive).await;
        let over = leases.sweep().await;
        match gone.and_then(|gone| over.map(|over| (gone, over))) {
            Ok((0, 0)) => {}
            Ok((terminals, leases)) => tracing::info!(terminals, leases, "gone or over"),
            Err(error) => tracing::warn!(%error, "the roll could not be kept"),
        }
    }
}

/// Whether this very process still runs.
pub(crate) fn is_alive(process: &Process) -> bool {
    let Process { pid, start, boot } = process.clone();
    Fingerprint { pid, start, boot }.is_alive()
}
