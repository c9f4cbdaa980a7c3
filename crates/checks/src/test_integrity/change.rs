//! Reads the change from git: each file with its text before and after.

use std::path::Path;

use switchboard_protocol::finding::{Base, CheckCommand, CheckRequest};

use super::changed_file::ChangedFile;
use super::language::TestLanguage;
use super::runner_file::RunnerFile;
use super::{gate_files, paths, recipes};
use crate::error::Error;
use crate::git::{Blob, Blobs, Git, Mode, Side};
use crate::limits::Limits;
use crate::reader::{NOT_HERE, Reader, shown, too_large};

/// Files of a change that the check reads, and the names of all.
pub(crate) struct Change {
    pub(crate) files: Vec<ChangedFile>,
    /// Files that the check needs and could not read, with the reason.
    pub(crate) unread: Vec<(String, String)>,
}

// === impl Change ===

impl Change {
    /// Reads the differences between the base and the captured commit, or the work tree if the request names no commit.
    pub(crate) fn read(
        root: &Path,
        git: &Git,
        blobs: &Blobs,
        (base, request): (&str, &CheckRequest),
        limits: &Limits,
    ) -> Result<Self, Error> {
        let mut read = Self { files: Vec::new(), unread: Vec::new() };
        let sources = Sources { root, reader: Reader::new(root, Some(blobs), limits.file_bytes), blobs, limits };
        let changes = match &request.commit {
            Some(commit) => {
                let commit = git.commit(commit)?.ok_or_else(|| Error::UnknownBase { rev: commit.clone() })?;
                git.changes_between(base, &commit)?
            }
            None => git.changes(base, request.base == Base::Staged)?,
        };
        for change in changes {
            let path = shown(&change.path);
            if !concerns(&path, &request.commands) {
                read.files.push(ChangedFile { path, ..named(&change.before, &change.after) });
                continue;
            }
            let before = sources.of_side(&change.path, &change.before)?;
            let after = sources.of_side(&change.path, &change.after)?;
            let is_link = change.after.mode == Mode::Symlink && change.before.mode != Mode::Symlink;
            let file = ChangedFile { path, is_link, blob: change.after.blob, ..ChangedFile::default() };
            read.take(file, before, after);
        }
        if request.commit.is_none() && request.base != Base::Staged {
            for path in git.untracked()? {
                let shown = shown(&path);
                let is_read = concerns(&shown, &request.commands);
                let after = if is_read { sources.of_work_tree(&path).map(Some) } else { Ok(Some(Vec::new())) };
                let is_link = is_read && root.join(&path).is_symlink();
                read.take(ChangedFile { path: shown, is_link, ..ChangedFile::default() }, Ok(None), after);
            }
        }
        read.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(read)
    }

    /// Adds a file with its texts. An unreadable file is neither empty nor deleted; it is only reported as unread.
    fn take(&mut self, file: ChangedFile, before: Text, after: Text) {
        match (before, after) {
            (Ok(before), Ok(after)) => self.files.push(ChangedFile { before, after, ..file }),
            (Err(why), _) | (Ok(_), Err(why)) => self.unread.push((file.path, why)),
        }
    }

    pub(super) fn file(&self, path: &str) -> Option<&ChangedFile> {
        self.files.iter().find(|file| file.path == path)
    }
}

/// Text of one side of a file, `None` if the side has no file; or the reason that it could not be read.
type Text = Result<Option<Vec<u8>>, String>;

/// Readers of the texts.
struct Sources<'a> {
    root: &'a Path,
    reader: Reader<'a>,
    blobs: &'a Blobs,
    limits: &'a Limits,
}

// === impl Sources ===

impl Sources<'_> {
    fn of_side(&self, path: &Path, side: &Side) -> Result<Text, Error> {
        let id = match (side.mode, &side.blob) {
            (Mode::Absent | Mode::Submodule, _) => return Ok(Ok(None)),
            (Mode::File | Mode::Symlink, None) => return Ok(self.of_work_tree(path).map(Some)),
            (Mode::File | Mode::Symlink, Some(id)) => id,
        };
        Ok(match self.blobs.read(id)? {
            Blob::Content(text) => Ok(Some(text)),
            Blob::TooLarge => Err(too_large(self.limits.file_bytes)),
            Blob::Missing => Err(NOT_HERE.to_owned()),
        })
    }

    /// Reads a file of the work tree; for a link returns its target, as git does.
    fn of_work_tree(&self, path: &Path) -> Result<Vec<u8>, String> {
        if let Ok(target) = std::fs::read_link(self.root.join(path)) {
            return Ok(target.into_os_string().into_encoded_bytes());
        }
        self.reader.read(path).map_err(|why| why.why(self.limits.file_bytes))
    }
}

/// Makes a file whose text is not read.
fn named(before: &Side, after: &Side) -> ChangedFile {
    let text = |side: &Side| (side.mode != Mode::Absent).then(Vec::new);
    ChangedFile { before: text(before), after: text(after), blob: after.blob.clone(), ..ChangedFile::default() }
}

/// Returns whether the check reads a file; of others only the name counts.
fn concerns(path: &str, commands: &[CheckCommand]) -> bool {
    TestLanguage::of(path).is_some()
        || paths::is_test(path)
        || RunnerFile::of(path).is_some()
        || gate_files::is_gate_file(path)
        || recipes::is_run(path, commands)
}
