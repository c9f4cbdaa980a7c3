//! Who a shim is, for a daemon that comes later: pid and start, incarnation, and the agent that it holds.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use switchboard_process::file::{self, Mode, Sync};
use switchboard_process::fingerprint::Fingerprint;

use super::files::IDENTITY;
use crate::{Error, Result};

/// Longest file that is read.
const MAX_BYTES: u64 = 64 << 10;

/// The content of `shim.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The shim's process id.
    pub pid: u32,
    /// The shim, beyond doubt.
    pub shim: Fingerprint,
    /// Its incarnation, 1 at first.
    pub epoch: u32,
    /// The agent's process, which leads its group, once it runs.
    pub agent: Option<Fingerprint>,
}

// === impl Identity ===

impl Identity {
    /// What a worker's folder says, if it says anything.
    #[must_use]
    pub fn read(folder: &Path) -> Option<Self> {
        let path = folder.join(IDENTITY);
        let size = fs::metadata(&path).ok()?.len();
        (size <= MAX_BYTES).then(|| fs::read(path).ok()).flatten().and_then(|text| serde_json::from_slice(&text).ok())
    }

    /// Writes that we are the next incarnation. The caller holds the folder's lock.
    pub(super) fn next(folder: &Path) -> Result<Self> {
        let shim = Fingerprint::own();
        let epoch = Self::read(folder).map_or(1, |before| before.epoch.saturating_add(1));
        let identity = Self { pid: shim.pid, shim, epoch, agent: None };
        identity.write(folder)?;
        Ok(identity)
    }

    /// Replaces the file; a reader sees the old one or the new one. It is about processes, which no power cut outlives, so that nothing waits for the disk.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(IDENTITY);
        let put = || file::replace(&path, &serde_json::to_vec(self)?, Mode::Private, Sync::No);
        put().map_err(Error::io(format!("write {}", path.display())))
    }
}
