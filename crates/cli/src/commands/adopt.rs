//! `switchboard adopt`

use switchboard_daemon::{Adoption, RootPaths};
use switchboard_protocol::error::Failure;

use crate::context::Context;
use crate::report::Outcome;

/// Say what became of a repository whose former place is gone
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// It is a copy: begin with an empty record. Without this it was moved, and its record comes along
    #[arg(long)]
    fresh: bool,
}

/// Ties the repository to its record, or gives it a new one.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    context.require_person("say what became of a repository")?;
    let adoption = if args.fresh { Adoption::Fresh } else { Adoption::Moved };
    let place = RootPaths::adopt(context.folder(), adoption).map_err(Failure::from)?;
    let state = place.state.display().to_string();
    if context.json {
        context.out.json(&serde_json::json!({ "root": place.root, "state": state }));
    } else {
        context.out.line(format!("the record of {} lies in {state}", place.root.display()));
    }
    Ok(())
}
