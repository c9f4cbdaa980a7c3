//! Finds the repository that a folder belongs to.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use switchboard_protocol::text::cut;

use super::call::{Call, failure_text};
use super::repo::{Git, Repo};
use super::types::{Head, Oid};
use super::{objects, refs};
use crate::{Error, Result};

// === impl Git ===

impl Git {
    /// Returns the repository whose work tree contains `path`.
    ///
    /// # Errors
    /// [`Error::NotARepository`] (also inside a `.git` folder), [`Error::Bare`], [`Error::Git`] when git distrusts the owner.
    pub fn discover(&self, path: &Path) -> Result<Repo> {
        let not_there = || Error::NotARepository { path: path.to_owned() };
        if !path.is_dir() {
            return Err(not_there());
        }
        let facts = [
            "rev-parse",
            "--is-bare-repository",
            "--is-inside-work-tree",
            "--path-format=absolute",
            "--git-dir",
            "--git-common-dir",
            "--show-toplevel",
        ];
        let (code, output) = Call::new(self, facts).cwd(path).run()?;
        let text = output.stdout.text();
        let lines: Vec<&str> = text.lines().collect();
        // Without a work tree, the last of the questions fails after the others were answered.
        if lines.first() == Some(&"true") {
            return Err(Error::Bare { path: path.to_owned() });
        }
        if lines.get(1) == Some(&"false") {
            return Err(not_there());
        }
        if code != 0 {
            let said = failure_text(&output, code);
            let missing = said.contains("not a git repository");
            return Err(if missing { not_there() } else { Error::Git { call: "rev-parse".to_owned(), said } });
        }
        let [_, _, git_dir, common_dir, root] = lines[..] else { return Err(unreadable(path)) };
        let root = PathBuf::from(root);
        if !root.is_dir() {
            return Err(unreadable(path));
        }
        let (git_dir, common_dir, last_listed) = (git_dir.into(), common_dir.into(), Arc::default());
        Ok(Repo { git: self.clone(), root, git_dir, common_dir, last_listed })
    }
}

// === impl Repo ===

impl Repo {
    /// Returns the target of `HEAD` in the user's work tree.
    ///
    /// # Errors
    /// [`Error::Damaged`] when its commit is gone, [`Error::Git`].
    pub fn head(&self) -> Result<Head> {
        if let Some(head) = self.loose_head() {
            return Ok(head);
        }
        let both = self.call(["rev-parse", "HEAD^{commit}", "--symbolic-full-name", "HEAD"]);
        let (code, text) = both.answer(&[0, 128])?;
        if code == 128 {
            return self.head_without_commit();
        }
        let text = String::from_utf8_lossy(&text);
        let (commit, name) = text.split_once('\n').unwrap_or((&text, ""));
        let commit = Oid::parse(commit)?;
        Ok(match name.trim_end() {
            "HEAD" | "" => Head::Detached(commit),
            name => Head::Branch { name: name.strip_prefix("refs/heads/").unwrap_or(name).to_owned(), commit },
        })
    }

    /// Returns the branch that `HEAD` names, if it has a file of its own and its commit is found: reading short files is faster than
    /// starting git. `None` leaves the answer to git.
    fn loose_head(&self) -> Option<Head> {
        let head = fs::read_to_string(self.git_dir.join("HEAD")).ok()?;
        let name = head.trim_end().strip_prefix("ref: refs/heads/")?;
        let tip = fs::read_to_string(self.common_dir.join(refs::full_name(name).ok()?)).ok()?;
        let commit = Oid::parse(tip.trim_end()).ok()?;
        objects::has(&self.common_dir.join("objects"), &commit).then(|| Head::Branch { name: name.to_owned(), commit })
    }

    /// Returns the target of a `HEAD` without a commit.
    fn head_without_commit(&self) -> Result<Head> {
        let (code, name) = self.call(["symbolic-ref", "--quiet", "HEAD"]).answer(&[0, 1])?;
        if let Some(commit) = self.resolve("HEAD")? {
            return Err(Error::Damaged { path: self.root.clone(), commit: commit.to_string() });
        }
        if code == 1 {
            return Err(Error::NoCommits { path: self.root.clone() });
        }
        let name = String::from_utf8_lossy(&name).trim_end().to_owned();
        Ok(Head::Unborn { name: name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned() })
    }

    /// Returns the commit of `HEAD` in the user's work tree.
    ///
    /// # Errors
    /// [`Error::NoCommits`], [`Error::Damaged`], [`Error::Git`].
    pub fn head_commit(&self) -> Result<Oid> {
        match self.head()? {
            Head::Branch { commit, .. } | Head::Detached(commit) => Ok(commit),
            Head::Unborn { .. } => Err(Error::NoCommits { path: self.root.clone() }),
        }
    }
}

fn unreadable(path: &Path) -> Error {
    Error::BadName {
        text: cut(&path.display().to_string(), 100),
        expected: "a folder whose path is UTF-8 without line breaks: rename it",
    }
}
