//! Differences between two commits: as a list of paths, as text, and one file of one side.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::repo::{Repo, utf8};
use super::types::{Change, Entry, Oid};
use crate::{Error, Result};

/// A diff as text for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffText {
    /// Text of the diff; omissions are marked.
    pub text: String,
    /// Number of bytes left out.
    pub dropped: u64,
}

/// A file on one side of a diff, if it fits the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Side {
    /// The commit has no such file.
    Absent,
    /// Content of the file, without filters.
    Content(Vec<u8>),
    /// The file is longer than the limit; its size in bytes.
    TooLong(u64),
}

// === impl Repo ===

impl Repo {
    /// Returns the paths that differ between two commits or trees, sorted by path. A rename is a deletion and an addition.
    ///
    /// # Errors
    /// [`Error::Git`], [`Error::GitAnswer`].
    pub fn changed_files(&self, old: &Oid, new: &Oid) -> Result<Vec<Change>> {
        let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old.as_str(), new.as_str()];
        parse_raw(&self.call(args).bytes()?)
    }

    /// Returns the number of lines added and removed between two commits. A binary file counts as one.
    ///
    /// # Errors
    /// [`Error::Git`].
    pub fn changed_lines(&self, old: &Oid, new: &Oid) -> Result<u32> {
        let args = [
            "diff-tree",
            "-r",
            "--numstat",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            old.as_str(),
            new.as_str(),
        ];
        let text = self.call(args).bytes()?;
        let text = String::from_utf8_lossy(&text);
        let count = |field: Option<&str>| field.and_then(|field| field.parse::<u32>().ok());
        let of_file = |line: &str| {
            let mut fields = line.split('\t');
            match (count(fields.next()), count(fields.next())) {
                (Some(added), Some(removed)) => added.saturating_add(removed),
                (None, _) | (_, None) => 1,
            }
        };
        Ok(text.lines().map(of_file).fold(0, u32::saturating_add))
    }

    /// Returns the difference between two commits as text, at most twice `keep` bytes of it: the beginning and the end.
    ///
    /// # Errors
    /// [`Error::Git`].
    pub fn diff_text(&self, old: &Oid, new: &Oid, keep: usize) -> Result<DiffText> {
        let args = ["diff-tree", "-r", "-p", "-M", "--no-ext-diff", "--no-textconv", old.as_str(), new.as_str()];
        let (code, output) = self.call(args).keep(keep).run()?;
        if code != 0 {
            return Err(Error::Git { call: "diff-tree".to_owned(), said: super::call::failure_text(&output, code) });
        }
        Ok(DiffText { text: output.stdout.text(), dropped: output.stdout.dropped() })
    }

    /// Returns a file of a commit, if it has at most `limit` bytes.
    ///
    /// # Errors
    /// [`Error::Git`], [`Error::BadName`] when the path is not UTF-8.
    pub fn file_at(&self, commit: &Oid, path: &Path, limit: u64) -> Result<Side> {
        let object = format!("{commit}:{}\n", utf8(path)?);
        if path.as_os_str().as_bytes().contains(&b'\n') {
            return Err(Error::BadName { text: path.display().to_string(), expected: "a path without line breaks" });
        }
        let said =
            self.call(["cat-file", "--batch-check=%(objecttype) %(objectsize) %(objectname)"]).input(object).text()?;
        let fields: Vec<&str> = said.split_ascii_whitespace().collect();
        let ["blob", size, oid] = fields[..] else { return Ok(Side::Absent) };
        let size = size.parse().unwrap_or(u64::MAX);
        if size > limit {
            return Ok(Side::TooLong(size));
        }
        self.call(["cat-file", "blob", oid]).bytes().map(Side::Content)
    }
}

/// Reads `:MODE MODE OID OID STATUS NUL PATH NUL …`.
pub(super) fn parse_raw(answer: &[u8]) -> Result<Vec<Change>> {
    let mut fields = answer.split(|b| *b == 0);
    let mut changes = Vec::new();
    while let Some(meta) = fields.next().filter(|f| !f.is_empty()) {
        let change = fields.next().and_then(|path| parse_change(meta, path));
        changes.push(change.ok_or_else(|| Error::GitAnswer {
            call: "diff".to_owned(),
            why: "a line has not the form that git documents".to_owned(),
        })?);
    }
    Ok(changes)
}

fn parse_change(meta: &[u8], path: &[u8]) -> Option<Change> {
    let meta = std::str::from_utf8(meta).ok()?.strip_prefix(':')?;
    let fields: Vec<&str> = meta.split(' ').collect();
    let [old_mode, new_mode, old, new, _status] = fields[..] else { return None };
    let entry = |mode: &str, oid: &str| {
        let is_there = mode != "000000";
        is_there.then(|| Oid::parse(oid).map(|oid| Entry { mode: mode.to_owned(), oid })).transpose().ok()
    };
    let path = PathBuf::from(OsStr::from_bytes(path));
    Some(Change { path, before: entry(old_mode, old)?, after: entry(new_mode, new)? })
}
