//! `switchboard man`

use std::path::PathBuf;

use switchboard_protocol::error::Failure;

use crate::context::Context;
use crate::report::Outcome;

/// Write the manual pages of all commands into a folder
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder, such as ~/.local/share/man/man1; it is made where there is none
    folder: PathBuf,
}

/// Writes a page for the program and one for each command.
pub(crate) fn run(args: &Args, command: clap::Command, context: &mut Context) -> Outcome {
    let folder = context.resolve(&args.folder);
    let denied = |error: &std::io::Error| {
        Failure::new("io.denied", "the manual pages can't be written").at(folder.display().to_string()).because(error)
    };
    std::fs::create_dir_all(&folder).map_err(|error| denied(&error))?;
    clap_mangen::generate_to(command, &folder).map_err(|error| denied(&error))?;
    context.out.line(format!("man -M {} switchboard", folder.parent().unwrap_or(&folder).display()));
    Ok(())
}
