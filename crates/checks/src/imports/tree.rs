//! Names of the files of a commit, or of the work tree.

use std::collections::BTreeSet;

use crate::error::Error;
use crate::git::Git;
use crate::reader::shown;

/// Files and folders of a tree.
pub(super) struct Tree {
    files: BTreeSet<String>,
    folders: BTreeSet<String>,
}

// === impl Tree ===

impl Tree {
    pub(super) fn read(git: &Git, commit: Option<&str>) -> Result<Self, Error> {
        let files: BTreeSet<String> = match commit {
            Some(commit) => git.tree(commit)?.into_iter().map(|(path, _)| shown(&path)).collect(),
            None => git.all_files()?.iter().map(|path| shown(path)).collect(),
        };
        Ok(Self::of(files))
    }

    pub(super) fn of(files: BTreeSet<String>) -> Self {
        let mut folders = BTreeSet::new();
        for file in &files {
            folders.extend(file.match_indices('/').map(|(at, _)| file[..at].to_owned()));
        }
        Self { files, folders }
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    pub(super) fn has_file(&self, path: &str) -> bool {
        self.files.contains(path)
    }

    pub(super) fn has_folder(&self, path: &str) -> bool {
        self.folders.contains(path)
    }

    /// Returns whether any file or folder has this name, ignoring the ending.
    pub(super) fn has_named(&self, name: &str) -> bool {
        let is_last = |path: &str| path.rsplit('/').next().is_some_and(|last| last == name);
        let stem = |file: &&String| {
            let last = file.rsplit('/').next().unwrap_or(file);
            last.split('.').next() == Some(name)
        };
        self.folders.iter().any(|folder| is_last(folder)) || self.files.iter().any(|file| stem(&file))
    }
}

/// Returns the folder of a file, without a trailing `/`.
pub(super) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Joins a folder and a relative path; `None` where it leads out of the tree.
pub(super) fn join(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
