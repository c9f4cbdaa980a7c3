//! What every command receives: its environment, where to print, and access to the daemon.

use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::output::Output;

/// Flags that every command takes.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Shared {
    /// Print JSON; an error is one object on standard error
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Work as if this were the current folder
    #[arg(short = 'C', long = "directory", global = true, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Skip the confirmation; in CI (where CI is set) this counts as a person's yes
    #[arg(short = 'y', long, global = true)]
    pub(crate) yes: bool,
}

/// Context in which a command runs.
#[derive(Debug)]
pub(crate) struct Context {
    /// Environment variables, folders and terminal.
    pub(crate) environment: Environment,
    /// Standard output.
    pub(crate) out: Output,
    /// True if answers and errors are printed as JSON.
    pub(crate) json: bool,
    /// True if colours are wanted.
    pub(crate) color: bool,
}

impl Context {
    /// Combines flags and environment.
    pub(crate) fn new(shared: &Shared, environment: Environment) -> Self {
        let mut environment = match &shared.directory {
            Some(folder) => {
                let folder = environment.folder.join(folder);
                environment.in_folder(&folder)
            }
            None => environment,
        };
        environment.says_yes = shared.yes;
        let color = !environment.wants_no_color();
        let out = Output::stdout(color && environment.stdout_is_terminal, environment.columns());
        Self { environment, out, json: shared.json, color }
    }

    /// Returns the folder that the command is about.
    pub(crate) fn folder(&self) -> &Path {
        &self.environment.folder
    }

    /// Makes a path from the command line absolute.
    pub(crate) fn resolve(&self, path: &Path) -> PathBuf {
        self.folder().join(path)
    }

    /// Returns true if a person at this terminal can be asked.
    pub(crate) fn can_ask(&self) -> bool {
        !self.json && self.environment.stdin_is_terminal && self.environment.stderr_is_terminal
    }
}
