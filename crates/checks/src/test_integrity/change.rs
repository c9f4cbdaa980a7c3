//! The change as git has it: each file with its text before and after.

use std::path::Path;

use switchboard_protocol::finding::{Base, CheckRequest};

use super::changed_file::ChangedFile;
use super::language::TestLanguage;
use super::runner_file::RunnerFile;
use super::{gate_files, paths, recipes};
use crate::error::Error;
use crate::git::{Blob, Blobs, Git, Mode, Side};
use crate::limits::Limits;
use crate::reader::{Reader, shown};

/// The files of a change that concern the check, and the names of all.
pub(super) struct Change {
    pub(super) files: Vec<ChangedFile>,
    /// Files that should have been read and could not, with the reason.
    pub(super) unread: Vec<(String, String)>,
}

// === impl Change ===

impl Change {
    /// Reads what differs between the base and the captured commit, or the work tree where the request names no commit.
    pub(super) fn read(
        root: &Path,
        git: &Git,
        blobs: &Blobs,
        (base, request): (&str, &CheckRequest),
        limits: &Limits,
    ) -> Result<Self, Error> {
        let mut read = Self { files: Vec::new(), unread: Vec::new() };
        let reader = Reader::new(root, Some(blobs), limits.file_bytes);
        let changes = match &request.commit {
            Some(commit) => {
                let commit = git.commit(commit)?.ok_or_else(|| Error::UnknownBase { rev: commit.clone() })?;
                git.changes_between(base, &commit)?
            }
            None => git.changes(base, request.base == Base::Staged)?,
        };
        for change in changes {
            let path = shown(&change.path);
            if !concerns(&path) {
                read.files.push(ChangedFile { path, ..named(&change.before, &change.after) });
                continue;
            }
            let before = read.side(&path, &change.before, |id| blobs.read(id))?;
            let after = match (&change.after.blob, change.after.mode) {
                (None, Mode::File) => reader.read(&change.path).ok(),
                _ => read.side(&path, &change.after, |id| blobs.read(id))?,
            };
            let is_link = change.after.mode == Mode::Symlink && change.before.mode != Mode::Symlink;
            read.files.push(ChangedFile { path, before, after, is_link, blob: change.after.blob });
        }
        if request.commit.is_none() && request.base != Base::Staged {
            for path in git.untracked()? {
                let after = if concerns(&shown(&path)) { reader.read(&path).ok() } else { Some(Vec::new()) };
                read.files.push(ChangedFile { path: shown(&path), after, ..ChangedFile::default() });
            }
        }
        read.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(read)
    }

    fn side(
        &mut self,
        path: &str,
        side: &Side,
        read: impl Fn(&str) -> Result<Blob, Error>,
    ) -> Result<Option<Vec<u8>>, Error> {
        let Some(id) = side.blob.as_deref().filter(|_| matches!(side.mode, Mode::File | Mode::Symlink)) else {
            return Ok(None);
        };
        match read(id)? {
            Blob::Content(text) => Ok(Some(text)),
            Blob::TooLarge if paths::is_test(path) => {
                self.unread.push((path.to_owned(), "too large to be read".to_owned()));
                Ok(Some(Vec::new()))
            }
            Blob::TooLarge | Blob::Missing => Ok(Some(Vec::new())),
        }
    }

    pub(super) fn file(&self, path: &str) -> Option<&ChangedFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Returns whether the base has tests in files that the change leaves alone.
    pub(super) fn has_other_tests(&self, git: &Git, blobs: &Blobs, base: &str) -> Result<bool, Error> {
        for (path, side) in git.tree(base)? {
            let path = shown(&path);
            if self.file(&path).is_some() {
                continue;
            }
            if paths::is_test(&path) {
                return Ok(true);
            }
            let is_rust = TestLanguage::of(&path).is_some_and(|(kind, _)| kind == TestLanguage::Rust);
            if let Some(id) = side.blob.filter(|_| is_rust)
                && let Blob::Content(text) = blobs.read(&id)?
                && memchr::memmem::find(&text, b"#[test]").is_some()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// A file of which only the name counts.
fn named(before: &Side, after: &Side) -> ChangedFile {
    let text = |side: &Side| (side.mode != Mode::Absent).then(Vec::new);
    ChangedFile { before: text(before), after: text(after), blob: after.blob.clone(), ..ChangedFile::default() }
}

/// Returns whether the check reads a file; of others only the name counts.
fn concerns(path: &str) -> bool {
    TestLanguage::of(path).is_some()
        || paths::is_test(path)
        || paths::is_report(path)
        || RunnerFile::of(path).is_some()
        || gate_files::is_gate_file(path)
        || recipes::may_be_script(path)
}
