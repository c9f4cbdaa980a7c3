//! `switchboard log`

use switchboard_protocol::verb::run::{ShowTask, ShowTaskRequest};

use crate::context::Context;
use crate::output::plain;
use crate::report::Outcome;

/// Show the end of what a task's worker printed
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: show_task")]
pub(crate) struct Args {
    /// `RUN/TASK`, or `TASK` of the newest run
    task: String,
}

/// Asks and shows.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    let request = ShowTaskRequest { task: args.task.clone(), diff: false, output: true };
    let reply = context.daemon()?.call::<ShowTask>(&request)?;
    if context.json {
        context.out.json(&reply);
    } else {
        context.out.text(&plain(reply.output.as_deref().unwrap_or_default()));
    }
    Ok(())
}
