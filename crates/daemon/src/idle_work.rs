//! Does what is better done while nothing is written: notes the record's head elsewhere, and returns a burst's memory to the system.

use std::time::Duration;

use switchboard_process::task;
use switchboard_store::Store;
use tokio_util::sync::CancellationToken;

use crate::RootPaths;
use crate::boot::WORKERS;
use crate::record::note_head;

/// Time without a write after which the work begins.
const QUIET: Duration = Duration::from_secs(1);

/// How long a thread is kept busy, so that the next one wakes up, too.
const TURN: Duration = Duration::from_millis(1);

/// Waits for each burst of writes and its end, until the daemon ends.
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
        if let Err(error) = task::spawn_blocking(move || note_head(&noted, &kept, false)).await {
            tracing::debug!(%error, "the record's head could not be noted");
        }
        if let Err(error) = task::spawn_blocking(switchboard_process::memory::give_back).await {
            tracing::debug!(%error, "memory could not be given back");
        }
        // Every thread has to run once, to return its memory; an idle one would not wake up for a task that takes no time.
        for _ in 0..WORKERS {
            task::spawn(async { std::thread::sleep(TURN) });
        }
    }
}
