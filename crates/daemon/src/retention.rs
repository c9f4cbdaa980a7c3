//! Retention: drops texts that are no longer needed.

use std::time::Duration;

use switchboard_process::task;
use switchboard_store::Store;
use tokio_util::sync::CancellationToken;

/// Delay of the first sweep after the start, so that the start is not slowed down.
const FIRST_SWEEP_DELAY: Duration = Duration::from_secs(60);

/// Interval of later sweeps.
const SWEEP_INTERVAL: Duration = Duration::from_secs(10 * 60);

/// Sweeps at each interval until the daemon ends.
pub(crate) async fn run(store: Store, stop: CancellationToken) {
    let mut look = tokio::time::interval_at(tokio::time::Instant::now() + FIRST_SWEEP_DELAY, SWEEP_INTERVAL);
    while stop.run_until_cancelled(look.tick()).await.is_some() {
        sweep(&store).await;
    }
}

/// Applies every rule of retention. One that fails is tried again at the next sweep.
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
    // Dropped texts stay in the logs until those are cut.
    let store = store.clone();
    match task::spawn_blocking(move || store.checkpoint(switchboard_store::Checkpoint::Truncate)).await {
        Ok(Ok(stats)) => tracing::debug!(?stats, "the logs are cut"),
        Ok(Err(error)) => tracing::warn!(%error, "the logs could not be cut"),
        Err(error) => tracing::warn!(%error, "the logs could not be cut"),
    }
}
