//! The repository's own build, which runs only when somebody asks for it.

use std::path::Path;

use protocol::error::Failure;
use protocol::finding::{CheckCommand, CommandKind};

/// Files that tell how a repository is built, and the command that does it.
const BUILDS: &[(&str, &[&str])] = &[
    ("Cargo.toml", &["cargo", "check", "--quiet", "--all-targets"]),
    ("go.mod", &["go", "build", "./..."]),
    ("tsconfig.json", &["npx", "--no-install", "tsc", "--noEmit"]),
    ("package.json", &["npm", "run", "--silent", "build"]),
    ("pyproject.toml", &["python3", "-m", "compileall", "-q", "."]),
];

/// The command for a folder.
///
/// # Errors
/// `request.bad-args` when nothing in it says how it is built.
pub(super) fn command(root: &Path) -> Result<CheckCommand, Failure> {
    let found = BUILDS.iter().find(|(file, _)| root.join(file).is_file());
    let (_, argv) = found.ok_or_else(|| {
        let names: Vec<_> = BUILDS.iter().map(|(file, _)| *file).collect();
        Failure::new("request.bad-args", "nothing here says how it is built")
            .at(root.display().to_string())
            .hint(format!("--build knows {}", names.join(", ")))
    })?;
    let argv = argv.iter().map(|&word| word.to_owned()).collect();
    Ok(CheckCommand { kind: CommandKind::Build, argv, cwd: None, time_limit_s: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_says_nothing_has_no_build() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(command(folder.path()).unwrap_err().code, "request.bad-args");

        std::fs::write(folder.path().join("Cargo.toml"), "").unwrap();
        assert_eq!(command(folder.path()).unwrap().argv[0], "cargo");
    }
}
