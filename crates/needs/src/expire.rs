//! Expires questions that were not answered in time.

use std::time::Duration;

use switchboard_protocol::need::{Need, NeedKind};
use switchboard_store::{Batch, Interest, Store};
use tokio_util::sync::CancellationToken;

use crate::read::open_of_kind;
use crate::{Decision, Error, choose, resolve};

/// Maximum sleep: the clock may have been set meanwhile.
const MAX_SLEEP: Duration = Duration::from_secs(60);
/// Pause after a failure of the store.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Expires questions whose time is over until `stop`, sleeping until the next one is due.
pub async fn expire(store: Store, stop: CancellationToken) {
    let mut asked = store.subscribe([Interest::Kind("need_asked".to_owned())]);
    loop {
        let pause = match expire_once(&store).await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::error!(%error, "questions could not be expired");
                RETRY_PAUSE
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            changed = asked.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Expires the questions that are due, and returns how long to sleep.
async fn expire_once(store: &Store) -> Result<Duration, Error> {
    let now = store.now();
    let mut open = Vec::new();
    for kind in NeedKind::ALL.into_iter().filter(|kind| expires_here(*kind)) {
        open.extend(open_of_kind(store, kind)?);
    }
    let (late, early): (Vec<Need>, Vec<Need>) = open.into_iter().partition(|need| need.expires_at <= now);
    for need in late {
        let (_, option) = choose(&need, Decision::Deny)?;
        match resolve(store, &need.id, ("expired", option, None), "daemon", Batch::synced()).await {
            Err(Error::Store(switchboard_store::Error::Refused(_))) => {}
            other => drop(other?),
        }
    }
    let next = early.iter().map(|need| need.expires_at.0 - now.0).min();
    let next = next.and_then(|left| u64::try_from(left).ok()).map(Duration::from_millis);
    Ok(next.map_or(MAX_SLEEP, |left| left.clamp(Duration::from_millis(10), MAX_SLEEP)))
}

/// Returns true for a kind of question that this loop expires. Dead letters and held message files are ended by the
/// parts that hold them, with what they hold.
const fn expires_here(kind: NeedKind) -> bool {
    match kind {
        NeedKind::Permission
        | NeedKind::Denied
        | NeedKind::Change
        | NeedKind::Merge
        | NeedKind::Team
        | NeedKind::Call => true,
        NeedKind::DeadLetter | NeedKind::HeldMessage => false,
    }
}
