//! What is done from time to time: texts go that nobody needs any more.

use std::time::Duration;

use store::Store;
use tokio_util::sync::CancellationToken;

/// How long after the start, and how often from then on.
const EVERY: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(10 * 60));

/// Keeps house until the daemon ends.
pub(crate) async fn run(store: Store, stop: CancellationToken) {
    let mut wait = EVERY.0;
    while tokio::time::timeout(wait, stop.cancelled()).await.is_err() {
        sweep(&store).await;
        wait = EVERY.1;
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
