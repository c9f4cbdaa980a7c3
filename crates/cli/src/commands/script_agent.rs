//! `switchboard script-agent`: plays an agent from a script. It is no model, and says so wherever it is shown.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::report::{Ending, Outcome};

/// Play an agent from a script, over ACP on standard input and output
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The script
    file: PathBuf,
}

/// Runs the command through the argument parser, which only unusual spellings need.
pub(crate) fn run(args: &Args) -> Outcome {
    if serve(&args.file) == ExitCode::SUCCESS {
        Ok(())
    } else {
        Err(Ending::Said(switchboard_protocol::error::Exit::Failed))
    }
}

/// Plays the script.
pub(crate) fn serve(file: impl AsRef<Path>) -> ExitCode {
    switchboard_agents::script::run(file.as_ref())
}
