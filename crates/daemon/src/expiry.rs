//! Ends expired leases, removes terminals that are gone and workers that are done, and drops mail that no recipient will see.

use std::sync::Arc;
use std::time::Duration;

use switchboard_bus::LeaseBook;
use switchboard_dispatch::Assignees;
use switchboard_process::clock;
use switchboard_process::fingerprint::Fingerprint;
use switchboard_protocol::agent::Process;
use switchboard_store::Store;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Interval of the checks: that of the signs of life of the protocol's terminals.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// Interval of the checks whether the time of day has jumped, if the system does not report that.
const TICK: Duration = Duration::from_secs(1);

/// Checks at the start, when the assignees change, and at each interval, until the daemon ends.
pub(crate) async fn watch(
    store: Store,
    leases: Arc<LeaseBook>,
    mut assignees: watch::Receiver<Assignees>,
    stop: CancellationToken,
) {
    let mut look = tokio::time::interval(CHECK_INTERVAL);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let changes = clock::Changes::watch();
    loop {
        tokio::select! {
            biased;
            // Stops first: runs that end with the daemon keep their workers.
            () = stop.cancelled() => return,
            _ = look.tick() => {
                end(&store, &leases).await;
                // A clock that is slewed for long drifts away without being set, so no change is reported.
                follow_time(&leases).await;
            }
            () = time_may_have_jumped(changes.as_ref()) => {
                follow_time(&leases).await;
                continue;
            }
            changed = assignees.changed() => if changed.is_err() { return },
        }
        match switchboard_bus::dismiss_workers(&store, |agent| assignees.borrow().has(&agent.name)).await {
            Ok(0) => {}
            Ok(workers) => tracing::info!(workers, "done"),
            Err(error) => tracing::warn!(%error, "workers that are done are still on the roster"),
        }
    }
}

async fn time_may_have_jumped(changes: Option<&clock::Changes>) {
    match changes {
        Some(changes) => changes.next().await,
        None => tokio::time::sleep(TICK).await,
    }
}

async fn follow_time(leases: &LeaseBook) {
    match leases.follow_time().await {
        Ok(false) => {}
        Ok(true) => tracing::warn!("the time of day has jumped; leases keep the time that they have left"),
        Err(error) => tracing::warn!(%error, "a jump of the time of day could not be noted down"),
    }
}

async fn end(store: &Store, leases: &LeaseBook) {
    let gone = switchboard_bus::dismiss_terminals(store, is_alive).await;
    let over = leases.sweep().await;
    let ended = switchboard_bus::end_unseen(store).await;
    for (what, done) in [("terminals", gone), ("leases", over), ("messages", ended)] {
        match done {
            Ok(0) => {}
            Ok(count) => tracing::info!(what, count, "gone, over or dead"),
            Err(error) => tracing::warn!(what, %error, "what is over could not be ended"),
        }
    }
}

/// Returns true if this very process still runs.
pub(crate) fn is_alive(process: &Process) -> bool {
    let Process { pid, start, boot } = process.clone();
    Fingerprint { pid, start, boot }.is_alive()
}
