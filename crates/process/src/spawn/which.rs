//! Finds programs on a `PATH`.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Returns the file that a program's name stands for on our own `PATH`; `None` if it is not installed.
#[must_use]
pub fn which(program: &str) -> Option<PathBuf> {
    find(program, crate::env::var("PATH").as_deref(), None)
}

/// Finds a program. A name with a slash is a path, relative to `cwd`. Relative entries of `PATH` are skipped: a repository must not be able
/// to put its own `git` before the user's.
pub(super) fn find(program: &str, path: Option<&str>, cwd: Option<&Path>) -> Option<PathBuf> {
    if program.contains('/') {
        let file = cwd.map_or_else(|| PathBuf::from(program), |cwd| cwd.join(program));
        let file = std::path::absolute(file).ok()?;
        return is_program(&file).then_some(file);
    }
    let folders = std::env::split_paths(path?);
    folders.filter(|folder| folder.is_absolute()).map(|folder| folder.join(program)).find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn finds_executables_only_and_never_through_a_relative_entry() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tool");
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        let path = folder.path().to_str().unwrap();

        assert_eq!(find("tool", Some(path), None), None, "not executable yet");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find("tool", Some(path), None), Some(file.clone()));
        assert_eq!(find("./tool", None, Some(folder.path())).map(|f| f.is_file()), Some(true));
        assert_eq!(find("tool", Some(".:"), Some(folder.path())), None);
        assert_eq!(find("tool", None, None), None);
        assert_eq!(find(path, None, None), None, "a folder is not a program");
    }
}
