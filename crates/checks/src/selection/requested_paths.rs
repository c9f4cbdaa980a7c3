//! Resolves the paths of a request relative to the root.

use std::path::{Component, Path, PathBuf};

use crate::error::Error;

/// Paths that a request names; if it names none, all are wanted.
pub(crate) struct RequestedPaths {
    everything: bool,
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

impl RequestedPaths {
    /// Resolves the paths of a request. A missing path and one outside the root become problems, the others are kept.
    pub(crate) fn new(root: &Path, paths: &[String], problems: &mut Vec<Error>) -> Self {
        let mut asked = Self { everything: paths.is_empty(), files: Vec::new(), folders: Vec::new() };
        for path in paths {
            match resolve(root, path) {
                Ok(relative) if is_folder(&root.join(&relative)) => asked.folders.push(relative),
                Ok(relative) => asked.files.push(relative),
                Err(problem) => problems.push(problem),
            }
        }
        asked
    }

    pub(crate) const fn is_everything(&self) -> bool {
        self.everything
    }

    pub(crate) fn wants(&self, path: &Path) -> bool {
        self.everything
            || self.files.iter().any(|file| file == path)
            || self.folders.iter().any(|folder| path.starts_with(folder))
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.iter()
    }

    pub(crate) fn folders(&self) -> impl Iterator<Item = &PathBuf> {
        self.folders.iter()
    }
}

/// Returns whether a path is a folder; a link to one is not.
fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|kind| kind.is_dir())
}

/// Makes a path relative to the root. Its resolved folder must lie inside; the file itself may be a link and is not
/// followed.
fn resolve(root: &Path, asked: &str) -> Result<PathBuf, Error> {
    let shown: String = asked.chars().take(300).collect();
    if asked.contains('\0') || asked.len() > 4096 {
        return Err(Error::PathMissing { path: shown.replace('\0', "␀") });
    }
    let full = tidy(&root.join(asked));
    let inside = match (full.parent(), full.file_name()) {
        _ if full == root => root.to_owned(),
        (Some(folder), Some(name)) => match folder.canonicalize() {
            Ok(folder) => folder.join(name),
            Err(_unreadable) if !full.starts_with(root) => {
                return Err(Error::PathOutside { path: shown });
            }
            Err(_unreadable) => return Err(Error::PathMissing { path: shown }),
        },
        (_, _) => return Err(Error::PathOutside { path: shown }),
    };
    let inside = match inside.strip_prefix(root) {
        Ok(relative) => relative.to_owned(),
        // The root itself may be requested through a link.
        Err(_outside) => match full.canonicalize() {
            Ok(real) if real == root => PathBuf::new(),
            Ok(_) | Err(_) => return Err(Error::PathOutside { path: shown }),
        },
    };
    match root.join(&inside).symlink_metadata() {
        Ok(_) => Ok(inside),
        Err(_missing) => Err(Error::PathMissing { path: shown }),
    }
}

/// Removes `.` and resolves `..` textually.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                tidy.pop();
            }
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => tidy.push(part),
        }
    }
    tidy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_outside_and_missing_ones_are_named_and_the_rest_holds() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("root");
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::write(root.join("a.rs"), "").unwrap();
        std::fs::write(dir.path().join("secret.rs"), "").unwrap();
        std::os::unix::fs::symlink(dir.path(), root.join("out")).unwrap();
        let mut problems = Vec::new();

        let asked = ["a.rs", "./src/../src", "../secret.rs", "out/secret.rs", "/etc/passwd", "none.rs"];
        let asked = RequestedPaths::new(&root, &asked.map(String::from), &mut problems);

        assert_eq!(asked.files, [PathBuf::from("a.rs")]);
        assert_eq!(asked.folders, [PathBuf::from("src")]);
        let codes: Vec<_> = problems.iter().map(Error::code).collect();
        assert_eq!(codes, ["check.outside-root", "check.outside-root", "check.outside-root", "check.path-missing"]);
    }
}
