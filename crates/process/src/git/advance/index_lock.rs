//! Git's own lock on the index, with a note by which a later call recognises its own unfinished work.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::types::Oid;
use super::super::worktree::remove_file;
use crate::file::{self, Mode, Sync};
use crate::fingerprint::Fingerprint;
use crate::{Error, Result};

/// Maximum length of a note that is read, in bytes.
const MAX_NOTE: u64 = 4096;

/// The `index.lock`, held by this process.
#[derive(Debug)]
pub(super) struct IndexLock {
    path: PathBuf,
    is_resumed: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Note {
    switchboard_advance: (Oid, Oid),
    holder: Fingerprint,
}

// === impl IndexLock ===

impl IndexLock {
    /// Takes the lock. A lock that a dead process of ours left for the same move is taken over; any other is respected.
    ///
    /// The lock file appears with the note already in it, so that a process killed here leaves either no lock, or one that names its owner.
    pub(super) fn take(git_dir: &Path, old: &Oid, new: &Oid) -> Result<Self> {
        let path = git_dir.join("index.lock");
        let note = Note { switchboard_advance: (old.clone(), new.clone()), holder: Fingerprint::own() };
        let text = serde_json::json!(note).to_string();
        let is_made = file::create(&path, text.as_bytes()).map_err(Error::io(format!("make {}", path.display())))?;
        if is_made {
            return Ok(Self { path, is_resumed: false });
        }
        let is_ours = read(&path)
            .is_some_and(|left| left.switchboard_advance == note.switchboard_advance && !left.holder.is_alive());
        if !is_ours {
            return Err(Error::IndexBusy { path });
        }
        file::replace(&path, text.as_bytes(), Mode::Private, Sync::Yes)
            .map_err(Error::io(format!("replace {}", path.display())))?;
        Ok(Self { path, is_resumed: true })
    }

    /// Returns true if a process of ours left the lock when it was killed during the same move.
    pub(super) fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    pub(super) fn release(self) -> Result<()> {
        remove_file(&self.path)
    }
}

fn read(path: &Path) -> Option<Note> {
    let size = fs::symlink_metadata(path).ok()?.len();
    (size <= MAX_NOTE).then(|| fs::read(path).ok()).flatten().and_then(|text| serde_json::from_slice(&text).ok())
}
