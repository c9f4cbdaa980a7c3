//! Git's own lock on the index, held with a note by which a later call knows its own unfinished work.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::types::Oid;
use super::super::worktree::remove_file;
use crate::fingerprint::Fingerprint;
use crate::{Error, Result};

/// Longest note that is read.
const MAX_NOTE: u64 = 4096;

/// `index.lock`, held by us.
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
    /// Takes the lock. One that a dead process of ours left for the same move is taken over; any other is respected.
    ///
    /// The note is written beside it first, so that a process that is killed here leaves no lock, or one with its owner.
    pub(super) fn take(git_dir: &Path, old: &Oid, new: &Oid) -> Result<Self> {
        let path = git_dir.join("index.lock");
        let note = Note { switchboard_advance: (old.clone(), new.clone()), holder: Fingerprint::own() };
        let draft = git_dir.join("switchboard-note");
        write(&draft, &note).map_err(Error::io(format!("write {}", draft.display())))?;
        let is_resumed = match fs::hard_link(&draft, &path) {
            Ok(()) => false,
            Err(e) if e.kind() == ErrorKind::AlreadyExists => true,
            Err(e) => return Err(Error::io(format!("make {}", path.display()))(e)),
        };
        if is_resumed {
            let is_ours = read(&path)
                .is_some_and(|left| left.switchboard_advance == note.switchboard_advance && !left.holder.is_alive());
            if !is_ours {
                remove_file(&draft)?;
                return Err(Error::IndexBusy { path });
            }
            fs::rename(&draft, &path).map_err(Error::io(format!("replace {}", path.display())))?;
        } else {
            remove_file(&draft)?;
        }
        Ok(Self { path, is_resumed })
    }

    /// It was left by a process of ours that died half-way through the same move.
    pub(super) fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    pub(super) fn release(self) -> Result<()> {
        remove_file(&self.path)
    }
}

fn write(path: &Path, note: &Note) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(serde_json::json!(note).to_string().as_bytes())?;
    file.sync_data()
}

fn read(path: &Path) -> Option<Note> {
    let size = fs::symlink_metadata(path).ok()?.len();
    (size <= MAX_NOTE).then(|| fs::read(path).ok()).flatten().and_then(|text| serde_json::from_slice(&text).ok())
}
