//! TCP ports of this machine, claimed in blocks among all daemons of the user.

use std::path::PathBuf;
use std::sync::OnceLock;

use switchboard_process::slots::Slots;
use switchboard_process::sockets;

use crate::Error;

/// Claims of blocks of ports, by block number. All calls block briefly.
pub(crate) trait PortClaims: Send + Sync {
    /// Returns true if another daemon last had the block and has not released it: it may have ended while its workers
    /// go on.
    fn is_of_other_daemon(&self, block: u32) -> Result<bool, Error>;
    /// Claims a block; returns false if another daemon has it.
    fn claim(&self, block: u32) -> Result<bool, Error>;
    /// Releases a block.
    fn release(&self, block: u32) -> Result<(), Error>;
    /// Returns true if no process has the port bound.
    fn is_free(&self, port: u16) -> bool;
}

/// Claims in a file that the user's daemons share.
pub(crate) struct SharedFile {
    path: PathBuf,
    blocks: u32,
    /// Id of this daemon in the file.
    owner: u64,
    slots: OnceLock<Slots>,
}

// === impl SharedFile ===

impl SharedFile {
    /// Creates claims in the file at `path`, which is opened at the first claim.
    pub(crate) fn new(path: PathBuf, blocks: u32, owner: u64) -> Self {
        Self { path, blocks, owner: owner.max(1), slots: OnceLock::new() }
    }

    fn slots(&self) -> Result<&Slots, Error> {
        if let Some(slots) = self.slots.get() {
            return Ok(slots);
        }
        let slots = Slots::open(&self.path, self.blocks)?;
        // If two threads open it at once, one instance is dropped, with nothing claimed.
        Ok(self.slots.get_or_init(|| slots))
    }
}

impl PortClaims for SharedFile {
    fn is_of_other_daemon(&self, block: u32) -> Result<bool, Error> {
        Ok(self.slots()?.owner(block)?.is_some_and(|owner| owner != self.owner))
    }

    fn claim(&self, block: u32) -> Result<bool, Error> {
        Ok(self.slots()?.claim(block, self.owner)?)
    }

    fn release(&self, block: u32) -> Result<(), Error> {
        Ok(self.slots()?.release(block)?)
    }

    fn is_free(&self, port: u16) -> bool {
        sockets::is_free(port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_one_daemons_until_it_is_released() {
        let folder = tempfile::tempdir().unwrap();
        let of = |owner| SharedFile::new(folder.path().join("ports"), 4, owner);
        let (one, other) = (of(1), of(2));

        assert!(one.claim(0).unwrap() && !other.claim(0).unwrap() && other.claim(1).unwrap());
        assert!(other.is_of_other_daemon(0).unwrap() && !one.is_of_other_daemon(0).unwrap());
        one.release(0).unwrap();

        assert!(!other.is_of_other_daemon(0).unwrap() && other.claim(0).unwrap());
    }
}
