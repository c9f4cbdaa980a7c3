//! Retention: texts go that nobody needs any more.

use std::time::Duration;

use switchboard_store::Store;
use tokio_util::sync::CancellationToken;

/// How long after the start, so that the start is not slower for it.
const FIRST: Duration = Duration::from_secs(60);

/// How often from then on.
const EVERY: Duration = Duration::from_secs(10 * 60);

/// Sweeps from time to time until the daemon ends.
pub(crate) async fn run(store: Store, stop: CancellationToken) {
    let mut look = tokio::time::interval_at(tokio::time::Instant::now() + FIRST, EVERY);
    while stop.run_until_cancelled(look.tick()).await.is_some() {
        sweep(&store).await;
    }
}

/// Applies every rule of retention. One that fails is tried again the next time.
async fn sweep(store: &Store) {
    let mut dropped = 0;
    for rule in switchboard_bus::RETENTION {
        match store.sweep(rule, store.now()).await {
            Ok(swept) if swept.dropped > 0 => {
                dropped += swept.dropped;
                tracing::info!(rule = rule.cursor, dropped = swept.dropped, "swept");
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(rule = rule.cursor, %error, "a sweep failed"),
        }
    }
    if dropped == 0 {
        return;
    }
    // What was dropped lies in the logs until they are cut.
    let store = store.clone();
    match tokio::task::spawn_blocking(move || store.checkpoint(switchboard_store::Checkpoint::Truncate)).await {
        Ok(Ok(stats)) => tracing::debug!(?stats, "the logs are cut"),
        Ok(Err(error)) => tracing::warn!(%error, "the logs could not be cut"),
        Err(error) => tracing::warn!(%error, "the logs could not be cut"),
    }
}
