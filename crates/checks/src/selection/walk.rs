//! Lists the files below a folder without git.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ignore::{WalkBuilder, WalkState};
use switchboard_protocol::finding::SkippedFile;

/// Maximum number of threads of a walk; more are not faster.
const MOST_THREADS: usize = 8;

/// Treatment of files that an ignore file names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ignored {
    LeftOut,
    Taken,
}

/// Result of a walk, with paths relative to the root.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) skipped: Vec<SkippedFile>,
}

/// Walks `folder` below `root`. Links are not followed, `.git` is not entered.
pub(crate) fn files(root: &Path, folder: &Path, ignored: Ignored) -> Found {
    let respect = ignored == Ignored::LeftOut;
    let walk = WalkBuilder::new(root.join(folder))
        .hidden(false)
        .parents(false)
        .ignore(respect)
        .git_ignore(respect)
        .git_exclude(respect)
        .git_global(false)
        .require_git(false)
        .follow_links(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .threads(std::thread::available_parallelism().map_or(2, NonZeroUsize::get).min(MOST_THREADS))
        .build_parallel();
    let found = Mutex::new(Found::default());
    walk.run(|| {
        let mut mine = Part { found: Found::default(), all: &found };
        Box::new(move |item| {
            match item {
                Ok(entry) if entry.file_type().is_none_or(|kind| kind.is_dir()) => {}
                Ok(entry) => mine.found.files.extend(entry.path().strip_prefix(root).map(Path::to_owned)),
                Err(error) => mine.found.skipped.push(unreadable(root, &error)),
            }
            WalkState::Continue
        })
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.files.sort_unstable();
    found.skipped.sort_unstable();
    found
}

/// Results of one thread; added to the others when it ends.
struct Part<'a> {
    found: Found,
    all: &'a Mutex<Found>,
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.files.append(&mut self.found.files);
        all.skipped.append(&mut self.found.skipped);
    }
}

fn unreadable(root: &Path, error: &ignore::Error) -> SkippedFile {
    let path = path_of(error).map(|path| path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned());
    let why = error.io_error().map_or_else(|| "unreadable".into(), |io| format!("unreadable: {}", io.kind()));
    SkippedFile { path: path.unwrap_or_else(|| "?".into()), why, is_missing: false }
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        ignore::Error::Loop { child, .. } => Some(child),
        ignore::Error::Partial(errors) => errors.iter().find_map(path_of),
        ignore::Error::Io(_)
        | ignore::Error::Glob { .. }
        | ignore::Error::UnrecognizedFileType(_)
        | ignore::Error::InvalidDefinition => None,
    }
}
