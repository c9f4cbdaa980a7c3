//! Main loop of the file protocol: takes the files that agents drop into `.switchboard/`, writes mail for agents that
//! read files, keeps `state.json` and the activity log, and cleans up. One thread, woken by the folders, the log and
//! the clock. Every pass examines all folders, so a missed wake-up has no effect.

use std::sync::Arc;
use std::time::{Duration, Instant};

use switchboard_store::Store;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::host::Host;
use crate::service::Service;
use crate::watch::GATHER;
use crate::{Error, deliver, housekeeping, look, mirror, watch};

/// Maximum interval between passes on mounts without change notifications.
const POLL: Duration = Duration::from_secs(2);

/// Maximum interval between passes if every change is announced: for work due by the clock, and for a lost
/// notification.
const ANNOUNCED_INTERVAL: Duration = Duration::from_secs(30);

/// Interval until the next pass if a file is incomplete or has just disappeared.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);

/// Interval at which a persistent failure is logged.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Serves the folders until `stop`, on a separate thread; waits and commits of verbs run on `runtime`.
pub fn serve(host: Arc<dyn Host>, store: Store, runtime: Handle, stop: &CancellationToken) {
    let service = Service { host, store, runtime };
    let bell = watch::Bell::new(&service, stop);
    let (mut look, mut deliver) = (look::Look::default(), deliver::Deliver::default());
    let (mut mirror, mut housekeeping) = (mirror::Mirror::default(), housekeeping::Housekeeping::new());
    let mut said = None;
    while !stop.is_cancelled() {
        let mut pass = || -> Result<Duration, Error> {
            let root = service.root()?;
            let is_announced = bell.attend(service.project());
            deliver.load(&service)?;
            let more = look.pass(&service, &root, &deliver)?;
            look.held(&service, &root)?;
            let soon = deliver.pass(&service, &root)?;
            let is_behind = mirror.pass(&service, &root)?;
            housekeeping.pass(&service, &root, &mut deliver)?;
            Ok(match () {
                () if more || soon => RETRY_INTERVAL,
                () if is_announced && !is_behind && !deliver.is_in_trouble() => ANNOUNCED_INTERVAL,
                () => POLL,
            })
        };
        let began = Instant::now();
        let wait = match pass() {
            Ok(wait) => wait,
            Err(trouble) => {
                if said.is_none_or(|said: Instant| said.elapsed() > LOG_INTERVAL) {
                    said = Some(Instant::now());
                    let error = &trouble as &dyn std::error::Error;
                    tracing::warn!(error, "message files could not be looked after");
                }
                POLL
            }
        };
        // Large folders are checked less often: at most a twentieth of the time is spent on passes.
        bell.wait(wait.max(began.elapsed() * 20));
        std::thread::sleep(GATHER);
    }
}
