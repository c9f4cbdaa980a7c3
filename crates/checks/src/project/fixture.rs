//! A project on disk, for tests.

use super::Project;

/// Creates a project with these files in a new folder.
pub(crate) fn project(files: &[(&str, &str)]) -> (tempfile::TempDir, Project) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let project = Project::new(folder.path());
    (folder, project)
}
