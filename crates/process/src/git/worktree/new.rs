//! Makes work trees without `git worktree add`, which starts two more processes and reads every work tree of the repository: the
//! administrative folder is written here, and one git call writes the index and the files, while another one makes the branches.
//!
//! Git ignores an administrative folder without the file `gitdir`, so that file is written second to last. Until the work tree is complete
//! it is locked as git itself locks it, with a reason of ours: `git worktree prune` leaves it alone, and if its maker is killed the next
//! call makes it anew.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{LOCK, OURS_IN_THE_MAKING, Worktree, registered_place, remove_file, remove_tree};
use crate::git::refs;
use crate::git::repo::{Repo, utf8};
use crate::git::types::Oid;
use crate::{Error, Result};

/// Maximum number of administrative folder names that are tried before the work is left to git.
const MAX_ADMIN_NAMES: u32 = 1_000;

// === impl Repo ===

impl Repo {
    /// Makes a work tree in an empty folder, and the checked-out branch with those in `beside` that don't exist. Returns `None` if the branch
    /// exists already, or the repository needs git itself for this; everything is then as before.
    pub(super) fn new_on_branch(
        &self,
        path: &Path,
        branch: &str,
        at: &Oid,
        beside: &[(&str, &Oid)],
    ) -> Result<Option<Worktree>> {
        let full = refs::full_name(branch)?;
        if self.has_loose(&full) {
            return Ok(None);
        }
        let Some(tree) = self.register(path, &format!("ref: {full}"))? else { return Ok(None) };
        let (made, checked_out) = std::thread::scope(|scope| {
            let made = scope.spawn(|| self.make_new(branch, at, beside));
            let checked_out = tree.check_out(at);
            (made.join(), checked_out)
        });
        let made = made.unwrap_or_else(|_| Err(Error::io("make a branch")(ErrorKind::Other.into())));
        match (made, checked_out) {
            (Ok(true), Ok(())) => tree.complete().map(Some),
            (Ok(false), Ok(())) => tree.undo().map(|()| None),
            (Err(error), _) | (_, Err(error)) => Err(tree.undo().err().unwrap_or(error)),
        }
    }

    /// Makes a work tree of a commit in an empty folder. Returns `None` if git itself has to do it.
    pub(super) fn new_detached(&self, path: &Path, commit: &Oid) -> Result<Option<Worktree>> {
        let Some(tree) = self.register(path, commit.as_str())? else { return Ok(None) };
        match tree.check_out(commit) {
            Ok(()) => tree.complete().map(Some),
            Err(error) => Err(tree.undo().err().unwrap_or(error)),
        }
    }

    /// Writes the files by which git recognises a work tree, and its `.git` file. Returns `None` if a work tree needs more: references that
    /// are not files, or settings of each work tree.
    fn register(&self, path: &Path, head: &str) -> Result<Option<Worktree>> {
        let has_more = ["reftable", "config.worktree"].iter().any(|name| self.common_dir.join(name).exists());
        let place = registered_place(path)?;
        let name = place.file_name().and_then(|name| name.to_str()).filter(|name| is_plain(name));
        let Some(name) = name.filter(|_| !has_more) else { return Ok(None) };
        fs::create_dir_all(&place).map_err(Error::io(format!("make {}", place.display())))?;
        let Some(admin) = self.make_admin(name)? else { return Ok(None) };
        let tree = Worktree { repo: self.clone(), path: place, admin };
        match tree.write_links(head) {
            Ok(()) => Ok(Some(tree)),
            Err(error) => Err(tree.undo().err().unwrap_or(error)),
        }
    }

    /// Makes a new administrative folder. Returns `None` if too many have its name.
    fn make_admin(&self, name: &str) -> Result<Option<PathBuf>> {
        let folder = self.common_dir.join("worktrees");
        for number in 0..MAX_ADMIN_NAMES {
            let admin = folder.join(if number == 0 { name.to_owned() } else { format!("{name}{number}") });
            // Removing the last work tree removes `worktrees`, too.
            let made = fs::create_dir(&admin).or_else(|error| {
                let has_no_folder = error.kind() == ErrorKind::NotFound;
                if has_no_folder {
                    fs::create_dir_all(&folder).and_then(|()| fs::create_dir(&admin))
                } else {
                    Err(error)
                }
            });
            match made {
                Ok(()) => return Ok(Some(admin)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io(format!("make {}", admin.display()))(error)),
            }
        }
        Ok(None)
    }
}

// === impl Worktree ===

impl Worktree {
    fn write_links(&self, head: &str) -> Result<()> {
        let link = self.path.join(".git");
        let files = [
            (self.admin.join(LOCK), OURS_IN_THE_MAKING.to_owned()),
            (self.admin.join("commondir"), "../..".to_owned()),
            (self.admin.join("HEAD"), head.to_owned()),
            (self.admin.join("gitdir"), utf8(&link)?.to_owned()),
            (link, format!("gitdir: {}", utf8(&self.admin)?)),
        ];
        for (file, line) in files {
            fs::write(&file, format!("{line}\n")).map_err(Error::io(format!("write {}", file.display())))?;
        }
        Ok(())
    }

    /// Writes index and files of a commit into an empty tree.
    fn check_out(&self, commit: &Oid) -> Result<()> {
        self.call(["read-tree", "--reset", "-u", commit.as_str()])?.done()
    }

    fn complete(self) -> Result<Self> {
        remove_file(&self.admin.join(LOCK)).map(|()| self)
    }

    /// Removes the work tree with everything in it; the branch stays.
    pub(super) fn undo(&self) -> Result<()> {
        remove_tree(&self.path).map_err(Error::io(format!("remove {}", self.path.display())))?;
        self.repo.forget(&self.admin)
    }
}

/// Returns true if git would name the administrative folder of a work tree like the work tree's folder.
fn is_plain(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    name.chars().all(is_word) && refs::full_name(name).is_ok()
}
