//! Retention: texts go that nobody needs any more.

use std::time::Duration;

use store::Store;
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
    for rule in bus::RETENTION {
        match store.sweep(rule, store.now()).await {
            Ok(swept) if swept.dropped > 0 => tracing::info!(rule = rule.cursor, dropped = swept.dropped, "swept"),
            Ok(_) => {}
            Err(error) => tracing::warn!(rule = rule.cursor, %error, "a sweep failed"),
        }
    }
}
