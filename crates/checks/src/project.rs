//! Detects from a folder's files how it is linted, built and tested.
//!
//! Detection runs nothing. A tool that is configured but not installed is reported as such, never as one that found
//! nothing.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::selection::walk;

pub(crate) mod build;
#[cfg(test)]
mod fixture;
pub(crate) mod lint;
mod package;
pub(crate) mod related;
pub(crate) mod test;

/// Maximum size of a settings file that is read, in bytes.
const SETTINGS_BYTES: u64 = 1 << 20;

/// A folder and the files that show its tools.
pub(crate) struct Project {
    root: PathBuf,
    package: OnceCell<Value>,
    composer: OnceCell<Value>,
    files: OnceCell<Vec<String>>,
}

/// A command that the folder's files imply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tool {
    /// Name of the tool, such as `eslint`.
    pub(crate) name: &'static str,
    pub(crate) argv: Vec<String>,
}

/// Result of a search for a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Search {
    Found(Tool),
    /// The tool is configured here, but its program is missing; holds the program's name.
    NotInstalled(&'static str),
    /// The tool is configured here, but a step before it was not done; holds that step.
    NotConfigured(&'static str),
    Nothing,
}

// === impl Search ===

impl Search {
    /// Changes the tool, if one was found.
    pub(crate) fn map(self, change: impl FnOnce(Tool) -> Tool) -> Self {
        match self {
            Self::Found(tool) => Self::Found(change(tool)),
            Self::NotInstalled(_) | Self::NotConfigured(_) | Self::Nothing => self,
        }
    }
}

// === impl Tool ===

impl Tool {
    pub(crate) fn new(name: &'static str, words: &[&str]) -> Self {
        Self { name, argv: words.iter().map(|word| (*word).to_owned()).collect() }
    }

    /// Returns a tool whose program lies at a path.
    pub(crate) fn at(name: &'static str, program: String, words: &[&str]) -> Self {
        let argv = std::iter::once(program).chain(words.iter().map(|word| (*word).to_owned())).collect();
        Self { name, argv }
    }

    pub(crate) fn with<S: Into<String>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        self.argv.extend(words.into_iter().map(Into::into));
        self
    }
}

// === impl Project ===

impl Project {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), package: OnceCell::new(), composer: OnceCell::new(), files: OnceCell::new() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn has(&self, file: &str) -> bool {
        self.root.join(file).is_file()
    }

    pub(crate) fn has_any(&self, files: &[&str]) -> bool {
        files.iter().any(|file| self.has(file))
    }

    /// Returns whether a file directly in the folder has one of these endings.
    pub(crate) fn has_ending(&self, endings: &[&str]) -> bool {
        let entries = std::fs::read_dir(&self.root).into_iter().flatten().flatten();
        entries.take(10_000).any(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            endings.iter().any(|ending| name.ends_with(ending))
        })
    }

    /// Returns the text of a settings file; empty if there is none, or if it is too large for one.
    pub(crate) fn text(&self, file: &str) -> String {
        let path = self.root.join(file);
        let is_fit = path.metadata().is_ok_and(|data| data.is_file() && data.len() <= SETTINGS_BYTES);
        if is_fit { std::fs::read_to_string(path).unwrap_or_default() } else { String::new() }
    }

    pub(crate) fn says(&self, file: &str, word: &str) -> bool {
        self.text(file).contains(word)
    }

    /// Returns the whole `package.json`; `null` if there is none.
    pub(crate) fn package(&self) -> &Value {
        self.package.get_or_init(|| serde_json::from_str(&self.text("package.json")).unwrap_or(Value::Null))
    }

    /// Returns a script of `package.json`, unless it is the stub of `npm init`.
    pub(crate) fn script(&self, name: &str) -> Option<&str> {
        let script = self.package()["scripts"][name].as_str()?;
        (!script.trim().is_empty() && !script.contains("no test specified")).then_some(script)
    }

    /// Returns the first of these names that `composer.json` has a script for.
    pub(crate) fn composer_script(&self, names: &[&'static str]) -> Option<&'static str> {
        let scripts =
            self.composer.get_or_init(|| serde_json::from_str(&self.text("composer.json")).unwrap_or(Value::Null));
        names.iter().copied().find(|name| !scripts["scripts"][*name].is_null())
    }

    /// Returns the top-most .NET solution or project file, a solution before a project.
    pub(crate) fn dotnet(&self) -> Option<&str> {
        const ENDINGS: [&[&str]; 2] = [&[".sln", ".slnx"], &[".csproj", ".fsproj"]];
        ENDINGS.iter().find_map(|endings| {
            let fits = self.files().iter().filter(|path| endings.iter().any(|ending| path.ends_with(ending)));
            fits.min_by_key(|path| (path.matches('/').count(), path.len())).map(String::as_str)
        })
    }

    /// Returns whether `package.json` names a dependency.
    pub(crate) fn depends_on(&self, name: &str) -> bool {
        ["dependencies", "devDependencies", "peerDependencies"]
            .iter()
            .any(|group| self.package()[group].get(name).is_some())
    }

    /// Runs a script by the package manager whose lock file is there.
    pub(crate) fn run_script(&self, tool: &'static str, script: &str) -> Search {
        let manager = if self.has("pnpm-lock.yaml") {
            "pnpm"
        } else if self.has("yarn.lock") {
            "yarn"
        } else if self.has_any(&["bun.lock", "bun.lockb"]) {
            "bun"
        } else {
            "npm"
        };
        let words: &[&str] = if manager == "yarn" { &["run", script] } else { &["run", "--silent", script] };
        installed(tool, manager, words)
    }

    /// Finds a program in `node_modules/.bin` of the folder or of one above it, up to the repository.
    pub(crate) fn local_bin(&self, name: &str) -> Option<String> {
        let mut folder = self.root.as_path();
        loop {
            let bin = folder.join("node_modules/.bin").join(name);
            if bin.is_file() {
                return Some(bin.to_string_lossy().into_owned());
            }
            if folder.join(".git").exists() {
                return None;
            }
            folder = folder.parent()?;
        }
    }

    /// Returns every file that is not ignored, relative to the folder.
    pub(crate) fn files(&self) -> &[String] {
        self.files.get_or_init(|| {
            let found = walk::files(&self.root, Path::new(""), walk::Ignored::LeftOut).files;
            let mut files: Vec<String> = found.iter().map(|path| path.to_string_lossy().into_owned()).collect();
            files.sort();
            files
        })
    }
}

/// Returns a tool on the search path, or the name of the missing program.
pub(crate) fn installed(name: &'static str, program: &str, words: &[&str]) -> Search {
    if switchboard_process::spawn::which(program).is_some() {
        Search::Found(Tool::at(name, program.to_owned(), words))
    } else {
        Search::NotInstalled(name)
    }
}

/// Returns the project's own wrapper if it has one, else the program.
pub(crate) fn wrapped(project: &Project, wrapper: &str, name: &'static str, program: &str, words: &[&str]) -> Search {
    if project.has(wrapper) {
        return Search::Found(Tool::at(name, format!("./{wrapper}"), words));
    }
    installed(name, program, words)
}
