//! The shim: the process that runs one worker's agent, and outlives the daemon.
//!
//! ```text
//!  daemon ◀── frames, from the journal ── link ◀── length ── recorder ◀── worker ◀── driver ◀── agent
//!         ── commands ─────────────────▶      ── orders ──────────────▶   loop   ──▶ spool
//! ```
//! The journal `frames.jsonl` is the queue: a frame is written to it before it is sent, and stays there. The link sends from the journal
//! what the daemon has not acked, again after every reconnect, so nothing is lost; the daemon drops frames that it already has, by
//! (worker, epoch, seq).

mod confined;
mod files;
mod identity;
mod link;
mod recorder;
mod redact;
mod spool;
mod worker;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use switchboard_process::lock::Lock;
use switchboard_process::{journal, orphans};
use switchboard_protocol::frame::{
    ABANDONED_FILE, DriverSpec, FRAME_VERSION, Frame, MAX_FRAME_BYTES, SANDBOX_VERSION, TOOL_LIST_VERSION, WorkerSpec,
};

pub use files::{FRAMES, IDENTITY, LOCK};
pub use identity::Identity;

use crate::driver::{Acp, Exec};
use crate::{Error, Result};
use recorder::Recorder;
use spool::Spool;
use worker::Worker;

/// Maximum size of a spec in bytes.
const MAX_SPEC: u64 = 8 << 20;

/// Maximum number of frames that one [`read_frames`] returns.
const MAX_FRAMES: usize = 10_000;

/// How long a shim waits for more mail after a turn, unless `SWITCHBOARD_LINGER_MS` says otherwise.
const LINGER: Duration = Duration::from_secs(2);

/// Runs a worker to its end by its spec. Returns 0 when everything is on disk, however the agent ended; the frames say how.
#[must_use]
pub fn run(spec: &Path) -> ExitCode {
    match read_spec(spec).and_then(work) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(code = error.code(), %error, spec = %spec.display(), "the shim ends early");
            ExitCode::FAILURE
        }
    }
}

/// Returns the frames after number `after` of the newest incarnation of a worker's shim, at most 10,000. A torn last line is left out.
///
/// # Errors
/// The journal can't be read.
pub fn read_frames(folder: &Path, after: u64) -> Result<Vec<Frame>> {
    let epoch = Identity::read(folder).map_or(1, |identity| identity.epoch);
    let wanted = |frame: &Frame| frame.epoch == epoch && frame.seq > after;
    Ok(journal::read(&folder.join(FRAMES), 0, MAX_FRAME_BYTES, MAX_FRAMES, wanted)?.entries)
}

fn read_spec(path: &Path) -> Result<WorkerSpec> {
    let unusable = |why: String| Error::Spec { why };
    let size = std::fs::metadata(path).map_err(|e| unusable(e.to_string()))?.len();
    if size > MAX_SPEC {
        return Err(unusable("it is too long".to_owned()));
    }
    let text = std::fs::read(path).map_err(|e| unusable(e.to_string()))?;
    // The parser's message could quote a secret of the environment; its line and column are enough.
    let bad = |e: serde_json::Error| unusable(format!("line {}, column {}", e.line(), e.column()));
    let spec: WorkerSpec = serde_json::from_slice(&text).map_err(bad)?;
    let newest = match &spec.sandbox {
        Some(sandbox) if !sandbox.tools.is_empty() => TOOL_LIST_VERSION,
        Some(_) => SANDBOX_VERSION,
        None => FRAME_VERSION,
    };
    if spec.v > newest || spec.v + 1 < FRAME_VERSION {
        return Err(unusable(format!("it has version {}, this shim speaks {newest}", spec.v)));
    }
    Ok(spec)
}

/// Runs the worker in a session of its own, as the parent of all orphans, so that all processes started from here on belong to this shim alone.
fn work(spec: WorkerSpec) -> Result<()> {
    let folder = PathBuf::from(&spec.folder);
    let _lock = Lock::take(&folder.join(LOCK), spec.worker.as_str())?;
    if folder.join(ABANDONED_FILE).exists() {
        return Err(Error::Spec { why: "the daemon has given it up: it took too long to begin".to_owned() });
    }
    if rustix::process::setsid().is_err() {
        tracing::debug!("already the leader of a group; the daemon gave it a session");
    }
    orphans::become_subreaper()?;
    let identity = Identity::next(&folder)?;
    let recorder = Recorder::open(&folder, &spec, identity.epoch)?;
    let spool = Spool::open(&folder, identity.epoch, spec.limits.spool_bytes)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Error::io("start the runtime"))?;
    let linger = switchboard_process::env::var("SWITCHBOARD_LINGER_MS").and_then(|ms| ms.parse().ok());
    let linger = linger.map_or(LINGER, Duration::from_millis);
    runtime.block_on(async {
        let (link, orders) = link::start(&folder, &spec, &recorder)?;
        let driver = spec.driver.clone();
        let spool = (spool, recorder.raw()?);
        let mut worker = Worker::new(spec, identity, recorder, spool, orders, linger);
        match driver {
            DriverSpec::Acp { argv } => worker.run::<Acp>(argv).await?,
            DriverSpec::Exec { argv } => worker.run::<Exec>(argv).await?,
        }
        link.flush(worker.last_frame()).await;
        Ok(())
    })
}
