//! `switchboard merge`

use std::time::Duration;

use switchboard_protocol::verb::run::{MergeRun, MergeRunRequest};

use crate::context::Context;
use crate::output::{counted, one_line};
use crate::report::Outcome;

/// A merge of a large tree on a slow disk may take its time.
const LIMIT: Duration = Duration::from_secs(300);

/// Merge a run's branch into the branch that it was started from
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: merge_run")]
pub(crate) struct Args {
    /// The run, or the beginning of its id; the newest when left out
    run: Option<String>,
    /// Merge what is done of a run of which not all tasks are
    #[arg(long)]
    partial: bool,
}

/// Merges.
pub(crate) fn run(args: Args, context: &mut Context) -> Outcome {
    let request = MergeRunRequest { run: args.run, partial: args.partial };
    let reply = context.daemon()?.call_within::<MergeRun>(&request, LIMIT)?;
    if context.json {
        context.out.json(&reply);
        return Ok(());
    }
    let short = |commit: &str| commit.chars().take(12).collect::<String>();
    if reply.already {
        context.out.line(format!("nothing to do: {} has the work of {} already", reply.target, reply.run));
        return Ok(());
    }
    for note in &reply.notes {
        context.out.line(format!("note: {}", one_line(note, 300)));
    }
    let files = counted(reply.files.len() as u64, "file");
    context.out.line(format!("{} moved from {} to {}", reply.target, short(&reply.from), short(&reply.to)));
    context.out.line(format!("{files} changed:"));
    for file in &reply.files {
        context.out.line(format!("    {}", one_line(file, 300)));
    }
    Ok(())
}
