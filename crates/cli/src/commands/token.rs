//! `switchboard token`

use protocol::error::Failure;

use crate::context::Context;
use crate::report::Outcome;

/// Change the repository's bearer token
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Make a new token; the old one is worth nothing from then on
    Rotate,
}

/// Rotates.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    match args.command {
        Command::Rotate => rotate(context),
    }
}

fn rotate(context: &mut Context) -> Outcome {
    let place = context.place()?;
    daemon::rotate_token(&place.project).map_err(Failure::from)?;
    let file = place.project.join("auth_token");
    if context.json {
        context.out.json(&serde_json::json!({ "file": file }));
    } else {
        context.out.line(format!("a new token lies in {}; the old one is worth nothing any more", file.display()));
    }
    Ok(())
}
