//! The home of a constrained worker: a separate folder with copies of the user's files that the agent's settings list.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path};

use crate::{Error, Result};

/// Maximum number and total size of copied files: logins and settings, not caches.
const MOST_FILES: usize = 1000;
const MOST_BYTES: u64 = 64 << 20;

/// Remaining budget for copied files.
struct Left {
    files: usize,
    bytes: u64,
}

/// Copies the listed files from the user's home into a worker's. Missing ones are left out, and so are symlinks, which would lead out of it.
///
/// # Errors
/// A path leads out of the home, the limits are exceeded, or a file can't be copied.
pub(super) fn fill(home: &Path, user: &Path, listed: &[String]) -> Result<()> {
    let mut left = Left { files: MOST_FILES, bytes: MOST_BYTES };
    for path in listed {
        let relative = Path::new(path);
        if !is_inside(relative) {
            return Err(Error::Spec { why: format!("{path:?} is no path inside the home") });
        }
        let failed = Error::io(format!("copy {} into the worker's home", user.join(relative).display()));
        copy(&user.join(relative), &home.join(relative), &mut left).map_err(failed)?;
    }
    Ok(())
}

fn is_inside(path: &Path) -> bool {
    let mut parts = path.components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

fn copy(from: &Path, to: &Path, left: &mut Left) -> io::Result<()> {
    let Ok(found) = fs::symlink_metadata(from) else { return Ok(()) };
    if found.is_dir() {
        fs::create_dir_all(to)?;
        return fs::read_dir(from)?.try_for_each(|entry| {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()), left)
        });
    }
    if !found.is_file() {
        return Ok(());
    }
    left.files = left.files.checked_sub(1).ok_or_else(|| too_much("files"))?;
    left.bytes = left.bytes.checked_sub(found.len()).ok_or_else(|| too_much("bytes"))?;
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    // An earlier worker in the same folder may have replaced it with a symlink.
    match fs::remove_file(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    fs::copy(from, to)?;
    fs::set_permissions(to, fs::Permissions::from_mode(0o600))
}

fn too_much(what: &str) -> io::Error {
    let most = format!("there are more than {MOST_FILES} files or {} MiB of them ({what})", MOST_BYTES >> 20);
    io::Error::new(io::ErrorKind::FileTooLarge, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_is_copied_and_links_and_ways_out_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let (user, home) = (folder.path().join("user"), folder.path().join("home"));
        fs::create_dir_all(user.join(".tool/deep")).unwrap();
        fs::create_dir(&home).unwrap();
        fs::write(user.join(".tool/deep/login.json"), "login").unwrap();
        fs::write(user.join(".tool/other"), "other").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", user.join(".tool/deep/link")).unwrap();
        let listed = |paths: &[&str]| fill(&home, &user, &paths.iter().map(ToString::to_string).collect::<Vec<_>>());

        listed(&[".tool/deep", ".missing"]).unwrap();

        assert_eq!(fs::read_to_string(home.join(".tool/deep/login.json")).unwrap(), "login");
        assert!(!home.join(".tool/other").exists() && !home.join(".tool/deep/link").exists());
        for bad in ["", "..", "../user/.tool", "/etc/passwd", ".tool/../../x"] {
            assert!(listed(&[bad]).is_err(), "{bad:?}");
        }
    }
}
