//! `switchboard merge`

use std::time::Duration;

use switchboard_protocol::verb::run::{MergeRun, MergeRunRequest, UndoMerge, UndoMergeRequest};

use crate::context::Context;
use crate::output::{counted, one_line};
use crate::report::Outcome;

/// Time limit for a merge: a large tree on a slow disk takes long.
const LIMIT: Duration = Duration::from_secs(300);

/// Merge a run's branch into the branch that it was started from
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: merge_run, undo_merge")]
pub(crate) struct Args {
    /// The run, or the beginning of its id; the newest when left out
    run: Option<String>,
    /// Merge the finished tasks of a run that is not complete
    #[arg(long)]
    partial: bool,
    /// Undo the last merge of the run; refused if the branch has moved on since
    #[arg(long, conflicts_with = "partial")]
    undo: bool,
}

/// Merges the run's branch, or undoes that.
pub(crate) fn run(args: Args, context: &mut Context) -> Outcome {
    if args.undo {
        return undo(args.run, context);
    }
    merge(&MergeRunRequest { run: args.run, partial: args.partial }, context)
}

/// Merges a run's branch, and prints what that changed.
pub(crate) fn merge(request: &MergeRunRequest, context: &mut Context) -> Outcome {
    let reply = context.daemon()?.call_within::<MergeRun>(request, LIMIT)?;
    if context.json {
        context.out.json(&reply);
        return Ok(());
    }
    if reply.already {
        context.out.line(format!("nothing to do: {} has the work of {} already", reply.target, reply.run));
    }
    for note in &reply.notes {
        context.out.line(format!("note: {}", one_line(note, 300)));
    }
    if !reply.already {
        print_move((&reply.target, &reply.from, &reply.to), &reply.files, context);
    }
    Ok(())
}

fn undo(run: Option<String>, context: &mut Context) -> Outcome {
    let reply = context.daemon()?.call_within::<UndoMerge>(&UndoMergeRequest { run }, LIMIT)?;
    if context.json {
        context.out.json(&reply);
    } else {
        print_move((&reply.target, &reply.from, &reply.to), &reply.files, context);
        context.out.line(format!("the work of {0} is still on its own branch: switchboard merge {0}", reply.run));
    }
    Ok(())
}

fn print_move((target, from, to): (&str, &str, &str), files: &[String], context: &mut Context) {
    let short = |commit: &str| commit.chars().take(12).collect::<String>();
    context.out.line(format!("{target} moved from {} to {}", short(from), short(to)));
    context.out.line(format!("{} changed:", counted(files.len() as u64, "file")));
    for file in files {
        context.out.line(format!("    {}", one_line(file, 300)));
    }
}
