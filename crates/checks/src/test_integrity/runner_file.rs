//! Classifies by name the files that a test runner loads.

use super::changed_file::ChangedFile;
use super::hit::{Consequence, Hit};
use super::paths;

/// Kind of file that a runner loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunnerFile {
    /// `conftest.py`
    Conftest,
    /// File that Python loads before anything else: `sitecustomize.py`, `*.pth`.
    Startup,
    /// A module with the name of one that a runner imports.
    Shadow,
    /// `pytest.ini`, `setup.cfg`, `tox.ini`
    Ini,
    /// `pyproject.toml`
    Pyproject,
    /// `package.json`
    PackageJson,
    /// `.npmrc`
    Npmrc,
    /// Configuration of a JavaScript test runner or of its compiler.
    JavaScript,
    /// `build.rs`
    BuildRs,
    /// `.cargo/config.toml`
    CargoConfig,
    /// `Cargo.toml`
    CargoToml,
    /// `rust-toolchain.toml`
    Toolchain,
}

/// Modules that runners import by name; one in the repository is found first.
const SHADOWED: [&str; 22] = [
    "unittest",
    "pytest",
    "_pytest",
    "pluggy",
    "iniconfig",
    "doctest",
    "nose",
    "coverage",
    "tox",
    "site",
    "runpy",
    "traceback",
    "difflib",
    "warnings",
    "argparse",
    "importlib",
    "inspect",
    "functools",
    "logging",
    "signal",
    "re",
    "packaging",
];
const SCRIPT_CONFIGS: [&str; 11] = [
    "jest.config",
    "vitest.config",
    "vitest.workspace",
    "vite.config",
    "ava.config",
    "karma.conf",
    "playwright.config",
    "babel.config",
    "cypress.config",
    "jasmine",
    "wallaby",
];

// === impl RunnerFile ===

impl RunnerFile {
    pub(super) fn of(path: &str) -> Option<Self> {
        let name = paths::name(path);
        let folder = path[..path.len() - name.len()].trim_end_matches('/');
        let is_top = folder.is_empty() || folder == "src" || folder == "lib";
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let is_script = [".js", ".cjs", ".mjs", ".ts", ".mts", ".cts", ".json"].iter().any(|end| name.ends_with(end));
        Some(match name {
            "conftest.py" => Self::Conftest,
            "sitecustomize.py" | "usercustomize.py" => Self::Startup,
            _ if name.ends_with(".pth") && is_top => Self::Startup,
            "pytest.ini" | ".pytest.ini" | "setup.cfg" | "tox.ini" => Self::Ini,
            "pyproject.toml" | "pytest.toml" => Self::Pyproject,
            "package.json" => Self::PackageJson,
            ".npmrc" | ".yarnrc" | ".yarnrc.yml" => Self::Npmrc,
            "build.rs" => Self::BuildRs,
            "Cargo.toml" => Self::CargoToml,
            "config.toml" | "config" if folder.ends_with(".cargo") => Self::CargoConfig,
            "rust-toolchain" | "rust-toolchain.toml" => Self::Toolchain,
            _ if name.starts_with(".mocharc")
                || name.starts_with(".babelrc")
                || name.starts_with(".nycrc")
                || name.starts_with(".taprc") =>
            {
                Self::JavaScript
            }
            _ if is_script && SCRIPT_CONFIGS.iter().any(|config| name.starts_with(config)) => Self::JavaScript,
            _ if name.ends_with(".py") && is_top && SHADOWED.contains(&stem) => Self::Shadow,
            "__init__.py" if SHADOWED.contains(&folder.trim_start_matches("src/")) => Self::Shadow,
            _ => return None,
        })
    }
}

/// Makes a hit about a whole file.
pub(super) fn whole(file: &ChangedFile, consequence: Consequence, what: &str) -> Hit {
    let state = match (file.is_new(), file.is_deleted()) {
        (true, _) => "the new file",
        (_, true) => "the deleted file",
        (false, false) => "the changed file",
    };
    let message = format!("{state} `{}` {what}", file.name());
    Hit::new("runner-file", consequence, &file.path, 0..0, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_runners_load_are_known_by_their_names() {
        let of = |path| RunnerFile::of(path);

        assert_eq!(of("tests/conftest.py"), Some(RunnerFile::Conftest));
        assert_eq!(of("unittest/__init__.py"), Some(RunnerFile::Shadow));
        assert_eq!(of("a/.cargo/config.toml"), Some(RunnerFile::CargoConfig));
        assert_eq!(of("jest.config.mjs"), Some(RunnerFile::JavaScript));
        assert_eq!(
            (of("config.toml"), of("pkg/logging.py"), of("models/weights.pth"), of("jest.config.md")),
            (None, None, None, None)
        );
    }
}
