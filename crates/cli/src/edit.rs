//! Changes one entry in a settings file of another program: the rest stays byte for byte, a copy is kept, and the file
//! is replaced atomically.

pub(crate) mod jsonc;
pub(crate) mod toml;

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use switchboard_process::file::{self, Mode, Sync};
use switchboard_protocol::error::Failure;

/// Outcome of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Edited {
    /// The file already had the entry.
    Unchanged,
    /// The file was written; its previous content, if any, was copied.
    Written {
        /// Path of the copy.
        backup: Option<PathBuf>,
    },
}

/// Replaces a file's text with what `change` returns; a missing file counts as empty.
///
/// # Errors
/// The failure of `change`, in which case nothing is written; `io.denied` or `io.disk-full` when the file can't be.
pub(crate) fn file(path: &Path, change: impl FnOnce(&str) -> Result<String, Failure>) -> Result<Edited, Failure> {
    // A symlink stays a symlink: its target is changed.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let old = match fs::read_to_string(&target) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(failed(path, &error)),
    };
    let new = change(old.as_deref().unwrap_or_default())?;
    if old.as_deref() == Some(new.as_str()) {
        return Ok(Edited::Unchanged);
    }
    let backup = match &old {
        Some(text) => Some(keep(&target, text).map_err(|error| failed(path, &error))?),
        None => None,
    };
    let folder = target.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)
        .and_then(|()| file::replace(&target, new.as_bytes(), Mode::Kept, Sync::Yes))
        .map_err(|error| failed(path, &error))?;
    Ok(Edited::Written { backup })
}

/// Writes a copy beside the file, under the first free name.
fn keep(path: &Path, text: &str) -> io::Result<PathBuf> {
    for number in 0..1000 {
        let mut name = path.as_os_str().to_owned();
        name.push(if number == 0 { ".backup".to_owned() } else { format!(".backup{number}") });
        let copy = PathBuf::from(name);
        match OpenOptions::new().write(true).create_new(true).open(&copy) {
            Ok(mut file) => {
                fs::set_permissions(&copy, path.metadata()?.permissions())?;
                file.write_all(text.as_bytes())?;
                file.sync_all()?;
                return Ok(copy);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("there are a thousand copies already"))
}

/// Builds the failure for a file that can't be read or written.
fn failed(path: &Path, error: &io::Error) -> Failure {
    let code = if error.kind() == ErrorKind::StorageFull { "io.disk-full" } else { "io.denied" };
    Failure::new(code, format!("{} can't be read or written", path.display())).because(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(text: &str) -> impl FnOnce(&str) -> Result<String, Failure> {
        let text = text.to_owned();
        move |_| Ok(text)
    }

    #[test]
    fn keeps_a_copy_of_each_former_text_and_no_draft() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/settings.json");

        file(&path, to("one")).unwrap();
        file(&path, to("two")).unwrap();
        let last = file(&path, to("three")).unwrap();

        assert_eq!(fs::read_to_string(&path).unwrap(), "three");
        let Edited::Written { backup: Some(backup) } = last else { panic!("{last:?}") };
        assert_eq!(fs::read_to_string(backup).unwrap(), "two");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 3);
    }

    #[test]
    fn a_refused_change_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        fs::write(&path, "one").unwrap();

        let refused = file(&path, |_| Err(Failure::new("config.syntax", "no")));

        assert_eq!(refused.unwrap_err().code, "config.syntax");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_stays_a_link_and_permissions_stay() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&real, "one").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();

        file(&link, to("two")).unwrap();

        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "two");
        assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}
