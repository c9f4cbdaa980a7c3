//! `switchboard shim`: the process that owns a worker. Started by the daemon, never by hand.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::report::{Ending, Outcome};

/// Own one worker, as its spec says (started by the daemon)
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The worker's spec
    file: PathBuf,
}

/// Runs it through the argument parser, which only a strange spelling needs.
pub(crate) fn run(args: &Args) -> Outcome {
    if serve(&args.file) == ExitCode::SUCCESS {
        Ok(())
    } else {
        Err(Ending::Said(switchboard_protocol::error::Exit::Failed))
    }
}

/// Runs it.
pub(crate) fn serve(file: impl AsRef<Path>) -> ExitCode {
    switchboard_agents::shim::run(file.as_ref())
}
