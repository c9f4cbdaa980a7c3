//! Selects the files of a run, and what each is compared with.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use switchboard_protocol::finding::{Base, CheckRequest, SkippedFile};

use crate::error::Error;
use crate::git::{Blob, Blobs, Change, Differences, Git, Mode, Side};
use crate::limits::Limits;

mod excluded;
mod requested_paths;
pub(crate) mod walk;

use excluded::Excluded;
use requested_paths::RequestedPaths;

/// Maximum size of a settings file, in bytes.
const SETTING: u64 = 1 << 20;

/// A file to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Path relative to the root.
    pub(crate) path: PathBuf,
    pub(crate) now: ContentSource,
    pub(crate) before: BaseContent,
    /// True if the content comes from the index and differs from the work tree.
    pub(crate) is_staged_apart: bool,
}

// === impl Entry ===

impl Entry {
    fn new(path: PathBuf, now: ContentSource, before: BaseContent) -> Self {
        Self { path, now, before, is_staged_apart: false }
    }
}

/// Location of a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ContentSource {
    WorkTree,
    Blob(String),
}

/// Content of the base at a file's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BaseContent {
    Nothing,
    Same,
    Blob(String),
}

/// Files that a run checks.
pub(crate) struct Selection {
    pub(crate) entries: Vec<Entry>,
    /// Blobs of files that the base had and the change removed, by path: a new file may be one of them, moved.
    pub(crate) gone: Vec<(PathBuf, String)>,
    pub(crate) skipped: Vec<SkippedFile>,
    /// Files that the project or the caller excludes.
    pub(crate) excluded: Vec<SkippedFile>,
    pub(crate) problems: Vec<Error>,
    /// True if there is a commit to compare with.
    pub(crate) has_base: bool,
    /// Content of `.secretscanignore`.
    pub(crate) secretscan_ignore: String,
    pub(crate) blobs: Option<Blobs>,
}

/// State that the files are compared with, as git resolved it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Nothing,
    Commit {
        id: String,
        staged: bool,
    },
    /// No commit exists yet; the index is checked and compared with nothing.
    UnbornIndex,
}

/// Opens the repository around `root`, if there is one, and resolves what a request compares with.
pub(crate) fn open(root: &Path, request: &CheckRequest, limits: &Limits) -> Result<(Option<Git>, Comparison), Error> {
    let git = Git::open(root, limits)?.map(|git| git.with_index(request.index_file.as_deref()));
    let against = against(git.as_ref(), request)?;
    Ok((git, against))
}

/// Selects the files that a request asks for below `root`, which must be canonical.
pub(crate) fn select(
    root: &Path,
    request: &CheckRequest,
    (git, against): (Option<&Git>, &Comparison),
    limits: &Limits,
) -> Result<Selection, Error> {
    let blobs = git.map(Git::blobs);
    let mut selection = Selection {
        entries: Vec::new(),
        gone: Vec::new(),
        skipped: Vec::new(),
        excluded: Vec::new(),
        problems: Vec::new(),
        has_base: matches!(against, Comparison::Commit { .. }),
        secretscan_ignore: setting(root, blobs.as_ref(), against, ".secretscanignore")?,
        blobs,
    };
    let asked = RequestedPaths::new(root, &request.paths, &mut selection.problems);
    match (git, against) {
        (Some(git), Comparison::Commit { id, staged }) => selection.changed(git, id, *staged, &asked)?,
        (Some(git), Comparison::UnbornIndex) => selection.index(git, &asked)?,
        (Some(git), Comparison::Nothing) => {
            selection.everything(git.all_files()?, &asked);
            selection.staged_apart(git, git.staged_apart()?, None, &asked)?;
        }
        (None, _) => selection.walked(root, &asked),
    }
    selection.named(root, &asked, git, against)?;
    let settings = setting(root, selection.blobs.as_ref(), against, excluded::SETTINGS)?;
    let excluded = Excluded::new(&settings, &request.exclude, &mut selection.problems);
    selection.excluded = excluded.take(&mut selection.entries, &mut selection.skipped);
    selection.entries.sort_by(|a, b| (&a.path, a.is_staged_apart).cmp(&(&b.path, b.is_staged_apart)));
    selection.entries.dedup_by(|a, b| a.path == b.path && a.is_staged_apart == b.is_staged_apart);
    if selection.entries.len() > limits.files {
        return Err(Error::TooManyFiles { limit: limits.files });
    }
    Ok(selection)
}

fn against(git: Option<&Git>, request: &CheckRequest) -> Result<Comparison, Error> {
    let Some(git) = git else {
        return match &request.base {
            Base::MergeBase | Base::None => Ok(Comparison::Nothing),
            Base::Rev(_) | Base::Staged => Err(Error::NotARepository { root: request.root.clone() }),
        };
    };
    Ok(match &request.base {
        Base::None => Comparison::Nothing,
        Base::Rev(rev) => match git.commit(rev)? {
            Some(id) => Comparison::Commit { id, staged: false },
            None => {
                return Err(Error::UnknownBase { rev: rev.chars().take(256).collect() });
            }
        },
        Base::Staged => match git.commit("HEAD")? {
            Some(id) => Comparison::Commit { id, staged: true },
            None => Comparison::UnbornIndex,
        },
        Base::MergeBase => match git.merge_base()? {
            Some(id) => Comparison::Commit { id, staged: false },
            None => Comparison::Nothing,
        },
    })
}

// === impl Comparison ===

impl Comparison {
    /// Returns the commit to compare with.
    pub(crate) fn commit(&self) -> Option<&str> {
        match self {
            Self::Commit { id, .. } => Some(id),
            Self::Nothing | Self::UnbornIndex => None,
        }
    }

    /// Returns what is compared with, in words.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Nothing => "nothing".into(),
            Self::Commit { id, staged: false } => id.clone(),
            Self::Commit { id, staged: true } => format!("{id}, index only"),
            Self::UnbornIndex => "nothing, index only".into(),
        }
    }

    const fn is_index(&self) -> bool {
        match self {
            Self::Commit { staged, .. } => *staged,
            Self::UnbornIndex => true,
            Self::Nothing => false,
        }
    }
}

// === impl Selection ===

impl Selection {
    /// Adds the files that differ from a commit, untracked files included.
    fn changed(&mut self, git: &Git, commit: &str, staged: bool, asked: &RequestedPaths) -> Result<(), Error> {
        if staged {
            git.changes(commit, true)?.into_iter().for_each(|change| self.take_change(change, true, asked));
            return Ok(());
        }
        let Differences { changes, untracked, staged_apart } = git.differences(commit)?;
        untracked.into_iter().for_each(|path| self.take_untracked(path, asked));
        self.staged_apart(git, staged_apart, Some((commit, &changes)), asked)?;
        changes.into_iter().for_each(|change| self.take_change(change, false, asked));
        Ok(())
    }

    /// Adds files whose index content differs from both the work tree and the base: the next commit would hold it.
    /// `index` lists the files whose index content differs from the work tree; `base` is its commit and how the work
    /// tree differs from it.
    fn staged_apart(
        &mut self,
        git: &Git,
        index: Vec<Change>,
        base: Option<(&str, &[Change])>,
        asked: &RequestedPaths,
    ) -> Result<(), Error> {
        let staged = index.into_iter().filter_map(|change| {
            let blob = change.before.blob.filter(|_| change.before.mode == Mode::File && asked.wants(&change.path))?;
            Some((change.path, blob))
        });
        let staged: Vec<(PathBuf, String)> = staged.collect();
        let base =
            base.map(|(commit, changes)| base_blobs(git, commit, changes, &staged)).transpose()?.unwrap_or_default();
        for (path, blob) in staged {
            let old = base.get(&path);
            if old != Some(&blob) {
                let before = old.cloned().map_or(BaseContent::Nothing, BaseContent::Blob);
                self.entries.push(Entry { path, now: ContentSource::Blob(blob), before, is_staged_apart: true });
            }
        }
        Ok(())
    }

    fn take_change(&mut self, change: Change, staged: bool, asked: &RequestedPaths) {
        let Change { path, before, after } = change;
        let old = (before.mode == Mode::File).then_some(before.blob).flatten();
        if after.mode == Mode::Absent {
            self.gone.extend(old.map(|blob| (path, blob)));
        } else if asked.wants(&path) && after.mode == Mode::Submodule && before.mode != Mode::Submodule {
            self.miss(&path, "a submodule, whose files were not read");
        } else if asked.wants(&path) && self.is_file(&path, after.mode) {
            let now = match after.blob {
                Some(blob) if staged => ContentSource::Blob(blob),
                Some(_) | None => ContentSource::WorkTree,
            };
            self.entries.push(Entry::new(path, now, old.map_or(BaseContent::Nothing, BaseContent::Blob)));
        }
    }

    fn take_untracked(&mut self, path: PathBuf, asked: &RequestedPaths) {
        if !asked.wants(&path) {
            return;
        }
        if path.to_string_lossy().ends_with('/') {
            self.skip(&path, "a repository inside this one");
        } else {
            self.entries.push(Entry::new(path, ContentSource::WorkTree, BaseContent::Nothing));
        }
    }

    /// Adds the whole index, where there is no commit yet.
    fn index(&mut self, git: &Git, asked: &RequestedPaths) -> Result<(), Error> {
        for (path, side) in git.index()? {
            if asked.wants(&path) && self.is_file(&path, side.mode) {
                let now = side.blob.map_or(ContentSource::WorkTree, ContentSource::Blob);
                self.entries.push(Entry::new(path, now, BaseContent::Nothing));
            }
        }
        Ok(())
    }

    /// Adds all files that git tracks or would add.
    fn everything(&mut self, paths: Vec<PathBuf>, asked: &RequestedPaths) {
        for path in paths {
            self.take_untracked(path, asked);
        }
    }

    /// Adds all files below a folder without git that its ignore files don't exclude.
    fn walked(&mut self, root: &Path, asked: &RequestedPaths) {
        let found = walk::files(root, Path::new(""), walk::Ignored::LeftOut);
        self.skipped.extend(found.skipped);
        for path in found.files.into_iter().filter(|path| asked.wants(path)) {
            self.entries.push(Entry::new(path, ContentSource::WorkTree, BaseContent::Nothing));
        }
    }

    /// Adds files that were requested by name and are unchanged, or ignored by git.
    fn named(
        &mut self,
        root: &Path,
        asked: &RequestedPaths,
        git: Option<&Git>,
        against: &Comparison,
    ) -> Result<(), Error> {
        if asked.is_everything() {
            return Ok(());
        }
        let taken: BTreeMap<PathBuf, ()> = self.entries.iter().map(|entry| (entry.path.clone(), ())).collect();
        let mut more = Vec::new();
        if against.is_index() {
            let index = git.map(Git::index).transpose()?.unwrap_or_default();
            more.extend(index.into_iter().filter(|(path, _)| asked.wants(path)));
        } else {
            let absent = Side { mode: Mode::File, blob: None };
            let files = self.files_of(root, asked, git)?;
            more.extend(files.into_iter().map(|path| (path, absent.clone())));
        }
        more.retain(|(path, _)| !taken.contains_key(path));
        // In a large repository this list is long: it is read only where something is compared with it.
        let before = if more.is_empty() { HashMap::new() } else { before(git, against)? };
        for (path, side) in more {
            if self.is_file(&path, side.mode) {
                let before = if before.contains_key(&path) { BaseContent::Same } else { BaseContent::Nothing };
                self.entries.push(Entry::new(
                    path,
                    side.blob.map_or(ContentSource::WorkTree, ContentSource::Blob),
                    before,
                ));
            }
        }
        Ok(())
    }

    /// Lists the files under the requested paths: for a folder those that git lists, and every file that was named
    /// itself.
    fn files_of(&mut self, root: &Path, asked: &RequestedPaths, git: Option<&Git>) -> Result<Vec<PathBuf>, Error> {
        let mut files: Vec<PathBuf> = asked.files().cloned().collect();
        if asked.folders().next().is_none() {
            return Ok(files);
        }
        let known = match git {
            Some(git) => git.all_files()?,
            None => Vec::new(),
        };
        for folder in asked.folders() {
            let before = files.len();
            files.extend(
                known.iter().filter(|path| path.starts_with(folder) && !path.to_string_lossy().ends_with('/')).cloned(),
            );
            if files.len() == before {
                let found = walk::files(root, folder, walk::Ignored::Taken);
                self.skipped.extend(found.skipped);
                files.extend(found.files);
            }
        }
        Ok(files)
    }

    fn is_file(&mut self, path: &Path, mode: Mode) -> bool {
        match mode {
            Mode::File => true,
            Mode::Symlink => self.skip(path, "a symbolic link, not followed"),
            Mode::Submodule => self.skip(path, "a submodule"),
            Mode::Absent => false,
        }
    }

    fn skip(&mut self, path: &Path, why: &str) -> bool {
        let path = path.to_string_lossy().into_owned();
        self.skipped.push(SkippedFile { path, why: why.into(), is_missing: false });
        false
    }

    /// Records a file of the change that can't be checked.
    fn miss(&mut self, path: &Path, why: &str) {
        let path = path.to_string_lossy().into_owned();
        self.skipped.push(SkippedFile { path, why: why.into(), is_missing: true });
    }
}

/// Returns the entries of a commit at some paths; queries git only for those that are not among the changes.
fn base_blobs(
    git: &Git,
    commit: &str,
    changes: &[Change],
    paths: &[(PathBuf, String)],
) -> Result<HashMap<PathBuf, String>, Error> {
    let known: HashMap<&Path, &Side> = changes.iter().map(|change| (change.path.as_path(), &change.before)).collect();
    let (mut blobs, mut unknown) = (HashMap::new(), Vec::new());
    for (path, _) in paths {
        match known.get(path.as_path()) {
            Some(side) if side.mode == Mode::File => blobs.extend(side.blob.clone().map(|blob| (path.clone(), blob))),
            Some(_) => {}
            None => unknown.push(path.as_path()),
        }
    }
    blobs.extend(git.blobs_at(commit, &unknown)?);
    Ok(blobs)
}

/// Reads a plain file of at most [`SETTING`] bytes; a device or a pipe that a repository links to is never opened.
fn read_small(path: &Path) -> Option<Vec<u8>> {
    let found = path.metadata().ok()?;
    if !found.is_file() || found.len() > SETTING {
        return None;
    }
    std::fs::read(path).ok()
}

/// Reads a file that excludes others from the checks, in the version of the base: a change must not excuse itself.
/// Without a base the work tree's version counts.
fn setting(root: &Path, blobs: Option<&Blobs>, against: &Comparison, path: &str) -> Result<String, Error> {
    let text = match (blobs, against) {
        (Some(blobs), Comparison::Commit { id, .. }) => match blobs.read(&format!("{id}:./{path}"))? {
            Blob::Content(text) => text,
            Blob::TooLarge | Blob::Missing => Vec::new(),
        },
        (Some(_), Comparison::Nothing | Comparison::UnbornIndex) | (None, _) => {
            read_small(&root.join(path)).unwrap_or_default()
        }
    };
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Returns the entries of the base by path, to tell unchanged files from new ones.
fn before(git: Option<&Git>, against: &Comparison) -> Result<HashMap<PathBuf, Side>, Error> {
    match (git, against) {
        (Some(git), Comparison::Commit { id, .. }) => Ok(git.tree(id)?.into_iter().collect()),
        (Some(_), Comparison::Nothing | Comparison::UnbornIndex) | (None, _) => Ok(HashMap::new()),
    }
}
