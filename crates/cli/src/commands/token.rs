//! `switchboard token`

use protocol::error::Failure;

use crate::commands::down;
use crate::context::Context;
use crate::report::Outcome;
use crate::session::{FOLDER, work_tree};
use crate::{client, edit};

/// Change the repository's bearer token
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Make a new token; whoever has the old one is shut out from the next start of the daemon on
    Rotate,
}

/// Rotates.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    match args.command {
        Command::Rotate => rotate(context),
    }
}

fn rotate(context: &mut Context) -> Outcome {
    let root = work_tree(context.folder()).ok_or_else(|| {
        Failure::new("git.not-a-repository", "there is no repository here").at(context.folder().display().to_string())
    })?;
    let was_running = down::end(context, true)?.is_some();
    let file = root.join(FOLDER).join("auth_token");
    let token = client::new_key()? + &client::new_key()?;
    edit::replace_private(&file, token.as_bytes()).map_err(|error| edit::failed(&file, &error))?;
    if was_running {
        context.daemon()?;
    }
    if context.json {
        context.out.json(&serde_json::json!({ "file": file, "restarted": was_running }));
    } else {
        context.out.line(format!("a new token lies in {}", file.display()));
    }
    Ok(())
}
