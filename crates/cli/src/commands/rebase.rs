//! `switchboard rebase`

use switchboard_protocol::verb::run::{RebaseRun, RebaseRunRequest};

use crate::context::Context;
use crate::report::Outcome;

/// Rebase workers' trees on what was merged meanwhile, each between two tool calls
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: rebase_run\n\nWhat came of it: switchboard log TASK")]
pub(crate) struct Args {
    /// `RUN` or `RUN/TASK`; the newest run when left out
    what: Option<String>,
    /// Further tasks of that run
    tasks: Vec<String>,
}

/// Requests the rebase.
pub(crate) fn run(args: Args, context: &mut Context) -> Outcome {
    let request = RebaseRunRequest { what: args.what, tasks: args.tasks };
    let reply = context.daemon()?.call::<RebaseRun>(&request)?;
    if context.json {
        context.out.json(&reply);
    } else {
        let what = "its workers' trees are rebased as soon as each is between two tools";
        context.out.line(format!("{}: {what}", reply.run));
        context.out.line(format!("follow it: switchboard run --resume {}", reply.run));
    }
    Ok(())
}
