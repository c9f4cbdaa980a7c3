//! Moves the branch that the user has checked out, with index and files, to a later commit: completely, or not at all.
//!
//! Killed at any point and called again with the same commits, it ends as if nothing had happened. Order: our note in git's own
//! `index.lock` keeps other git processes out, the files change, the branch moves, the index is replaced, the note is removed.

mod index_lock;
mod survey;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use index_lock::IndexLock;
use survey::Survey;

use super::call::Call;
use super::capture::index_line;
use super::repo::{Repo, utf8};
use super::types::{Change, Head, Oid};
use super::worktree::remove_file;

use crate::{Error, Result};

/// Time that a git process whose caller was killed may need to finish its current system call.
const LAST_CALL: Duration = Duration::from_millis(250);

/// Result of moving the user's branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advanced {
    /// The branch was moved, with index and files.
    Now,
    /// The branch was already at the new commit.
    Before,
}

// === impl Repo ===

impl Repo {
    /// Returns the user's files that moving the checked-out branch from `old` to `new` would overwrite: changed, staged, untracked or
    /// ignored ones. If it is empty, [`Repo::advance_checkout`] would succeed now. Changes nothing.
    ///
    /// # Errors
    /// [`Error::Git`].
    pub fn in_the_way(&self, old: &Oid, new: &Oid) -> Result<Vec<PathBuf>> {
        let changes = self.changed_files(old, new)?;
        Survey::take(self, old, &changes, false).map(|survey| survey.blocked)
    }

    /// Moves the branch that the user has checked out from `old` to `new`, with index and files. Other changes of the user
    /// are kept, staged or not.
    ///
    /// # Errors
    /// [`Error::Dirty`] when files are in the way, [`Error::Moved`] when another branch is checked out or the branch is at neither
    /// commit, [`Error::IndexBusy`] while another git process works; then nothing has changed. [`Error::Git`], [`Error::Io`].
    pub fn advance_checkout(&self, branch: &str, old: &Oid, new: &Oid) -> Result<Advanced> {
        let at = self.expect_checked_out(branch)?;
        if at != *old && at != *new {
            return Err(Error::Moved { name: format!("refs/heads/{branch}"), found: at.to_string() });
        }
        let lock = IndexLock::take(self.git_dir(), old, new)?;
        if at == *new && !lock.is_resumed() {
            lock.release()?;
            return Ok(Advanced::Before);
        }
        if lock.is_resumed() {
            std::thread::sleep(LAST_CALL);
        }
        let changes = self.changed_files(old, new)?;
        let survey = Survey::take(self, old, &changes, lock.is_resumed())?;
        if !survey.blocked.is_empty() {
            lock.release()?;
            return Err(Error::Dirty { files: survey.blocked });
        }
        if lock.is_resumed() {
            self.clear_after_kill(branch, new)?;
        }
        let step = Step { repo: self, index: self.git_dir().join("switchboard-index"), old, new, survey };
        if let Err(error) = step.files().and_then(|()| self.move_branch(branch, old, new)) {
            step.put_back(&changes, lock.is_resumed())?;
            lock.release()?;
            return Err(error);
        }
        step.install()?;
        lock.release()?;
        Ok(Advanced::Now)
    }

    /// Moves the branch. Git may fail after it has moved it, for example when killed, so the actual position of the branch decides.
    fn move_branch(&self, branch: &str, old: &Oid, new: &Oid) -> Result<()> {
        match self.update_branch(branch, new, Some(old)) {
            Err(error) if self.branch(branch)?.as_ref() != Some(new) => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn expect_checked_out(&self, branch: &str) -> Result<Oid> {
        let found = match self.head()? {
            Head::Branch { name, commit } if name == branch => return Ok(commit),
            Head::Branch { name, .. } | Head::Unborn { name } => name,
            Head::Detached(commit) => commit.to_string(),
        };
        Err(Error::Moved { name: "HEAD".to_owned(), found })
    }
}

/// A change of index and files, made in a copy of the index.
struct Step<'a> {
    repo: &'a Repo,
    index: PathBuf,
    old: &'a Oid,
    new: &'a Oid,
    survey: Survey<'a>,
}

// === impl Step ===

impl Step<'_> {
    /// Updates the files to `new`. Files that are already there only enter the index; files that a kill left half-written are written again.
    fn files(&self) -> Result<()> {
        remove_file(&self.index)?;
        remove_file(&self.index.with_extension("lock"))?;
        let index = self.repo.git_dir().join("index");
        copy(&index, &self.index)?;
        self.enter()?;
        // read-tree considers a rewritten file changed, whatever its content, until the contents have been compared.
        self.refresh()?;
        self.call(&["read-tree", "-m", "-u", self.old.as_str(), self.new.as_str()])?.done()?;
        let torn: Vec<u8> = self.survey.torn.iter().flat_map(|path| zero_ended(path)).collect();
        if !torn.is_empty() {
            self.call(&["checkout-index", "--force", "-z", "--stdin"])?.input(torn).done()?;
        }
        self.refresh()
    }

    /// Compares the files whose times are inconclusive with their index entries.
    fn refresh(&self) -> Result<()> {
        // Exit code 1 only means that the user has changes somewhere.
        self.call(&["update-index", "-q", "--refresh"])?.answer(&[0, 1]).map(drop)
    }

    /// Restores the files to `old` after an interrupted change (a full disk, a branch that would not move), without an index that records
    /// how far it came. Files that were at `new` before this change are the user's and stay, unless an earlier call of ours was killed here:
    /// then they are ours and keep the content of `new`.
    fn put_back(&self, changes: &[Change], is_resumed: bool) -> Result<()> {
        let is_done = |change: &Change| !is_resumed && self.survey.done.iter().any(|done| done.path == change.path);
        let (older, added): (Vec<_>, Vec<_>) =
            changes.iter().filter(|change| !is_done(change)).partition(|change| change.before.is_some());
        for change in added {
            if survey::is_part_of(self.repo, &change.path, change.after.as_ref())? {
                remove_file(&self.repo.root().join(&change.path))?;
            }
        }
        copy(&self.repo.git_dir().join("index"), &self.index)?;
        let paths: Vec<u8> = older.iter().flat_map(|change| zero_ended(&change.path)).collect();
        self.call(&["checkout-index", "--force", "-z", "--stdin"])?.input(paths).done()?;
        remove_file(&self.index)
    }

    fn install(&self) -> Result<()> {
        let index = self.repo.git_dir().join("index");
        fs::rename(&self.index, &index).map_err(Error::io(format!("replace {}", index.display())))
    }

    /// Enters paths that are already at `new` into the index; deletions first, so that a file may become a folder.
    fn enter(&self) -> Result<()> {
        let mut rows: Vec<_> = self.survey.done.iter().map(|change| (&change.path, change.after.as_ref())).collect();
        rows.sort_by_key(|(_, entry)| entry.is_some());
        let lines: Vec<u8> = rows.into_iter().flat_map(|(path, entry)| index_line(path, entry, self.new)).collect();
        if lines.is_empty() {
            return Ok(());
        }
        self.call(&["update-index", "-z", "--index-info"])?.input(lines).done()
    }

    fn call(&self, args: &[&str]) -> Result<Call> {
        Ok(self.repo.call(args.iter().copied()).env("GIT_INDEX_FILE", utf8(&self.index)?))
    }
}

fn zero_ended(path: &Path) -> Vec<u8> {
    [path.as_os_str().as_bytes(), b"\0"].concat()
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).map(drop).map_err(Error::io(format!("copy {}", from.display())))
}
