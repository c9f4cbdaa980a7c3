//! Confines paths from an agent or a script to its work tree.

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Resolves `path` to a file, if it lies in `root`, leads through no symbolic link out of it, and is not git's.
/// `path` may be relative to `root` or absolute.
///
/// # Errors
/// Why the file may not be used.
pub(crate) fn inside(root: &Path, path: &Path) -> Result<PathBuf, String> {
    let refused = |why: &str| Err(format!("{} {why}", path.display()));
    let Ok(real_root) = root.canonicalize() else { return refused("has no work tree to lie in") };
    let relative = match path.is_absolute() {
        true => path.strip_prefix(root).or_else(|_| path.strip_prefix(&real_root)),
        false => Ok(path),
    };
    let Ok(relative) = relative else { return refused("lies outside the work tree") };
    let is_plain = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !relative.components().all(|part| is_plain(&part)) || relative.file_name().is_none() {
        return refused("lies outside the work tree");
    }
    if relative.components().any(|part| part.as_os_str().eq_ignore_ascii_case(OsStr::new(".git"))) {
        return refused("belongs to git");
    }
    let full = real_root.join(relative);
    if fs::symlink_metadata(&full).is_ok_and(|found| found.is_symlink()) {
        return refused("is a symbolic link");
    }
    let nearest = full.ancestors().skip(1).find_map(|folder| folder.canonicalize().ok());
    if nearest.is_some_and(|folder| folder.starts_with(&real_root)) {
        return Ok(full);
    }
    refused("leads out of the work tree through a symbolic link")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_inside_are_found_and_every_way_out_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("tree");
        fs::create_dir_all(root.join("src")).unwrap();
        symlink("/etc", root.join("out")).unwrap();
        symlink("src", root.join("in")).unwrap();
        symlink("/etc/passwd", root.join("file")).unwrap();

        for good in ["a.txt", "src/new/deep.rs", "./src/x", "in/x", "..hidden"] {
            assert!(inside(&root, Path::new(good)).is_ok(), "{good}");
        }
        assert_eq!(inside(&root, &root.join("src/a")).unwrap(), root.join("src/a"));
        for bad in
            ["", ".", "..", "../x", "src/../../x", "/etc/passwd", "out/passwd", "file", ".git", "src/.GIT/config"]
        {
            assert!(inside(&root, Path::new(bad)).is_err(), "{bad}");
        }
    }
}
