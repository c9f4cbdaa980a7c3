//! The shim as a process: started, looked at, ended, and its journal read when it can't speak to us.

use std::path::Path;

use switchboard_process::env::Env;
use switchboard_process::lock;
use switchboard_process::spawn::Spawn;
use switchboard_protocol::frame::{Frame, MAX_FRAME_BYTES};

use crate::Error;
use crate::event::frame_number;

/// Frames that one look at a journal takes.
const PAGE: usize = 1000;

/// A shim that lives.
pub(crate) struct Alive(switchboard_process::fingerprint::Fingerprint);

// === impl Alive ===

impl Alive {
    pub(crate) fn pid(&self) -> u32 {
        self.0.pid
    }

    /// Ends the shim at once; its own subreaper duty is over, so what it held is swept at the next boot.
    pub(crate) fn kill(&self) {
        if !self.0.signal_group(switchboard_process::spawn::Signal::KILL) {
            self.0.signal(switchboard_process::spawn::Signal::KILL);
        }
    }
}

/// Starts a shim that outlives us; it reads its spec and takes its lock.
pub(crate) fn spawn(binary: &Path, spec: &Path, folder: &Path) -> Result<(), Error> {
    let argv = [crate::plan::text(binary), "shim".to_owned(), crate::plan::text(spec)];
    let shim = Spawn::new(argv).cwd(folder).env_only(Env::plain()).own_session();
    shim.detached(Some(&folder.join("shim.log")))?;
    Ok(())
}

/// The shim that holds the lock of a worker's folder.
pub(crate) fn alive(folder: &Path) -> Option<Alive> {
    let holder = lock::holder(&folder.join("lock")).ok().flatten()?;
    Some(Alive(holder.fingerprint()))
}

/// Whether a shim ever took the lock of this folder.
pub(crate) fn has_begun(folder: &Path) -> bool {
    folder.join("lock").exists()
}

/// Frames of the journal that have not been taken in yet, in order.
pub(crate) fn frames_after(folder: &Path, seen: i64) -> Result<Vec<Frame>, Error> {
    let path = folder.join("frames.jsonl");
    let mut frames = Vec::new();
    let mut from = 0;
    loop {
        let batch = switchboard_process::journal::read::<Frame>(&path, from, MAX_FRAME_BYTES, PAGE, |frame| {
            frame_number(frame) > seen
        })?;
        from = batch.next;
        frames.extend(batch.entries);
        if !batch.is_cut {
            return Ok(frames);
        }
    }
}
