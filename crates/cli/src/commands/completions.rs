//! `switchboard completions`

use crate::context::Context;
use crate::report::Outcome;

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    shell: clap_complete::Shell,
}

/// Prints the completion script.
pub(crate) fn run(args: &Args, mut command: clap::Command, context: &mut Context) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "switchboard", &mut script);
    context.out.text(&String::from_utf8_lossy(&script));
    Ok(())
}
