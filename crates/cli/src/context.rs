//! What every command is given: its environment, where to print, and the daemon when it asks for it.

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
    /// Do it without asking; in CI (where CI is set) this is a person's yes
    #[arg(short = 'y', long, global = true)]
    pub(crate) yes: bool,
}

/// What a command works with.
#[derive(Debug)]
pub(crate) struct Context {
    /// Environment, folders, terminal.
    pub(crate) environment: Environment,
    /// Standard output.
    pub(crate) out: Output,
    /// Whether answers and errors are JSON.
    pub(crate) json: bool,
    /// Whether colours are wanted.
    pub(crate) color: bool,
}

impl Context {
    /// Puts flags and environment together.
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

    /// The folder that the command is about.
    pub(crate) fn folder(&self) -> &Path {
        &self.environment.folder
    }

    /// A path as typed, made absolute.
    pub(crate) fn resolve(&self, path: &Path) -> PathBuf {
        self.folder().join(path)
    }

    /// Whether a question can be put to a person at this terminal.
    pub(crate) fn can_ask(&self) -> bool {
        !self.json && self.environment.stdin_is_terminal && self.environment.stderr_is_terminal
    }
}
