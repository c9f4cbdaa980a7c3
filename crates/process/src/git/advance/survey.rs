//! Examines every file that a move of the branch would change, and distinguishes the user's work from files that may be written.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::super::diff::parse_raw;
use super::super::repo::{Repo, utf8};
use super::super::types::{Change, Entry, Oid};
use crate::Result;

/// Maximum number of files that are listed as in the way.
const MAX_BLOCKED: usize = 1000;

/// Maximum number of a folder's entries that are examined before it counts as in the way.
const MAX_WALK: usize = 10_000;

/// State of the affected paths on disk.
#[derive(Debug, Default)]
pub(super) struct Survey<'a> {
    /// Files of the user that would be lost.
    pub(super) blocked: Vec<PathBuf>,
    /// Files that already have the new content: ours from before a kill, or the user's own.
    pub(super) done: Vec<&'a Change>,
    /// Files of `done` that a kill left half-written.
    pub(super) torn: Vec<PathBuf>,
}

enum Finding {
    Free,
    Done,
    Torn,
    Blocked,
}

struct Look<'a> {
    repo: &'a Repo,
    staged: HashMap<PathBuf, Option<Entry>>,
    changed: HashSet<PathBuf>,
    deleted: HashSet<&'a Path>,
    is_resumed: bool,
}

// === impl Survey ===

impl<'a> Survey<'a> {
    pub(super) fn take(repo: &'a Repo, old: &Oid, changes: &'a [Change], is_resumed: bool) -> Result<Self> {
        let staged = parse_raw(
            &repo
                .call(["diff-index", "--cached", "-z", "--raw", "--no-renames", "--no-abbrev", old.as_str()])
                .bytes()?,
        )?;
        let look = Look {
            repo,
            staged: staged.into_iter().map(|change| (change.path, change.after)).collect(),
            changed: repo.status()?.into_iter().filter(|dirty| dirty.unstaged != ' ').map(|dirty| dirty.path).collect(),
            deleted: changes.iter().filter(|c| c.after.is_none()).map(|c| c.path.as_path()).collect(),
            is_resumed,
        };
        let mut survey = Self::default();
        for change in changes {
            match look.at(change)? {
                Finding::Free => {}
                Finding::Done => survey.done.push(change),
                Finding::Torn => {
                    survey.done.push(change);
                    survey.torn.push(change.path.clone());
                }
                Finding::Blocked => survey.blocked.push(change.path.clone()),
            }
        }
        survey.blocked.truncate(MAX_BLOCKED);
        Ok(survey)
    }
}

// === impl Look ===

impl Look<'_> {
    fn at(&self, change: &Change) -> Result<Finding> {
        let staged = self.staged.get(&change.path);
        if staged.is_some_and(|entry| *entry != change.after) {
            return Ok(Finding::Blocked);
        }
        if self.changed.contains(&change.path) || (change.before.is_none() && staged.is_none()) {
            return self.at_unknown(change);
        }
        Ok(if staged.is_some() { Finding::Done } else { Finding::Free })
    }

    /// Classifies a file that differs from the index or is not in it.
    fn at_unknown(&self, change: &Change) -> Result<Finding> {
        let is_new = change.before.is_none() && !self.staged.contains_key(&change.path);
        if is_new && self.is_free(&change.path) {
            return Ok(Finding::Free);
        }
        if self.has(&change.path, change.after.as_ref())? {
            return Ok(Finding::Done);
        }
        let is_torn = self.is_resumed && is_part_of(self.repo, &change.path, change.after.as_ref())?;
        Ok(if is_torn { Finding::Torn } else { Finding::Blocked })
    }

    /// Returns true if nothing is in the way of a new file: no file at its path, and none where it needs a folder.
    fn is_free(&self, path: &Path) -> bool {
        let root = self.repo.root();
        match fs::symlink_metadata(root.join(path)) {
            Ok(found) if found.is_dir() => self.will_be_empty(path),
            Ok(_) => self.deleted.contains(path),
            Err(_) => path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()).all(|folder| {
                let found = fs::symlink_metadata(root.join(folder));
                found.map_or(true, |found| found.is_dir()) || self.deleted.contains(folder)
            }),
        }
    }

    /// Returns true if a folder will be empty when the files that the move deletes are gone.
    fn will_be_empty(&self, folder: &Path) -> bool {
        let mut open = vec![folder.to_owned()];
        let mut seen = 0;
        while let Some(folder) = open.pop() {
            let Ok(entries) = fs::read_dir(self.repo.root().join(&folder)) else { return false };
            for entry in entries {
                seen += 1;
                let Ok(entry) = entry else { return false };
                let path = folder.join(entry.file_name());
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() && seen < MAX_WALK => open.push(path),
                    Ok(kind) if !kind.is_dir() && self.deleted.contains(path.as_path()) => {}
                    Ok(_) | Err(_) => return false,
                }
            }
        }
        true
    }

    /// Returns true if the file is exactly what `entry` says, as git reads it.
    fn has(&self, path: &Path, entry: Option<&Entry>) -> Result<bool> {
        let file = self.repo.root().join(path);
        let found = fs::symlink_metadata(&file).ok();
        let (Some(found), Some(entry)) = (&found, entry) else { return Ok(found.is_none() && entry.is_none()) };
        if entry.is_link() || found.is_symlink() {
            let target = fs::read_link(&file).map(|t| t.as_os_str().as_bytes().to_vec()).ok();
            return Ok(
                entry.is_link() && target == Some(self.repo.call(["cat-file", "blob", entry.oid.as_str()]).bytes()?)
            );
        }
        let is_executable = found.permissions().mode() & 0o100 != 0;
        if !found.is_file() || is_executable != (entry.mode == "100755") {
            return Ok(false);
        }
        let Ok(content) = fs::read(&file) else { return Ok(false) };
        let hash = self.repo.call(["hash-object", "--stdin", "--path", utf8(path)?]).input(content).text()?;
        Ok(hash.trim_end() == entry.oid.as_str())
    }
}

/// Returns true if the file is missing, or a prefix of what `entry` says, or all of it. Only used after our own writing was interrupted.
pub(super) fn is_part_of(repo: &Repo, path: &Path, entry: Option<&Entry>) -> Result<bool> {
    let Some(entry) = entry.filter(|entry| !entry.is_submodule()) else { return Ok(false) };
    let file = repo.root().join(path);
    match fs::symlink_metadata(&file) {
        Err(_) => Ok(true),
        Ok(found) if found.is_file() && !entry.is_link() => {
            let Ok(content) = fs::read(&file) else { return Ok(false) };
            let object = format!("--path={}", utf8(path)?);
            Ok(repo.call(["cat-file", "--filters", &object, entry.oid.as_str()]).bytes()?.starts_with(&content))
        }
        Ok(_) => Ok(false),
    }
}
