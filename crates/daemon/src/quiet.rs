//! What is better done when nothing is written: the record's head is noted elsewhere, and the memory that a burst has taken goes back to the system.

use std::time::Duration;

use switchboard_store::Store;
use tokio_util::sync::CancellationToken;

use crate::RootPaths;
use crate::boot::WORKERS;
use crate::record::note_head;

/// How long nothing must have been written.
const QUIET: Duration = Duration::from_secs(1);

/// How long a thread is kept busy, so that the next one wakes up, too.
const TURN: Duration = Duration::from_millis(1);

/// Waits for bursts and their ends until the daemon ends.
pub(crate) async fn run(place: RootPaths, store: Store, stop: CancellationToken) {
    let mut watch = store.watch();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            changed = watch.changed() => if changed.is_err() { return },
        }
        loop {
            watch.mark_unchanged();
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(QUIET) => {}
            }
            match watch.has_changed() {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => return,
            }
        }
        let (noted, kept) = (place.clone(), store.clone());
        if let Err(error) = tokio::task::spawn_blocking(move || note_head(&noted, &kept, false)).await {
            tracing::debug!(%error, "the record's head could not be noted");
        }
        if let Err(error) = tokio::task::spawn_blocking(switchboard_process::memory::give_back).await {
            tracing::debug!(%error, "memory could not be given back");
        }
        // Each thread that runs tasks is to come by: one that does nothing would not wake up for it.
        for _ in 0..WORKERS {
            tokio::spawn(async { std::thread::sleep(TURN) });
        }
    }
}
