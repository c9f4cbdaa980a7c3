//! Atomic replacement of files: a reader sees the old content or the new one, never a part.

mod draft;

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

pub use draft::Draft;

/// Permissions of the new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Readable and writable only by its owner.
    Private,
    /// Readable and executable by everybody, writable by its owner.
    Program,
    /// As the file that it replaces; private if there was none.
    Kept,
}

/// Whether the new content survives a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// The content and the name are on the disk when the call returns.
    Yes,
    /// For files that can be recreated: a power cut may leave the old file, or an empty one.
    No,
}

/// Returns the free space for the user on the disk of a path, in bytes; for a path that does not exist, on the disk that it would be on.
/// `None` if unknown.
#[must_use]
pub fn room(path: &Path) -> Option<u64> {
    let there = path.ancestors().find(|ancestor| ancestor.exists())?;
    let stat = rustix::fs::statvfs(there).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Replaces a file: writes a draft beside it, then renames it. The draft is removed if that fails.
///
/// # Errors
/// The error of the system; the file is then unchanged.
pub fn replace(path: &Path, content: &[u8], mode: Mode, sync: Sync) -> io::Result<()> {
    let draft = draft_of(path);
    let done = write(&draft, path, content, mode, sync).and_then(|()| fs::rename(&draft, path));
    if let Err(error) = done {
        // The draft may not exist, and the first error is the one to report.
        let _ = fs::remove_file(&draft);
        return Err(error);
    }
    match (sync, path.parent()) {
        (Sync::Yes, Some(folder)) => File::open(folder)?.sync_all(),
        (Sync::Yes, None) | (Sync::No, _) => Ok(()),
    }
}

/// Creates a file that only its owner may read, unless it exists: of several processes that create it at once, one wins. Returns true if it
/// was created.
///
/// # Errors
/// The error of the system.
pub fn create(path: &Path, content: &[u8]) -> io::Result<bool> {
    let draft = draft_of(path);
    let linked = write(&draft, path, content, Mode::Private, Sync::Yes).and_then(|()| fs::hard_link(&draft, path));
    // Only the link matters.
    let _ = fs::remove_file(&draft);
    match linked {
        Ok(()) => path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all()).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the total size of all files in a folder and below it, in bytes; `None` if the folder does not exist. Links are not followed,
/// and files that vanish meanwhile are not counted.
///
/// # Errors
/// When an existing folder can't be read.
pub fn bytes_below(folder: &Path) -> io::Result<Option<u64>> {
    let mut bytes = 0;
    let mut folders = Vec::new();
    if !add_bytes_in(folder, &mut bytes, &mut folders)? {
        return Ok(None);
    }
    while let Some(folder) = folders.pop() {
        add_bytes_in(&folder, &mut bytes, &mut folders)?;
    }
    Ok(Some(bytes))
}

/// Adds the sizes of the files in a folder, and notes its subfolders; returns false if the folder does not exist or vanished meanwhile.
fn add_bytes_in(folder: &Path, bytes: &mut u64, folders: &mut Vec<PathBuf>) -> io::Result<bool> {
    let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let entries = match fs::read_dir(folder) {
        Err(error) if is_gone(&error) => return Ok(false),
        entries => entries?,
    };
    for entry in entries {
        let entry = match entry {
            Err(error) if is_gone(&error) => return Ok(false),
            entry => entry?,
        };
        let Ok(found) = entry.metadata() else { continue };
        if found.is_dir() {
            folders.push(entry.path());
        } else {
            *bytes += found.len();
        }
    }
    Ok(true)
}

/// Returns a name that no other draft has, in this process or another.
fn draft_of(path: &Path) -> PathBuf {
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".new-{}-{number}", std::process::id()));
    path.with_file_name(name)
}

/// Writes the draft, readable only by its owner until the content is complete.
fn write(draft: &Path, path: &Path, content: &[u8], mode: Mode, sync: Sync) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(draft)?;
    file.write_all(content)?;
    match mode {
        Mode::Private => {}
        Mode::Program => file.set_permissions(Permissions::from_mode(0o755))?,
        Mode::Kept => {
            if let Ok(before) = path.metadata() {
                file.set_permissions(before.permissions())?;
            }
        }
    }
    match sync {
        Sync::Yes => file.sync_all(),
        Sync::No => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode_of(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_content_is_replaced_and_no_draft_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        fs::write(&path, "old").unwrap();

        replace(&path, b"new", Mode::Private, Sync::Yes).unwrap();

        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(mode_of(&path), 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_tree_that_is_removed_while_it_is_measured_is_no_failure() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        assert_eq!(bytes_below(&tree).unwrap(), None);
        let is_over = std::sync::atomic::AtomicBool::new(false);

        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..300 {
                    for name in ["a/b", "c/d", "e/f"] {
                        fs::create_dir_all(tree.join(name)).unwrap();
                        fs::write(tree.join(name).join("file"), "12345678").unwrap();
                    }
                    fs::remove_dir_all(&tree).unwrap();
                }
                is_over.store(true, Ordering::Relaxed);
            });
            while !is_over.load(Ordering::Relaxed) {
                assert!(bytes_below(&tree).unwrap().unwrap_or_default() <= 24);
            }
        });

        fs::create_dir_all(tree.join("a")).unwrap();
        fs::write(tree.join("a/file"), "12345678").unwrap();
        assert_eq!(bytes_below(&tree).unwrap(), Some(8));
    }

    #[test]
    fn of_many_who_make_a_file_at_once_one_wins() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");

        let made = std::thread::scope(|scope| {
            let makers: Vec<_> = (0..8)
                .map(|number| {
                    (
                        number,
                        scope.spawn({
                            let path = &path;
                            move || create(path, &[number]).unwrap()
                        }),
                    )
                })
                .collect();
            makers.into_iter().filter_map(|(number, made)| made.join().unwrap().then_some(number)).collect::<Vec<u8>>()
        });

        assert_eq!(fs::read(&path).unwrap(), made);
        assert_eq!((made.len(), mode_of(&path)), (1, 0o600));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft stays");
    }

    #[test]
    fn permissions_are_kept_where_that_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();

        replace(&path, b"new", Mode::Kept, Sync::No).unwrap();

        assert_eq!(mode_of(&path), 0o640);
        replace(&path, b"new", Mode::Program, Sync::No).unwrap();
        assert_eq!(mode_of(&path), 0o755);
    }

    #[test]
    fn a_file_that_can_not_be_replaced_stays_and_so_does_no_draft() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::create_dir(&path).unwrap();

        replace(&path, b"new", Mode::Private, Sync::No).unwrap_err();

        assert!(path.is_dir());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
