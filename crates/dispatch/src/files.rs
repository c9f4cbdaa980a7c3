//! Small files of ours: written whole or not at all.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use crate::Error;
use crate::error::io;

/// Makes a folder that only the user can read, with its parents.
pub(crate) fn private_folder(path: &Path) -> Result<(), Error> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(io(path))
}

/// Writes a file that only the user can read: beside it, synced, then renamed.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let beside = path.with_extension("tmp");
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&beside)
        .map_err(io(&beside))?;
    file.write_all(bytes).map_err(io(&beside))?;
    file.sync_data().map_err(io(&beside))?;
    fs::rename(&beside, path).map_err(io(path))
}

/// Reads a file, or nothing when there is none.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io(path)(error)),
    }
}

/// Removes a file, which may be gone already.
pub(crate) fn remove_if_there(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(io(path)(error)),
    }
}
