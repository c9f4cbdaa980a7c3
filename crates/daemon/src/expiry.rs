//! Ends what is over: leases whose time has passed, terminals that are gone, workers that are done, mail that nobody will see.

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

/// How often it is looked at: as often as the protocol's terminals give a sign of life.
const LOOK: Duration = Duration::from_secs(60);

/// How often it is looked whether the time of day has jumped, where the system does not tell.
const TICK: Duration = Duration::from_secs(1);

/// Looks at the start, when the assignees change and from time to time, until the daemon ends.
pub(crate) async fn watch(
    store: Store,
    leases: Arc<LeaseBook>,
    mut assignees: watch::Receiver<Assignees>,
    stop: CancellationToken,
) {
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let changes = clock::Changes::watch();
    loop {
        tokio::select! {
            biased;
            // Runs that end with the daemon keep their workers.
            () = stop.cancelled() => return,
            _ = look.tick() => {
                end(&store, &leases).await;
                // A clock that is slewed for long drifts away without being set.
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

/// Whether this very process still runs.
pub(crate) fn is_alive(process: &Process) -> bool {
    let Process { pid, start, boot } = process.clone();
    Fingerprint { pid, start, boot }.is_alive()
}
