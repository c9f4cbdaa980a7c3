//! References: read, compared, and moved only from an expected commit.
//!
//! A git process that was killed leaves its lock beside the reference (`NAME.lock`), which blocks every later one. If only Switchboard
//! writes the reference, or our own note shows that we were killed at this very move, such a lock is removed once it was untouched for
//! [`ABANDONED`].

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;
use switchboard_protocol::text::cut;
use switchboard_protocol::time::Millis;

use super::call::Call;
use super::repo::Repo;
use super::types::{Author, Oid};
use super::worktree::remove_file;
use crate::{Error, Result};

/// Time after which an untouched lock counts as left by a killed git process. Git holds such a lock for milliseconds.
const ABANDONED: Duration = Duration::from_secs(1);

/// Branches that only Switchboard writes.
const OURS: &[&str] = &["refs/heads/switchboard/", "refs/heads/switchboard-task/"];

// === impl Repo ===

impl Repo {
    /// Returns the commit that a revision names, or `None` if there is none. Any text is safe.
    ///
    /// # Errors
    /// [`Error::Git`].
    pub fn rev_parse(&self, revision: &str) -> Result<Option<Oid>> {
        self.resolve(&format!("{revision}^{{commit}}"))
    }

    /// Returns the tree of a commit.
    ///
    /// # Errors
    /// [`Error::Git`], also when there is no such commit.
    pub fn tree_of(&self, commit: &Oid) -> Result<Oid> {
        let tree = self.resolve(&format!("{commit}^{{tree}}"))?;
        tree.ok_or_else(|| Error::Git { call: "rev-parse".to_owned(), said: format!("{commit} is not a commit") })
    }

    /// Returns the name and address of a commit's author; `at` is set by the caller.
    ///
    /// # Errors
    /// [`Error::Git`], also when there is no such commit.
    pub fn author_of(&self, commit: &Oid, at: Millis) -> Result<Author> {
        let text = self.call(["log", "-1", "--format=%an%x00%ae", commit.as_str(), "--"]).text()?;
        let (name, email) = text.trim_end().split_once('\0').unwrap_or((text.trim_end(), ""));
        Ok(Author { name: name.to_owned(), email: email.to_owned(), at })
    }

    /// Returns the head of a branch (a name without `refs/heads/`), or `None` if there is no such branch.
    ///
    /// # Errors
    /// [`Error::BadName`], [`Error::Git`].
    pub fn branch(&self, name: &str) -> Result<Option<Oid>> {
        self.resolve(&full_name(name)?)
    }

    /// Returns the branch beside which git can hold none of ours: one called `switchboard` or `switchboard-task`.
    ///
    /// # Errors
    /// [`Error::Git`].
    pub fn branch_in_the_way(&self) -> Result<Option<String>> {
        for full in OURS.iter().map(|prefix| prefix.trim_end_matches('/')) {
            if self.may_exist(full) && self.resolve(full)?.is_some() {
                return Ok(full.strip_prefix("refs/heads/").map(str::to_owned));
            }
        }
        Ok(None)
    }

    /// Returns false if no reference of this name is in git's files, so that git need not be called.
    fn may_exist(&self, full: &str) -> bool {
        let loose = self.common_dir.join(full);
        // A folder there holds branches of ours.
        if loose.is_dir() {
            return false;
        }
        let is_named = |line: &[u8]| line.ends_with(full.as_bytes());
        let is_packed = match fs::read(self.common_dir.join("packed-refs")) {
            Ok(packed) => packed.split(|byte| *byte == b'\n').any(is_named),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        };
        // Tables of references are not read here.
        is_packed || loose.exists() || self.common_dir.join("reftable").exists()
    }

    /// Returns true if `ancestor` is reachable from `commit`, or the same.
    ///
    /// # Errors
    /// [`Error::Git`].
    pub fn is_ancestor(&self, ancestor: &Oid, commit: &Oid) -> Result<bool> {
        let call = self.call(["merge-base", "--is-ancestor", ancestor.as_str(), commit.as_str()]);
        call.answer(&[0, 1]).map(|(code, _)| code == 0)
    }

    /// Moves a branch from `old` (`None`: it must not exist) to `new`, if it is still at `old`. Repeating it is fine.
    ///
    /// # Errors
    /// [`Error::Moved`] when it is somewhere else, [`Error::BadName`], [`Error::Git`].
    pub fn update_branch(&self, name: &str, new: &Oid, old: Option<&Oid>) -> Result<()> {
        let full = full_name(name)?;
        let old_text = old.map_or_else(|| new.zero(), ToString::to_string);
        let call =
            || self.call(["update-ref", "--no-deref", "-m", "switchboard", &full, new.as_str(), &old_text]).done();
        self.lost_race(&full, Some(new), old, self.past_dead_lock(&full, Some(new), call)?)
    }

    /// Makes a branch at `at`, unless it is already there, and those in `beside` that don't exist.
    pub(super) fn make_branch(&self, name: &str, at: &Oid, beside: &[(&str, &Oid)]) -> Result<()> {
        self.update_branch(name, at, None)?;
        self.make_missing(beside)
    }

    /// Makes a branch at `at` and those in `beside` that don't exist, if possible with one git call. Returns `false` if the branch exists
    /// or git could not make it.
    pub(super) fn make_new(&self, name: &str, at: &Oid, beside: &[(&str, &Oid)]) -> Result<bool> {
        let is_missing = |(name, _): &&(&str, &Oid)| full_name(name).is_ok_and(|full| !self.has_loose(&full));
        let missing: Vec<_> = beside.iter().filter(is_missing).copied().collect();
        if self.make_all(&[&[(name, at)], missing.as_slice()].concat())? {
            return Ok(true);
        }
        // Another process may have made one of those in `beside` at this moment, or git has packed it.
        if missing.is_empty() || !self.make_all(&[(name, at)])? {
            return Ok(false);
        }
        self.make_missing(&missing).map(|()| true)
    }

    /// Returns true if a reference has its own file. One without may exist, packed with others.
    pub(super) fn has_loose(&self, full: &str) -> bool {
        self.common_dir.join(full).is_file()
    }

    /// Makes those branches that don't exist.
    pub(super) fn make_missing(&self, branches: &[(&str, &Oid)]) -> Result<()> {
        for (name, at) in branches {
            // Another process may make the same one at this moment, and continue from there.
            if self.branch(name)?.is_none()
                && let Err(error) = self.update_branch(name, at, None)
            {
                self.branch(name)?.ok_or(error)?;
            }
        }
        Ok(())
    }

    /// Makes branches, all or none; returns `false` where one exists or git could not make it.
    fn make_all(&self, new: &[(&str, &Oid)]) -> Result<bool> {
        let lines = new.iter().map(|(name, at)| Ok(format!("create {} {at}\n", full_name(name)?)));
        let lines = lines.collect::<Result<String>>()?;
        let call = self.call(["update-ref", "--no-deref", "-m", "switchboard", "--stdin"]).input(lines);
        call.run().map(|(code, _)| code == 0)
    }

    /// Deletes a branch that still points at `old`. Repeating it is fine.
    ///
    /// # Errors
    /// As [`Repo::update_branch`].
    pub fn delete_branch(&self, name: &str, old: &Oid) -> Result<()> {
        let full = full_name(name)?;
        let call = || self.call(["update-ref", "--no-deref", "-d", &full, old.as_str()]).done();
        self.lost_race(&full, None, Some(old), self.past_dead_lock(&full, None, call)?)
    }

    /// Returns the branches whose name begins with `prefix`, with their heads.
    ///
    /// # Errors
    /// [`Error::BadName`], [`Error::Git`].
    pub fn branches(&self, prefix: &str) -> Result<Vec<(String, Oid)>> {
        let full = full_name(prefix.trim_end_matches('/'))?;
        let text = self.call(["for-each-ref", "--format=%(objectname) %(refname)", &full]).text()?;
        let parse = |line: &str| {
            let (oid, name) = line.split_once(' ')?;
            Some((name.strip_prefix("refs/heads/")?.to_owned(), Oid::parse(oid).ok()?))
        };
        Ok(text.lines().filter_map(parse).collect())
    }

    /// Removes the locks that a killed move of the checked-out branch to `new` left. The caller's own note shows that there was one.
    pub(super) fn clear_after_kill(&self, branch: &str, new: &Oid) -> Result<()> {
        let full = full_name(branch)?;
        clear_abandoned(&self.common_dir.join(format!("{full}.lock")), Some(new))?;
        clear_abandoned(&self.git_dir.join("HEAD.lock"), Some(new)).map(drop)
    }

    /// Returns the names of branches, remote branches and tags, as `git` accepts them.
    ///
    /// # Errors
    /// [`Error::Git`].
    pub fn names(&self) -> Result<Vec<String>> {
        let call = ["for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags"];
        Ok(self.call(call).text()?.lines().map(str::to_owned).collect())
    }

    /// Makes the call; if a killed git process left a lock on a branch of ours, removes it and makes the call once more.
    fn past_dead_lock(&self, full: &str, new: Option<&Oid>, call: impl Fn() -> Result<()>) -> Result<Result<()>> {
        let result = call();
        let is_ours = OURS.iter().any(|prefix| full.starts_with(prefix));
        if result.is_err() && is_ours && clear_abandoned(&self.common_dir.join(format!("{full}.lock")), new)? {
            return Ok(call());
        }
        Ok(result)
    }

    /// Turns a failed update into success or [`Error::Moved`] when the reference shows that another process was first.
    fn lost_race(&self, full: &str, new: Option<&Oid>, old: Option<&Oid>, result: Result<()>) -> Result<()> {
        let Err(error) = result else { return Ok(()) };
        let found = self.resolve(full)?;
        if found.as_ref() == new {
            return Ok(());
        }
        if found.as_ref() == old {
            return Err(error);
        }
        let found = found.map_or_else(|| "nothing".to_owned(), |oid| oid.to_string());
        Err(Error::Moved { name: full.to_owned(), found })
    }

    /// Returns the commit that an expression names, existing or not; `None` if it names nothing.
    pub(super) fn resolve(&self, expression: &str) -> Result<Option<Oid>> {
        if expression.bytes().any(|b| matches!(b, 0 | b'\n')) {
            return Ok(None);
        }
        let call = self.call(["rev-parse", "--verify", "--quiet", "--end-of-options", expression]);
        resolved(call)
    }
}

/// Removes an untouched lock file that contains at most the beginning of what this move writes. Returns true if it was removed.
fn clear_abandoned(lock: &Path, new: Option<&Oid>) -> Result<bool> {
    let text = new.map(|oid| format!("{oid}\n")).unwrap_or_default();
    let look = || {
        let found = fs::symlink_metadata(lock).ok().filter(fs::Metadata::is_file)?;
        let content = fs::read(lock).ok()?;
        text.as_bytes().starts_with(&content).then(|| (found.ino(), found.mtime(), found.mtime_nsec(), found.len()))
    };
    let Some(first) = look() else { return Ok(false) };
    std::thread::sleep(ABANDONED);
    if look() != Some(first) {
        return Ok(false);
    }
    remove_file(lock)?;
    Ok(true)
}

/// Reads the output of `rev-parse --verify --quiet`. An ambiguous or malformed name counts as none.
pub(super) fn resolved(call: Call) -> Result<Option<Oid>> {
    let (code, text) = call.answer(&[0, 1, 128])?;
    if code != 0 {
        return Ok(None);
    }
    Oid::parse(String::from_utf8_lossy(&text).trim_end()).map(Some)
}

/// Returns the full name of a branch, by the rules of `git check-ref-format`.
pub(super) fn full_name(branch: &str) -> Result<String> {
    let bad_char = |c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c);
    let bad_part = |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with(".lock");
    let is_bad = branch.is_empty()
        || branch.len() > 200
        || branch.starts_with('-')
        || branch.ends_with('.')
        || branch == "@"
        || branch == "HEAD"
        || branch.contains("..")
        || branch.contains("@{")
        || branch.contains(bad_char)
        || branch.split('/').any(bad_part);
    if is_bad {
        return Err(Error::BadName { text: cut(branch, 100), expected: "a branch name" });
    }
    Ok(format!("refs/heads/{branch}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_names_that_git_or_a_shell_would_misread_are_refused() {
        for bad in [
            "", "-d", "a..b", "a b", "a//b", "/a", "a/", "a.lock", ".a", "a/.b", "a@{1}", "@", "HEAD", "a\n", "a*",
            "a.",
        ] {
            assert!(full_name(bad).is_err(), "{bad:?}");
        }
        assert_eq!(full_name("switchboard/run_1/T-1.a").unwrap(), "refs/heads/switchboard/run_1/T-1.a");
    }
}
