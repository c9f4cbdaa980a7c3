//! Expires mail by the clock: lapsed deliveries return, old messages expire. It sleeps until something is due or something is written.

use std::time::Duration;

use switchboard_store::Store;
use tokio_util::sync::CancellationToken;

/// Maximum sleep, for what falls due without a write.
const MAX_SLEEP: Duration = Duration::from_secs(60);

/// Minimum pause between two sweeps, however much is written.
const PAUSE: Duration = Duration::from_millis(250);

/// Sweeps until the daemon ends or its store fails.
pub(crate) async fn run(store: Store, stop: CancellationToken) {
    let mut watch = store.watch();
    loop {
        watch.mark_unchanged();
        let next = match switchboard_bus::sweep(&store).await {
            Ok(swept) => swept.next,
            Err(error) => {
                tracing::error!(%error, "the mail could not be swept");
                if store.dead().is_some() {
                    return;
                }
                None
            }
        };
        let left = next.map(|at| Duration::from_millis(u64::try_from(at.since(store.now())).unwrap_or(0)));
        let until = tokio::time::sleep(left.unwrap_or(MAX_SLEEP).clamp(PAUSE, MAX_SLEEP));
        tokio::select! {
            () = stop.cancelled() => return,
            () = until => {}
            changed = watch.changed() => {
                if changed.is_err() {
                    return;
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}
