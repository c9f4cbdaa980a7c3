//! What every command is given: its surroundings, where to print, and the daemon when it asks for it.

use std::path::{Path, PathBuf};

use crate::output::Output;
use crate::surroundings::Surroundings;

/// Flags that every command takes.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Shared {
    /// Print JSON; an error is one object on standard error
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Work as if this were the current folder
    #[arg(short = 'C', long = "directory", global = true, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
}

/// What a command works with.
#[derive(Debug)]
pub(crate) struct Context {
    /// Environment, folders, terminal.
    pub(crate) surroundings: Surroundings,
    /// Standard output.
    pub(crate) out: Output,
    /// Whether answers and errors are JSON.
    pub(crate) json: bool,
    /// Whether colours are wanted.
    pub(crate) color: bool,
}

impl Context {
    /// Puts flags and surroundings together.
    pub(crate) fn new(shared: &Shared, surroundings: Surroundings) -> Self {
        let surroundings = match &shared.directory {
            Some(folder) => {
                let folder = surroundings.folder.join(folder);
                surroundings.in_folder(&folder)
            }
            None => surroundings,
        };
        let color = !surroundings.wants_no_color();
        let out = Output::stdout(color && surroundings.stdout_is_terminal);
        Self { surroundings, out, json: shared.json, color }
    }

    /// The folder that the command is about.
    pub(crate) fn folder(&self) -> &Path {
        &self.surroundings.folder
    }

    /// A path as typed, made absolute.
    pub(crate) fn resolve(&self, path: &Path) -> PathBuf {
        self.folder().join(path)
    }

    /// Whether a question can be put to a person at this terminal.
    pub(crate) fn can_ask(&self) -> bool {
        !self.json && self.surroundings.stdin_is_terminal && self.surroundings.stderr_is_terminal
    }
}
