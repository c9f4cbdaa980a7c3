//! Small files of ours, replaced atomically.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use switchboard_process::file::{self, Mode, Sync as Synced};
use switchboard_process::signal_files::{self, Found};
use switchboard_protocol::signal::SignalDone;

use crate::Error;
use crate::error::io;

/// Files in the state folder. All calls block.
pub(crate) trait Files: Send + Sync {
    /// Creates a folder that only the user can read, with its parents.
    fn make_folder(&self, path: &Path) -> Result<(), Error>;
    /// Removes a folder if it exists and is empty.
    fn remove_empty_folder(&self, path: &Path) -> Result<(), Error>;
    /// Returns true if the path is a folder.
    fn is_folder(&self, path: &Path) -> bool;
    /// Returns the names of what a folder holds, empty files, folders and links included; none if it does not exist.
    fn entries(&self, path: &Path) -> Result<Vec<PathBuf>, Error>;
    /// Writes a file that only the user can read.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Error>;
    /// Reads a file; `None` if there is none.
    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, Error>;
    /// Returns the next signals in a folder that are not recorded, in order.
    fn signals(&self, folder: &Path) -> Result<Vec<Found>, Error>;
    /// Marks that a signal is recorded, or why not.
    fn mark_signal(&self, folder: &Path, done: &SignalDone) -> Result<(), Error>;
    /// Removes a file if it exists.
    fn remove(&self, path: &Path) -> Result<(), Error>;
    /// Returns true if the disk of a path is full, which may be the cause of a failure there.
    fn is_full(&self, path: &Path) -> bool;
}

/// Free bytes below which a disk counts as full for the output of a set-up or a gate.
const FULL: u64 = 1 << 20;

/// Files on the disk.
pub(crate) struct Disk;

impl Files for Disk {
    fn make_folder(&self, path: &Path) -> Result<(), Error> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(io(path))
    }

    fn remove_empty_folder(&self, path: &Path) -> Result<(), Error> {
        use std::io::ErrorKind::{DirectoryNotEmpty, NotFound};
        match fs::remove_dir(path) {
            Err(error) if !matches!(error.kind(), NotFound | DirectoryNotEmpty) => Err(io(path)(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn is_folder(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn entries(&self, path: &Path) -> Result<Vec<PathBuf>, Error> {
        let names = match fs::read_dir(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.and_then(|entries| entries.map(|entry| Ok(entry?.file_name().into())).collect()),
        };
        names.map_err(io(path))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        file::replace(path, bytes, Mode::Private, Synced::Yes).map_err(io(path))
    }

    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, Error> {
        match fs::read(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io(path)(error)),
        }
    }

    fn signals(&self, folder: &Path) -> Result<Vec<Found>, Error> {
        signal_files::read(folder, 0, signal_files::DAEMON).map_err(io(folder))
    }

    fn mark_signal(&self, folder: &Path, done: &SignalDone) -> Result<(), Error> {
        signal_files::mark(folder, done).map_err(io(folder))
    }

    fn remove(&self, path: &Path) -> Result<(), Error> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io(path)(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn is_full(&self, path: &Path) -> bool {
        file::room(path).is_some_and(|room| room < FULL)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use switchboard_protocol::signal::SignalKind;
    use switchboard_protocol::time::Millis;

    use super::*;

    #[test]
    fn files_and_folders_are_the_users_alone_and_gone_ones_are_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let (below, file) = (folder.path().join("a/b"), folder.path().join("a/b/c"));
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;

        assert!(!Disk.is_folder(&below));
        Disk.make_folder(&below).unwrap();
        Disk.make_folder(&below).unwrap();
        Disk.write(&file, b"one").unwrap();
        Disk.write(&file, b"two").unwrap();

        assert!(Disk.is_folder(&below) && !Disk.is_folder(&file));
        assert_eq!((mode(&below), mode(&file)), (0o700, 0o600));
        assert_eq!(Disk.read(&file).unwrap().as_deref(), Some(&b"two"[..]));
        Disk.remove_empty_folder(&below).unwrap();
        assert!(Disk.is_folder(&below), "it is not empty");
        Disk.remove(&file).unwrap();
        Disk.remove(&file).unwrap();
        assert_eq!(Disk.read(&file).unwrap(), None);
        Disk.remove_empty_folder(&below).unwrap();
        Disk.remove_empty_folder(&below).unwrap();
        assert!(!Disk.is_folder(&below));
    }

    #[test]
    fn a_folder_holds_what_has_no_bytes_too() {
        let folder = tempfile::tempdir().unwrap();
        let inside = |name: &str| folder.path().join(name);
        assert_eq!(Disk.entries(folder.path()).unwrap(), Vec::<PathBuf>::new());

        Disk.write(&inside("empty"), b"").unwrap();
        Disk.make_folder(&inside("folder")).unwrap();
        std::os::unix::fs::symlink("/nowhere", inside("link")).unwrap();

        let mut names = Disk.entries(folder.path()).unwrap();
        names.sort();
        assert_eq!(names, ["empty", "folder", "link"].map(PathBuf::from));
        assert_eq!(Disk.entries(&inside("gone")).unwrap(), Vec::<PathBuf>::new());
    }

    #[test]
    fn what_stands_in_the_way_is_an_error_with_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        Disk.write(&file, b"x").unwrap();

        let errors = [
            Disk.make_folder(&file.join("below")).unwrap_err(),
            Disk.remove_empty_folder(&file).unwrap_err(),
            Disk.remove(folder.path()).unwrap_err(),
            Disk.read(folder.path()).unwrap_err(),
            Disk.write(&file.join("below"), b"x").unwrap_err(),
        ];

        for error in errors {
            assert!(error.to_string().contains(&folder.path().display().to_string()), "{error}");
        }
    }

    #[test]
    fn signals_are_returned_from_the_first_one_on_until_they_are_marked() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("signals");
        assert!(Disk.signals(&folder).unwrap().is_empty());
        for kind in [SignalKind::Pause, SignalKind::Resume] {
            signal_files::write(&folder, kind, None, "ann", Millis(5)).unwrap();
        }
        let numbers = || Disk.signals(&folder).unwrap().iter().map(|found| found.n).collect::<Vec<_>>();
        assert_eq!(numbers(), [1, 2]);

        let by = signal_files::DAEMON.to_owned();
        Disk.mark_signal(&folder, &SignalDone { n: 1, by, refused: String::new(), at: Millis(6) }).unwrap();

        assert_eq!(numbers(), [2]);
    }

    #[test]
    fn a_disk_without_room_is_full() {
        let folder = tempfile::tempdir().unwrap();

        // The file system of the kernel's processes has no room for files.
        assert!(Disk.is_full(Path::new("/proc")));
        assert!(!Disk.is_full(folder.path()));
    }
}
