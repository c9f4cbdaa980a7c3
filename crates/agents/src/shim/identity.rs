//! Identity of a shim, for a later daemon: pid and start, incarnation, and the agent that it runs.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use switchboard_process::file::{self, Mode, Sync};
use switchboard_process::fingerprint::Fingerprint;

use super::files::IDENTITY;
use crate::{Error, Result};

/// Maximum size of the file in bytes.
const MAX_BYTES: u64 = 64 << 10;

/// Content of `shim.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Process id of the shim.
    pub pid: u32,
    /// Process of the shim, with its start time.
    pub shim: Fingerprint,
    /// Incarnation of the shim, from 1.
    pub epoch: u32,
    /// Process of the agent, which leads its group; `None` before it runs.
    pub agent: Option<Fingerprint>,
}

// === impl Identity ===

impl Identity {
    /// Reads a worker's folder; `None` if the file is missing or unreadable.
    #[must_use]
    pub fn read(folder: &Path) -> Option<Self> {
        let path = folder.join(IDENTITY);
        let size = fs::metadata(&path).ok()?.len();
        (size <= MAX_BYTES).then(|| fs::read(path).ok()).flatten().and_then(|text| serde_json::from_slice(&text).ok())
    }

    /// Records this process as the next incarnation. The caller holds the folder's lock.
    pub(super) fn next(folder: &Path) -> Result<Self> {
        let shim = Fingerprint::own();
        let epoch = Self::read(folder).map_or(1, |before| before.epoch.saturating_add(1));
        let identity = Self { pid: shim.pid, shim, epoch, agent: None };
        identity.write(folder)?;
        Ok(identity)
    }

    /// Replaces the file; a reader sees the old one or the new one. It is not synced, because the processes that it names don't survive a power cut.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(IDENTITY);
        let put = || file::replace(&path, &serde_json::to_vec(self)?, Mode::Private, Sync::No);
        put().map_err(Error::io(format!("write {}", path.display())))
    }
}
