//! What surrounds the command: environment, folders, terminal. Read once; nothing else in this crate asks for it.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use switchboard_daemon::RootPaths;

/// The environment as they were when the command began.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    variables: Vec<(String, String)>,
    /// Where the command was typed.
    pub(crate) folder: PathBuf,
    /// The running binary.
    pub(crate) program: PathBuf,
    /// Whether standard input is a terminal: a question can be asked.
    pub(crate) stdin_is_terminal: bool,
    /// Whether standard output is a terminal: colours and bars make sense.
    pub(crate) stdout_is_terminal: bool,
    /// Whether standard error is a terminal.
    pub(crate) stderr_is_terminal: bool,
    /// Whether the command was told `--yes`.
    pub(crate) says_yes: bool,
    /// Where everything of the repository lies, once somebody has asked: git is started for it.
    pub(crate) place: OnceLock<RootPaths>,
}

impl Environment {
    /// Reads them. A folder or program that can't be told stays empty and fails where it is needed.
    pub(crate) fn read() -> Self {
        let text = |word: OsString| word.into_string().ok();
        Self {
            variables: std::env::vars_os().filter_map(|(k, v)| Some((text(k)?, text(v)?))).collect(),
            folder: std::env::current_dir().unwrap_or_default(),
            program: std::env::current_exe().unwrap_or_default(),
            stdin_is_terminal: std::io::stdin().is_terminal(),
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
            says_yes: false,
            place: OnceLock::new(),
        }
    }

    /// Whether this is a session of a CI service; they all set `CI`.
    pub(crate) fn is_ci(&self) -> bool {
        self.variable("CI").is_some_and(|value| !matches!(value, "0" | "false"))
    }

    /// An environment variable that is set and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.iter().find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }

    /// The id of the worker in whose process tree the command runs.
    pub(crate) fn worker(&self) -> Option<&str> {
        self.variable("SWITCHBOARD_WORKER")
    }

    /// The user's home folder.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.variable("HOME").map(PathBuf::from)
    }

    /// A folder of the XDG base directory specification, with `switchboard` at its end; relative values don't count.
    fn xdg(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let named = self.variable(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        named.or_else(|| self.home().map(|home| home.join(below_home))).map(|base| base.join("switchboard"))
    }

    /// Where the user's own settings lie.
    pub(crate) fn config_folder(&self) -> Option<PathBuf> {
        self.xdg("XDG_CONFIG_HOME", ".config")
    }

    /// Where state lies: one folder for each repository, and what the user trusts.
    pub(crate) fn state_folder(&self) -> Option<PathBuf> {
        self.xdg("XDG_STATE_HOME", ".local/state")
    }

    /// Where what can be found again is kept.
    pub(crate) fn cache_folder(&self) -> Option<PathBuf> {
        self.xdg("XDG_CACHE_HOME", ".cache")
    }

    /// Columns of the terminal that standard output is; `None` elsewhere.
    pub(crate) fn columns(&self) -> Option<usize> {
        self.stdout_is_terminal.then(|| self.columns_of(std::io::stdout())).flatten()
    }

    /// Columns of the terminal that standard error is; `None` elsewhere.
    pub(crate) fn error_columns(&self) -> Option<usize> {
        self.stderr_is_terminal.then(|| self.columns_of(std::io::stderr())).flatten()
    }

    fn columns_of(&self, terminal: impl AsFd) -> Option<usize> {
        let told = self.variable("COLUMNS").and_then(|columns| columns.parse().ok());
        let asked = || rustix::termios::tcgetwinsize(terminal).ok().map(|size| usize::from(size.ws_col));
        told.or_else(asked).filter(|columns| *columns >= 20)
    }

    /// Whether colours are unwanted (<https://no-color.org>).
    pub(crate) fn wants_no_color(&self) -> bool {
        self.variable("NO_COLOR").is_some() || self.variable("TERM") == Some("dumb")
    }

    /// Finds a program as a shell would.
    pub(crate) fn find_program(&self, name: &str) -> Option<PathBuf> {
        if name.contains('/') {
            let path = self.folder.join(name);
            return is_executable(&path).then_some(path);
        }
        let path = self.variable("PATH")?;
        std::env::split_paths(path).map(|folder| folder.join(name)).find(|file| is_executable(file))
    }

    /// All variables, for a child that is the same program under the same user.
    pub(crate) fn variables(&self) -> &[(String, String)] {
        &self.variables
    }

    /// The same environment with one variable set anew.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.retain(|(key, _)| key != name);
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// The same environment seen from another folder.
    #[must_use]
    pub(crate) fn in_folder(mut self, folder: &Path) -> Self {
        self.folder = folder.to_owned();
        self
    }
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_base_folders_do_not_count() {
        let here = Environment::default().with("HOME", "/home/ada").with("XDG_STATE_HOME", "state");

        assert_eq!(here.state_folder(), Some(PathBuf::from("/home/ada/.local/state/switchboard")));
    }

    #[test]
    fn an_absolute_base_folder_wins_over_the_home() {
        let here = Environment::default().with("HOME", "/home/ada").with("XDG_STATE_HOME", "/s");

        assert_eq!(here.state_folder(), Some(PathBuf::from("/s/switchboard")));
    }

    #[test]
    fn programs_are_found_on_the_path_and_folders_are_no_programs() {
        let here = Environment::default().with("PATH", "/nowhere:/bin:/usr/bin");

        assert!(here.find_program("sh").is_some());
        assert!(here.find_program("no-such-program-anywhere").is_none());
        assert!(here.clone().in_folder(Path::new("/")).find_program("./usr").is_none());
    }

    #[test]
    fn empty_variables_are_unset() {
        let here = Environment::default().with("NO_COLOR", "");

        assert!(!here.wants_no_color());
    }
}
