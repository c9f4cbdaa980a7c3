//! `switchboard shim`: the process that runs one worker. Started by the daemon, never by hand.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::report::{Ending, Outcome};

/// Run one worker according to its spec (started by the daemon)
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The worker's spec
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

/// Runs the shim.
pub(crate) fn serve(file: impl AsRef<Path>) -> ExitCode {
    switchboard_agents::shim::run(file.as_ref())
}
