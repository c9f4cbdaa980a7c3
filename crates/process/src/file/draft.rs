//! Drafts: files that are written beside their target path and moved there when complete.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A draft of a file that only its owner may read. It is removed if it is dropped before it is published.
#[derive(Debug)]
pub struct Draft {
    target: PathBuf,
    /// Path of the draft.
    path: PathBuf,
    /// True if the target path was free and an empty file reserves it.
    holds_place: bool,
}

// === impl Draft ===

impl Draft {
    /// Begins a draft for a path that is free, or that has a file of the user which `may_replace` accepts.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if anything else exists there, including a link; the error of the system.
    pub fn begin(path: &Path, may_replace: impl FnOnce(&Path) -> bool) -> io::Result<Self> {
        let reserved = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let holds_place = match reserved {
            Ok(_) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_own(path)? && may_replace(path) => false,
            Err(error) => return Err(error),
        };
        let begun = Self { target: path.to_owned(), path: super::draft_of(path), holds_place };
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&begun.path)?;
        Ok(begun)
    }

    /// Returns the path of the draft, which is an empty file at first.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the draft to its target path, durably when the call returns.
    ///
    /// # Errors
    /// The error of the system; the target is then unchanged.
    pub fn publish(mut self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()?;
        fs::rename(&self.path, &self.target)?;
        self.holds_place = false;
        let folder = self.target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After publishing there is no draft; before, the reason for the drop matters more than a leftover file.
        let _ = fs::remove_file(&self.path);
        if self.holds_place {
            let _ = fs::remove_file(&self.target);
        }
    }
}

/// Returns true if a path is a regular file of the user, and no link.
fn is_own(path: &Path) -> io::Result<bool> {
    let found = fs::symlink_metadata(path)?;
    Ok(found.is_file() && found.uid() == rustix::process::geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn what_was_there_is_replaced_only_by_a_published_draft_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");

        drop(Draft::begin(&path, |_| true).unwrap());
        assert!(names(folder.path()).is_empty());

        for text in ["first", "second"] {
            let draft = Draft::begin(&path, |_| true).unwrap();
            fs::write(draft.path(), text).unwrap();
            draft.publish().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        drop(Draft::begin(&path, |_| true).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(names(folder.path()), ["file"]);
    }

    #[test]
    fn what_may_not_be_replaced_and_links_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&path, "theirs").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();

        assert_eq!(Draft::begin(&path, |_| false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(Draft::begin(&link, |_| true).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(names(folder.path()), ["file", "link"]);
    }
}
