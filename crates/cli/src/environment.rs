//! The command's environment: variables, folders, terminal. Read once; nothing else in this crate reads it.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use switchboard_daemon::RootPaths;
use switchboard_process::env::PROXIES;

/// Environment as it was when the command began.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    variables: Vec<(String, String)>,
    /// Current folder of the command.
    pub(crate) folder: PathBuf,
    /// Path of the running binary.
    pub(crate) program: PathBuf,
    /// True if standard input is a terminal, so that a question can be asked.
    pub(crate) stdin_is_terminal: bool,
    /// True if standard output is a terminal, so that colours and bars make sense.
    pub(crate) stdout_is_terminal: bool,
    /// True if standard error is a terminal.
    pub(crate) stderr_is_terminal: bool,
    /// True if the command was given `--yes`.
    pub(crate) says_yes: bool,
    /// Paths of the repository, cached after the first look-up because finding them starts git.
    pub(crate) place: OnceLock<RootPaths>,
}

impl Environment {
    /// Reads the environment. A folder or program that can't be determined stays empty and fails where it is needed.
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

    /// Returns true in a CI session; all CI services set `CI`.
    pub(crate) fn is_ci(&self) -> bool {
        self.variable("CI").is_some_and(|value| !matches!(value, "0" | "false"))
    }

    /// Returns an environment variable if it is set and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.iter().find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }

    /// Returns the id of the worker in whose process tree the command runs.
    pub(crate) fn worker(&self) -> Option<&str> {
        self.variable("SWITCHBOARD_WORKER")
    }

    /// Returns the user's home folder.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.variable("HOME").map(PathBuf::from)
    }

    /// Returns a folder of the XDG base directory specification with `switchboard` appended; relative values are ignored.
    fn xdg(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let named = self.variable(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        named.or_else(|| self.home().map(|home| home.join(below_home))).map(|base| base.join("switchboard"))
    }

    /// Returns the folder of the user's settings.
    pub(crate) fn config_folder(&self) -> Option<PathBuf> {
        self.xdg("XDG_CONFIG_HOME", ".config")
    }

    /// Returns the state folder: one subfolder for each repository, and the list of what the user trusts.
    pub(crate) fn state_folder(&self) -> Option<PathBuf> {
        self.xdg("XDG_STATE_HOME", ".local/state")
    }

    /// Returns the variables of a proxy, as name and value.
    pub(crate) fn proxies(&self) -> Vec<(String, String)> {
        let value = |name: &&str| Some(((*name).to_owned(), self.variable(name)?.to_owned()));
        PROXIES.iter().filter_map(value).collect()
    }

    /// Returns the cache folder, for data that can be recomputed.
    pub(crate) fn cache_folder(&self) -> Option<PathBuf> {
        self.xdg("XDG_CACHE_HOME", ".cache")
    }

    /// Returns the width of the terminal on standard output in columns; `None` if it is no terminal.
    pub(crate) fn columns(&self) -> Option<usize> {
        self.stdout_is_terminal.then(|| self.columns_of(std::io::stdout())).flatten()
    }

    /// Returns the width of the terminal on standard error in columns; `None` if it is no terminal.
    pub(crate) fn error_columns(&self) -> Option<usize> {
        self.stderr_is_terminal.then(|| self.columns_of(std::io::stderr())).flatten()
    }

    fn columns_of(&self, terminal: impl AsFd) -> Option<usize> {
        let told = self.variable("COLUMNS").and_then(|columns| columns.parse().ok());
        let asked = || rustix::termios::tcgetwinsize(terminal).ok().map(|size| usize::from(size.ws_col));
        told.or_else(asked).filter(|columns| *columns >= 20)
    }

    /// Returns true if colours are unwanted (<https://no-color.org>).
    pub(crate) fn wants_no_color(&self) -> bool {
        self.variable("NO_COLOR").is_some() || self.variable("TERM") == Some("dumb")
    }

    /// Finds a program on `PATH`, as a shell would.
    pub(crate) fn find_program(&self, name: &str) -> Option<PathBuf> {
        if name.contains('/') {
            let path = self.folder.join(name);
            return is_executable(&path).then_some(path);
        }
        let path = self.variable("PATH")?;
        std::env::split_paths(path).map(|folder| folder.join(name)).find(|file| is_executable(file))
    }

    /// Returns all variables, for a child that runs the same program as the same user.
    pub(crate) fn variables(&self) -> &[(String, String)] {
        &self.variables
    }

    /// Returns this environment with one variable changed.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.retain(|(key, _)| key != name);
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// Returns this environment with another current folder.
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
