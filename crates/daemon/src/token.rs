//! The root's bearer token: a 0600 file, stable until it is rotated. Workers have tokens of their own.

use std::fs;
use std::path::{Path, PathBuf};

use protocol::error::Failure;

use crate::error::io;
use crate::{Error, project};

fn path(project: &Path) -> PathBuf {
    project.join("auth_token")
}

/// Reads the token, if there is one.
///
/// # Errors
/// When the file is there and can't be read.
pub fn read(project: &Path) -> Result<Option<String>, Error> {
    let path = path(project);
    match fs::read_to_string(&path) {
        Ok(text) if !text.trim().is_empty() => Ok(Some(text.trim().to_owned())),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io(&path)(error)),
    }
}

/// Reads the token, making one where there is none.
pub(crate) fn ensure(project: &Path) -> Result<String, Error> {
    match read(project)? {
        Some(token) => Ok(token),
        None => rotate(project),
    }
}

/// Makes a fresh token; the old one is worth nothing from the daemon's next look on.
///
/// # Errors
/// When the file can't be written.
pub fn rotate(project: &Path) -> Result<String, Error> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| Failure::new("internal.bug", format!("no random numbers: {error}")))?;
    let token = protocol::id::Digest(bytes).hex();
    project::write_private(&path(project), format!("{token}\n").as_bytes())?;
    Ok(token)
}

/// Compares two secrets without saying by its time where they differ.
pub(crate) fn same(a: &str, b: &str) -> bool {
    let (a, b) = (protocol::id::Digest::of(a.as_bytes()), protocol::id::Digest::of(b.as_bytes()));
    a.0.iter().zip(b.0).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}
