//! The file protocol's loop: takes what agents drop into `.switchboard/`, writes mail for those who read files, keeps
//! `state.json` and the activity log, and tidies up. One thread, woken by the folders, the log and the clock; every pass
//! looks at what is there, so nothing depends on a wake that was missed.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use switchboard_bus::auth::Keys;
use switchboard_bus::files::Folder;
use switchboard_protocol::error::Failure;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::verbs::Verbs;
use crate::{Error, project};

mod archive;
mod deliver;
mod housekeeping;
mod intake;
mod look;
mod mirror;
mod watch;

/// How often the folders are looked at although nothing woke us: for mounts that tell nothing.
const POLL: Duration = Duration::from_secs(2);

/// How often when something is half written or just vanished.
const SOON: Duration = Duration::from_millis(250);

/// How often trouble that lasts is said.
const SAY: Duration = Duration::from_secs(60);

/// How long wakes are collected, so that a burst of commits costs one pass.
const GATHER: Duration = Duration::from_millis(25);

/// What the loop works with.
pub(crate) struct Desk {
    verbs: Arc<Verbs>,
    runtime: Handle,
    /// The root's token as it was last seen.
    token: Mutex<Option<String>>,
}

/// Why a pass ended early; the next one tries again.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("{0}")]
    Refused(#[from] Failure),
    #[error(transparent)]
    Bus(#[from] switchboard_bus::Error),
    #[error("a file could not be used")]
    Io(#[from] std::io::Error),
    #[error("a file does not serialise")]
    Shape(#[from] serde_json::Error),
}

/// Runs until `stop`.
pub(crate) fn run(verbs: Arc<Verbs>, stop: &CancellationToken) {
    let desk = Desk { verbs, runtime: Handle::current(), token: Mutex::default() };
    let bell = watch::Bell::new(&desk, stop);
    let (mut look, mut deliver) = (look::Look::default(), deliver::Deliver::default());
    let (mut mirror, mut housekeeping) = (mirror::Mirror::default(), housekeeping::Housekeeping::new());
    let mut said = None;
    while !stop.is_cancelled() {
        let mut pass = || -> Result<bool, Trouble> {
            let root = desk.root()?;
            bell.attend(desk.project());
            deliver.load(&desk)?;
            let more = look.pass(&desk, &root, &deliver)?;
            look.held(&desk, &root)?;
            let soon = deliver.pass(&desk, &root)?;
            mirror.pass(&desk, &root)?;
            housekeeping.pass(&desk, &root, &mut deliver)?;
            Ok(more || soon)
        };
        let began = Instant::now();
        let wait = match pass() {
            Ok(true) => SOON,
            Ok(false) => POLL,
            Err(trouble) => {
                if said.is_none_or(|said: Instant| said.elapsed() > SAY) {
                    said = Some(Instant::now());
                    let error = &trouble as &dyn std::error::Error;
                    tracing::warn!(error, "message files could not be looked after");
                }
                POLL
            }
        };
        // Large folders are looked at less often: at most a twentieth of the time goes into looking.
        bell.wait(wait.max(began.elapsed() * 20));
        std::thread::sleep(GATHER);
    }
}

// === impl Desk ===

impl Desk {
    fn project(&self) -> &Path {
        &self.verbs.place.project
    }

    /// The protocol's folder, made again where somebody has swept it away.
    fn root(&self) -> Result<Folder, Trouble> {
        let made = || -> Result<(), Error> {
            project::prepare(self.project())?;
            ["inbox", "outbox"].iter().try_for_each(|name| crate::place::private_folder(&self.project().join(name)))
        };
        made().and_then(|()| self.keep_token()).map_err(|error| Trouble::Refused(error.to_failure()))?;
        Ok(Folder::root(self.project())?)
    }

    /// Puts the token and our address back where somebody has swept them away with everything else: who has the token goes
    /// on, and who looks for us finds us.
    fn keep_token(&self) -> Result<(), Error> {
        let mut known = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        let found = crate::token::read(self.project())?;
        if found.is_none()
            && let Some(token) = known.as_deref()
        {
            crate::token::put_back(self.project(), token)?;
            return self.verbs.info.write(self.project());
        }
        *known = found;
        Ok(())
    }

    /// The keys as they are now: they may have been rotated.
    fn keys(&self) -> Result<Keys, Failure> {
        Keys::ensure(&crate::token::dispatch_keys(&self.verbs.place), self.verbs.store.now())
    }
}
