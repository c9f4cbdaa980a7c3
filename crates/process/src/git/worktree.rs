//! Work trees of ours: made for an agent, reset to a commit, removed without changing any other.

mod incomplete;
mod new;

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::call::Call;
use super::refs;
use super::repo::{OWN_FOLDER, Repo, utf8};
use super::types::Oid;
use crate::{Error, Result};

/// The file that locks a work tree, and its content while git or we make the work tree.
const LOCK: &str = "locked";
const IN_THE_MAKING: &str = "initializing";
const OURS_IN_THE_MAKING: &str = "initializing by switchboard";

/// A linked work tree. Its calls name the administrative folder themselves, so that an agent that replaces the `.git` file
/// gains nothing.
#[derive(Debug, Clone)]
pub struct Worktree {
    pub(super) repo: Repo,
    pub(super) path: PathBuf,
    pub(super) admin: PathBuf,
}

/// Any work tree of the repository.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listed {
    /// Top folder.
    pub path: PathBuf,
    /// Commit that is checked out; `None` in a bare repository.
    pub commit: Option<Oid>,
    /// Name of the branch, without `refs/heads/`; `None` if `HEAD` is detached.
    pub branch: Option<String>,
    /// True if the work tree is locked.
    pub is_locked: bool,
}

// === impl Repo ===

impl Repo {
    /// Makes a work tree at `path` with `branch` checked out. The branch is made at `at` if it does not exist, in one call with those in
    /// `beside`; existing ones of these stay where they are. An existing work tree of this repository on this branch is returned unchanged,
    /// except that its `.git` file is restored as git wrote it; an incomplete one is made anew. A repository that has taken its place is
    /// refused. One whose folder is gone is unregistered
    /// and made anew, unless it is locked or has commits that no branch has.
    ///
    /// # Errors
    /// [`Error::Moved`] when the branch exists and is not at `at`; [`Error::NotOurs`] when something else is at `path`, or git keeps it for
    /// a work tree that must not be unregistered; [`Error::Git`], also when the branch is checked out elsewhere.
    pub fn worktree_add(&self, path: &Path, branch: &str, at: &Oid, beside: &[(&str, &Oid)]) -> Result<Worktree> {
        let full = refs::full_name(branch)?;
        expect_no_link(path)?;
        if let Some(worktree) = self.worktree(path)? {
            match worktree.head_branch() {
                Some(head) if head == full && is_half_made(&worktree.admin) => worktree.undo()?,
                // An agent's own `git init` does not come here: a capture restores the `.git` file.
                Some(_) if holds_other_repository(path) => {
                    return Err(Error::NotOurs { path: path.to_owned(), why: OTHER_REPOSITORY });
                }
                Some(head) if head == full => {
                    // Programs that run in it next must not be led to settings that an agent wrote.
                    worktree.restore_link()?;
                    self.make_missing(beside)?;
                    return Ok(worktree);
                }
                _ => return Err(Error::NotOurs { path: path.to_owned(), why: "it is on another branch" }),
            }
        }
        expect_empty(path)?;
        self.forget_missing(path)?;
        if let Some(worktree) = self.new_on_branch(path, branch, at, beside)? {
            return Ok(worktree);
        }
        self.make_branch(branch, at, beside)?;
        self.add_by_git(path, &["worktree", "add", "--quiet", "--", utf8(path)?, branch])
    }

    /// Makes a work tree at `path` with `commit` checked out and no branch. An existing one of this repository is reset to the commit,
    /// whatever was done to it; files that git ignores stay. One whose folder is gone is made anew, as in
    /// [`worktree_add`](Self::worktree_add).
    ///
    /// # Errors
    /// [`Error::NotOurs`] when something else is at `path`; [`Error::Git`], [`Error::Io`].
    pub fn worktree_detached(&self, path: &Path, commit: &Oid) -> Result<Worktree> {
        expect_no_link(path)?;
        match self.worktree(path)? {
            Some(worktree) if is_half_made(&worktree.admin) => worktree.undo()?,
            Some(worktree) => {
                worktree.restore_link()?;
                worktree.unlock()?;
                worktree.call(["update-ref", "--no-deref", "HEAD", commit.as_str()])?.done()?;
                worktree.bring_to(commit, &["-ffdq"])?;
                return Ok(worktree);
            }
            None => {}
        }
        expect_empty(path)?;
        self.forget_missing(path)?;
        if let Some(worktree) = self.new_detached(path, commit)? {
            return Ok(worktree);
        }
        self.add_by_git(path, &["worktree", "add", "--quiet", "--detach", "--", utf8(path)?, commit.as_str()])
    }

    /// Unregisters the work tree that git has registered at `path`, where no work tree exists, and no other one. Data that only its
    /// administrative folder holds is kept: a lock, and commits that were made without a branch.
    fn forget_missing(&self, path: &Path) -> Result<()> {
        let not_ours = |why| Error::NotOurs { path: path.to_owned(), why };
        let place = registered_place(path)?;
        let Some((admin, _)) = self.admin_folders()?.into_iter().find(|(_, at)| *at == place) else { return Ok(()) };
        if is_locked(&admin) {
            return Err(not_ours(
                "its folder is gone and git has it locked; `git worktree unlock` lets it be made anew",
            ));
        }
        if let Some(tip) = self.worktree_tip(path)?
            && !self.is_on_a_branch(&tip)?
        {
            return Err(not_ours(
                "its folder is gone and its commits are on no branch; `git worktree prune` drops them",
            ));
        }
        self.forget(&admin)
    }

    /// Returns true if a branch, a tag or a remote branch contains a commit.
    fn is_on_a_branch(&self, commit: &Oid) -> Result<bool> {
        let args = ["rev-list", "--max-count=1", commit.as_str(), "--not", "--branches", "--tags", "--remotes"];
        Ok(self.call(args).text()?.is_empty())
    }

    fn add_by_git(&self, path: &Path, args: &[&str]) -> Result<Worktree> {
        self.call(args.iter().copied()).setting("core.sparseCheckout=false").done()?;
        let made = self.worktree(path)?;
        made.ok_or(Error::NotOurs { path: path.to_owned(), why: "git did not register it" })
    }

    /// Returns the work tree of this repository at `path`; `None` if there is none. Does not read the work tree's own files.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn worktree(&self, path: &Path) -> Result<Option<Worktree>> {
        let Some(path) = real(path)? else { return Ok(None) };
        let admin = self.admin_folders()?.into_iter().find(|(_, at)| *at == path);
        Ok(admin.filter(|_| path.is_dir()).map(|(admin, _)| Worktree { repo: self.clone(), path, admin }))
    }

    /// Returns the commit that a linked work tree of this repository has checked out; `None` if none is registered at `path`, it is
    /// incomplete, or its branch has no commit. Its folder may be gone, and its own files are not read.
    ///
    /// # Errors
    /// [`Error::Git`], [`Error::Io`].
    pub fn worktree_tip(&self, path: &Path) -> Result<Option<Oid>> {
        let path = registered_place(path)?;
        let admin = self.admin_folders()?.into_iter().find(|(_, at)| *at == path).map(|(admin, _)| admin);
        let Some(admin) = admin.filter(|admin| !is_half_made(admin)) else { return Ok(None) };
        refs::resolved(self.call(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).env("GIT_DIR", utf8(&admin)?))
    }

    /// Returns all work trees of the repository, the user's main one first.
    ///
    /// # Errors
    /// [`Error::Git`].
    pub fn worktree_list(&self) -> Result<Vec<Listed>> {
        let text = self.call(["worktree", "list", "--porcelain", "-z"]).bytes()?;
        let text = String::from_utf8_lossy(&text);
        let parse = |record: &str| {
            let mut listed = Listed::default();
            for field in record.split('\0').filter(|field| !field.is_empty()) {
                match field.split_once(' ').unwrap_or((field, "")) {
                    ("worktree", path) => listed.path = path.into(),
                    ("HEAD", oid) => listed.commit = Oid::parse(oid).ok().filter(|oid| oid.as_str() != oid.zero()),
                    ("branch", name) => listed.branch = name.strip_prefix("refs/heads/").map(str::to_owned),
                    ("locked", _) => listed.is_locked = true,
                    _ => {}
                }
            }
            listed
        };
        let records = text.split("\0\0").filter(|record| !record.trim_matches('\0').is_empty());
        let mut listed: Vec<_> = records.map(parse).collect();
        if let Some(main) = listed.first_mut()
            && let Some(root) = self.main_root(&main.path)?
        {
            main.path = root;
        }
        Ok(listed)
    }

    /// Returns the top folder of the main work tree if git may list another: it lists the git folder if that lies
    /// elsewhere, as in a submodule. `None` if git is right, or if the folder is not recorded.
    fn main_root(&self, listed: &Path) -> Result<Option<PathBuf>> {
        if self.git_dir == self.common_dir {
            return Ok(Some(self.root.clone()));
        }
        if listed.join(".git").exists() {
            return Ok(None);
        }
        let config = self.common_dir.join("config");
        let (code, text) = self.call(["config", "--file", utf8(&config)?, "core.worktree"]).answer(&[0, 1])?;
        let root = self.common_dir.join(String::from_utf8_lossy(&text).trim_end());
        Ok(if code == 0 { real(&root)? } else { None })
    }

    /// Removes a work tree with everything in it, including incomplete ones; the branch stays. A missing one is fine. Nothing outside
    /// `base` is ever removed, no symbolic link is followed, and a locked work tree stays.
    ///
    /// # Errors
    /// [`Error::NotOurs`], [`Error::Io`].
    pub fn worktree_remove(&self, path: &Path, base: &Path) -> Result<()> {
        let not_ours = |why| Error::NotOurs { path: path.to_owned(), why };
        let Some(base) = real(base)? else { return Ok(()) };
        if path.is_symlink() {
            return Err(not_ours("it is a symbolic link"));
        }
        let Some(inside) = real(path)? else { return Ok(()) };
        if inside == base || !inside.starts_with(&base) {
            return Err(not_ours("it lies outside the folder for work trees"));
        }
        if self.root.starts_with(&inside) || self.common_dir.starts_with(&inside) {
            return Err(not_ours("it holds the repository itself"));
        }
        let admin = self.admin_folders()?.into_iter().find(|(_, at)| *at == inside).map(|(admin, _)| admin);
        if let Some(admin) = &admin
            && is_locked(admin)
        {
            return Err(not_ours("it is locked"));
        }
        remove_tree(&inside).map_err(Error::io(format!("remove {}", inside.display())))?;
        admin.map_or(Ok(()), |admin| self.forget(&admin))
    }

    /// Removes all work trees in a folder, and the folder, as [`worktree_remove`](Self::worktree_remove) does one.
    ///
    /// # Errors
    /// [`Error::NotOurs`], [`Error::Io`].
    pub fn worktrees_remove(&self, folder: &Path, base: &Path) -> Result<()> {
        let Some(inside) = real(folder)? else { return Ok(()) };
        for (_, path) in self.admin_folders()?.into_iter().filter(|(_, path)| path.starts_with(&inside)) {
            self.worktree_remove(&path, base)?;
        }
        self.worktree_remove(folder, base)
    }

    /// Unregisters work trees inside `base` whose folder is gone. Those elsewhere are left alone.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn worktree_prune(&self, base: &Path) -> Result<()> {
        let Some(base) = real(base)? else { return Ok(()) };
        for (admin, at) in self.admin_folders()? {
            if at.starts_with(&base) && !at.exists() && !is_locked(&admin) {
                self.forget(&admin)?;
            }
        }
        Ok(())
    }

    /// Returns each administrative folder with the path of its work tree.
    pub(super) fn admin_folders(&self) -> Result<Vec<(PathBuf, PathBuf)>> {
        let folder = self.common_dir.join("worktrees");
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(Error::io(format!("read {}", folder.display()))(e)),
        };
        let place = |admin: PathBuf| place_of(&admin).map(|at| (admin, at));
        Ok(entries.filter_map(|entry| place(entry.ok()?.path())).collect())
    }

    fn forget(&self, admin: &Path) -> Result<()> {
        remove_tree(admin).map_err(Error::io(format!("remove {}", admin.display())))?;
        // Git itself removes the parent together with the last one; a parent that is not empty is no failure.
        let _ = fs::remove_dir(self.common_dir.join("worktrees"));
        Ok(())
    }
}

// === impl Worktree ===

impl Worktree {
    /// Returns the top folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Resets `HEAD`, the branch, the index and all files to a commit, whatever the agent did with them. Files that git ignores stay
    /// (they are caches of builds), unless `also_ignored`.
    ///
    /// # Errors
    /// [`Error::Git`], [`Error::Io`].
    pub fn reset(&self, branch: &str, commit: &Oid, also_ignored: bool) -> Result<()> {
        self.restore_link()?;
        self.attach(branch)?;
        let flags = if also_ignored { "-ffdxq" } else { "-ffdq" };
        self.bring_to(commit, &[flags, "-e", &format!("/{OWN_FOLDER}")])
    }

    /// Resets the index and all files to a commit, and removes others with the given options of `git clean`.
    fn bring_to(&self, commit: &Oid, clean: &[&str]) -> Result<()> {
        self.call(["reset", "--quiet", "--hard", commit.as_str(), "--"])?.done()?;
        self.call(["clean"].iter().chain(clean).chain(&["--"]).copied())?.done()
    }

    /// Returns a call that does not use the work tree's files to find the repository.
    pub(super) fn call<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Result<Call> {
        let call = Call::new(&self.repo.git, args).cwd(&self.path);
        Ok(call
            .env("GIT_DIR", utf8(&self.admin)?)
            .env("GIT_WORK_TREE", utf8(&self.path)?)
            .setting("core.sparseCheckout=false"))
    }

    /// Points `HEAD` at the branch and removes the lock of a git that was killed together with its agent.
    pub(super) fn attach(&self, branch: &str) -> Result<()> {
        self.unlock()?;
        self.call(["symbolic-ref", "HEAD", &refs::full_name(branch)?])?.done()
    }

    fn unlock(&self) -> Result<()> {
        for lock in ["index.lock", "HEAD.lock"] {
            remove_file(&self.admin.join(lock))?;
        }
        Ok(())
    }

    fn head_branch(&self) -> Option<String> {
        let head = fs::read_to_string(self.admin.join("HEAD")).ok()?;
        head.trim_end().strip_prefix("ref: ").map(str::to_owned)
    }

    /// Restores the `.git` file if it is not what git wrote.
    pub(super) fn restore_link(&self) -> Result<()> {
        let link = self.path.join(".git");
        let expected = format!("gitdir: {}\n", utf8(&self.admin)?);
        if !link.is_symlink() && fs::read_to_string(&link).is_ok_and(|text| text == expected) {
            return Ok(());
        }
        let put = || {
            if link.is_dir() && !link.is_symlink() {
                remove_tree(&link)?
            } else {
                remove_file_io(&link)?
            }
            fs::write(&link, &expected)
        };
        put().map_err(Error::io(format!("write {}", link.display())))
    }
}

const OTHER_REPOSITORY: &str = "another repository lies there";

fn holds_other_repository(path: &Path) -> bool {
    let git = path.join(".git");
    git.is_dir() && !git.is_symlink()
}

fn expect_no_link(path: &Path) -> Result<()> {
    if path.is_symlink() {
        return Err(Error::NotOurs { path: path.to_owned(), why: "it is a symbolic link" });
    }
    Ok(())
}

fn expect_empty(path: &Path) -> Result<()> {
    let not_ours = |why| Err(Error::NotOurs { path: path.to_owned(), why });
    match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(_) if holds_other_repository(path) => not_ours(OTHER_REPOSITORY),
        Ok(_) if path.join(".git").exists() => not_ours("a work tree of another repository lies there"),
        Ok(_) => not_ours("the folder is not empty"),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) if e.kind() == ErrorKind::NotADirectory => not_ours("a file lies there"),
        Err(e) => Err(Error::io(format!("read {}", path.display()))(e)),
    }
}

/// Returns the path as git registers it: without links and dots as far as it exists, then the names of missing parts.
fn registered_place(path: &Path) -> Result<PathBuf> {
    let missing = path.ancestors().map(|ancestor| (ancestor, real(ancestor)));
    for (ancestor, found) in missing {
        if let Some(found) = found? {
            let gone = path.strip_prefix(ancestor).unwrap_or(Path::new(""));
            return Ok(if gone.as_os_str().is_empty() { found } else { found.join(gone) });
        }
    }
    Ok(path.to_owned())
}

/// Returns the path without links and dots; `None` if it does not exist.
fn real(path: &Path) -> Result<Option<PathBuf>> {
    match fs::canonicalize(path) {
        Ok(real) => Ok(Some(real)),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(Error::io(format!("read {}", path.display()))(e)),
    }
}

/// Returns the path of the work tree in an administrative folder; `None` if it has none.
fn place_of(admin: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(admin.join("gitdir")).ok()?;
    let at = admin.join(Path::new(text.trim_end_matches('\n')).parent()?);
    Some(registered_place(&at).unwrap_or(at))
}

/// Returns true if a work tree is locked. The lock of one that is being made is not counted: it has no owner once its maker was killed.
fn is_locked(admin: &Path) -> bool {
    lock_reason(admin).is_some_and(|reason| !is_of_the_making(&reason))
}

/// Returns true if a work tree was not completed.
fn is_half_made(admin: &Path) -> bool {
    lock_reason(admin).is_some_and(|reason| is_of_the_making(&reason))
}

/// Returns true if a work tree of ours was not completed.
fn is_ours_in_the_making(admin: &Path) -> bool {
    lock_reason(admin).is_some_and(|reason| reason == OURS_IN_THE_MAKING)
}

/// Returns the reason of a work tree's lock; `None` if it is not locked.
fn lock_reason(admin: &Path) -> Option<String> {
    fs::read_to_string(admin.join(LOCK)).ok().map(|reason| reason.trim().to_owned())
}

fn is_of_the_making(reason: &str) -> bool {
    [IN_THE_MAKING, OURS_IN_THE_MAKING].contains(&reason)
}

pub(super) fn remove_file(path: &Path) -> Result<()> {
    remove_file_io(path).map_err(Error::io(format!("remove {}", path.display())))
}

fn remove_file_io(path: &Path) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Removes a folder; folders that a tool made read-only (module caches) are made writable first.
fn remove_tree(path: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(path) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) if e.kind() == ErrorKind::PermissionDenied => {
            open_up(path)?;
            fs::remove_dir_all(path)
        }
        Err(e) => Err(e),
    }
}

fn open_up(folder: &Path) -> std::io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}
