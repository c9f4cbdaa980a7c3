//! Finds the state folder of a repository. The id lies in the git folder, so that it survives a move of the work tree; the state
//! folder notes its git folder, so that a copy with the same id can be distinguished from the original.
//!
//! If the original is gone, a person says once whether the repository was moved. Device and inode don't prove a move: a file system may give
//! the inode of a removed folder to the next new one, so that `cp -r a b; rm -r a; cp -r b c` can make a `c` with the numbers of `a`.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use switchboard_process::file::{self, Mode, Sync};
use switchboard_protocol::error::Failure;

use crate::Error;
use crate::error::io;

/// File in the git common dir that names the state folder; all work trees of a repository share it.
const ID_FILE: &str = "switchboard-root-id";

/// File in the state folder that names its git common dir.
const HOME_FILE: &str = "root.json";

/// A git common dir, as noted in the state folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Home {
    /// Path of the git common dir, without symlinks.
    path: PathBuf,
    /// Device number of the git common dir.
    device: u64,
    /// Inode number of the git common dir.
    inode: u64,
}

/// Relation of a repository to the state folder that its id names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RootChange {
    /// The state folder's repository.
    Same,
    /// The state folder's repository, with another device or inode number, or not noted yet.
    Unnoted,
    /// A copy of a repository that still exists.
    Copy,
    /// Either the original, or a copy that outlived it.
    Unclear,
}

/// A person's answer about a repository whose former folder is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adoption {
    /// It was moved here and keeps its state.
    Moved,
    /// It is a copy and begins with an empty state.
    Fresh,
}

/// Returns the state folder below `base` of the repository with this git common dir. Creates an id if there is none, and a new one
/// for a copy. A person's answer counts only if the question had to be asked.
///
/// # Errors
/// `config.moved-repository` if a person has to say whether it was moved; a file that can't be read or written.
pub(super) fn state_of(common: &Path, base: &Path, said: Option<Adoption>) -> Result<PathBuf, Error> {
    let id = id(common)?;
    let state = base.join(&id);
    let here = Home::of(common)?;
    let change = match Home::read(&state) {
        Some(home) => judge(&home, &here, read_id(&home.path.join(ID_FILE)).ok().flatten().as_ref() == Some(&id)),
        None => RootChange::Unnoted,
    };
    match (change, said) {
        (RootChange::Same, _) => Ok(state),
        (RootChange::Unnoted, _) | (RootChange::Unclear, Some(Adoption::Moved)) => {
            here.write(&state)?;
            Ok(state)
        }
        (RootChange::Copy, _) | (RootChange::Unclear, Some(Adoption::Fresh)) => {
            let state = base.join(replace_id(common)?);
            here.write(&state)?;
            Ok(state)
        }
        (RootChange::Unclear, None) => Err(unclear(&state, &here)),
    }
}

/// Returns true if a state folder belongs to the work tree with this `.git` folder, as far as can be determined without git.
#[must_use]
pub fn belongs(state: &Path, git_folder: &Path) -> bool {
    let is_own = |data: fs::Metadata| data.uid() == rustix::process::getuid().as_raw();
    let is_ours = fs::symlink_metadata(state.join(HOME_FILE)).is_ok_and(is_own);
    is_ours && Home::of(git_folder).is_ok_and(|here| Home::read(state).is_some_and(|home| home == here))
}

fn judge(noted: &Home, here: &Home, is_noted_alive: bool) -> RootChange {
    let is_same_folder = (noted.device, noted.inode) == (here.device, here.inode);
    match (noted.path == here.path, is_same_folder, is_noted_alive) {
        (true, true, _) => RootChange::Same,
        // Restored from a backup, or the device has a new number.
        (true, false, _) => RootChange::Unnoted,
        // The same folder at two paths: a bind mount.
        (false, true, true) => RootChange::Same,
        (false, false, true) => RootChange::Copy,
        (false, _, false) => RootChange::Unclear,
    }
}

fn unclear(state: &Path, here: &Home) -> Error {
    let was = Home::read(state).map_or_else(String::new, |home| home.path.display().to_string());
    Failure::new("config.moved-repository", format!("this repository's record was made for {was}, which is gone"))
        .at(here.path.display().to_string())
        .hint("it was moved: switchboard adopt · it is a copy: switchboard adopt --fresh")
        .into()
}

// === impl Home ===

impl Home {
    fn of(common: &Path) -> Result<Self, Error> {
        let path = common.canonicalize().map_err(io(common))?;
        let data = path.metadata().map_err(io(common))?;
        Ok(Self { path, device: data.dev(), inode: data.ino() })
    }

    /// Reads a state folder's note; `None` if it has none that can be read, as one of an older version.
    fn read(state: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(state.join(HOME_FILE)).ok()?).ok()
    }

    fn write(&self, state: &Path) -> Result<(), Error> {
        super::private_folder(state)?;
        let path = state.join(HOME_FILE);
        let text = serde_json::to_vec(self).map_err(|error| io(&path)(error.into()))?;
        file::replace(&path, &text, Mode::Private, Sync::Yes).map_err(io(&path))
    }
}

/// Returns the id of a repository: created once, kept in its git folder.
fn id(common: &Path) -> Result<String, Error> {
    let path = common.join(ID_FILE);
    if let Some(id) = read_id(&path)? {
        return Ok(id);
    }
    let fresh = fresh_id()?;
    let beside = common.join(format!("{ID_FILE}.{fresh}"));
    let write = || -> std::io::Result<()> {
        let mut file = fs::File::create(&beside)?;
        writeln!(file, "{fresh}")?;
        file.sync_data()?;
        // A hard link fails if another process was faster; then its id counts.
        match fs::hard_link(&beside, &path) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
            Ok(()) | Err(_) => fs::remove_file(&beside),
        }
    };
    write().map_err(io(&path))?;
    Ok(read_id(&path)?.unwrap_or(fresh))
}

/// Replaces the id that a copy brought with a fresh one, and returns the fresh one.
fn replace_id(common: &Path) -> Result<String, Error> {
    let (path, fresh) = (common.join(ID_FILE), fresh_id()?);
    file::replace(&path, format!("{fresh}\n").as_bytes(), Mode::Kept, Sync::Yes).map_err(io(&path))?;
    Ok(fresh)
}

fn fresh_id() -> Result<String, Error> {
    let random =
        getrandom::u64().map_err(|error| Failure::new("internal.bug", format!("no random numbers: {error}")))?;
    Ok(format!("{random:016x}"))
}

fn read_id(path: &Path) -> Result<Option<String>, Error> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(path)(error)),
    };
    let id = text.trim();
    let is_id = id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id {
        return Ok(Some(id.to_owned()));
    }
    let what = "the file that names this repository's state folder holds something else";
    Err(Failure::new("config.bad-value", what)
        .at(path.display().to_string())
        .hint("delete it to begin with an empty state")
        .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(path: &str, inode: u64) -> Home {
        Home { path: path.into(), device: 1, inode }
    }

    #[test]
    fn a_copy_is_told_from_a_move() {
        let noted = home("/a/.git", 7);

        assert_eq!(judge(&noted, &home("/a/.git", 7), true), RootChange::Same);
        assert_eq!(judge(&noted, &home("/a/.git", 8), true), RootChange::Unnoted);
        assert_eq!(
            judge(&noted, &home("/b/.git", 7), false),
            RootChange::Unclear,
            "the inode may have been given again"
        );
        assert_eq!(judge(&noted, &home("/b/.git", 7), true), RootChange::Same);
        assert_eq!(judge(&noted, &home("/b/.git", 8), true), RootChange::Copy);
        assert_eq!(judge(&noted, &home("/b/.git", 8), false), RootChange::Unclear);
    }
}
