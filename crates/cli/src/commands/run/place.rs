//! Flags for the commit that a run starts from, and for the folder of its work trees.

use std::path::PathBuf;

use crate::context::Context;

/// Environment variable that names the folder for work trees.
const VARIABLE: &str = "SWITCHBOARD_WORKTREES";

/// Flags of `run` and `dispatch`.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct PlaceFlags {
    /// Start at this branch, tag or commit instead of what is checked out; a branch is also what the run is merged into
    #[arg(long, value_name = "REV")]
    pub(crate) base: Option<String>,
    /// Folder for the work trees; takes precedence over SWITCHBOARD_WORKTREES and over `folder` under [worktrees] of the settings
    #[arg(long, value_name = "DIR")]
    worktrees: Option<PathBuf>,
}

// === impl PlaceFlags ===

impl PlaceFlags {
    /// Returns the folder for work trees that a flag or the environment names, made absolute, and the name of that flag or variable.
    pub(crate) fn worktrees(&self, context: &Context) -> Option<(String, &'static str)> {
        let named = self.worktrees.as_ref().map(|folder| (folder.clone(), "--worktrees"));
        let of_variable = || context.environment.variable(VARIABLE).map(|folder| (PathBuf::from(folder), VARIABLE));
        let (folder, from) = named.or_else(of_variable)?;
        Some((context.resolve(&folder).display().to_string(), from))
    }
}
