//! `switchboard clean`

use switchboard_protocol::error::Exit;
use switchboard_protocol::verb::run::{CleanRuns, CleanRunsReply, CleanRunsRequest, LeftOver, Restored};

use crate::ask;
use crate::context::Context;
use crate::output::{Table, Tone};
use crate::report::{Ending, Outcome};

/// Remove work trees and branches that ended runs have left; lists them first
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: clean_runs")]
pub(crate) struct Args {
    /// One run; all that have ended when left out
    run: Option<String>,
    /// Also remove what holds work that is merged nowhere, after archiving it
    #[arg(long)]
    unmerged: bool,
    /// List what was archived, and remove nothing
    #[arg(long, conflicts_with_all = ["run", "unmerged", "dry_run"])]
    archived: bool,
    /// Create a branch from something archived
    #[arg(long, value_name = "NAME", conflicts_with_all = ["run", "unmerged", "dry_run", "archived"])]
    restore: Option<String>,
    /// List only
    #[arg(long)]
    dry_run: bool,
}

/// Lists the leftovers, asks, and removes them.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    if let Some(name) = &args.restore {
        return restore(name, context);
    }
    let request = |remove| CleanRunsRequest { run: args.run.clone(), remove, unmerged: args.unmerged, restore: None };
    let listed = context.daemon()?.call::<CleanRuns>(&request(false))?;
    if args.archived {
        return list_archived(&listed, context);
    }
    let goes = |one: &&LeftOver| args.unmerged || one.unmerged.is_empty();
    let count = listed.left.iter().filter(goes).count() as u64;
    if !context.json {
        show(&listed, args, context);
    }
    if args.dry_run || count == 0 {
        if context.json {
            context.out.json(&listed);
        }
        return Ok(());
    }
    let question = format!("Remove {count} of these?");
    let agreed = context.environment.says_yes || context.can_ask() && ask::yes(&question, false)?;
    if !agreed {
        if !context.json {
            context.out.line("nothing was removed; with --yes it is");
        }
        return Err(Ending::Said(Exit::Person));
    }
    let done = context.daemon()?.call::<CleanRuns>(&request(true))?;
    if context.json {
        context.out.json(&done);
    } else {
        let removed = done.left.iter().filter(|one| one.removed).count() as u64;
        for one in done.left.iter().filter(|one| !one.archived.is_empty()) {
            context.out.line(format!("archived {}", one.archived));
        }
        context.out.line(format!("removed {removed}"));
    }
    Ok(())
}

fn restore(name: &str, context: &mut Context) -> Outcome {
    let request = CleanRunsRequest { restore: Some(name.to_owned()), ..CleanRunsRequest::default() };
    let done = context.daemon()?.call::<CleanRuns>(&request)?;
    if context.json {
        context.out.json(&done);
    } else if let Some(Restored { branch, commit, .. }) = &done.restored {
        context.out.line(format!("{branch} is at {commit}"));
    }
    Ok(())
}

fn list_archived(listed: &CleanRunsReply, context: &mut Context) -> Outcome {
    if context.json {
        context.out.json(&listed.archived);
    } else if listed.archived.is_empty() {
        context.out.line("nothing is archived");
    }
    for one in listed.archived.iter().filter(|_| !context.json) {
        context.out.line(format!("{}  {}", one.commit.get(..9).unwrap_or(&one.commit), one.name));
    }
    Ok(())
}

fn show(listed: &CleanRunsReply, args: &Args, context: &mut Context) {
    if listed.left.is_empty() {
        context.out.line("runs have left nothing behind");
        return;
    }
    let mut table = Table::new(&["RUN", "TASK", "WHAT", "HOLDS"]);
    for one in &listed.left {
        let what = match (one.worktree.is_empty(), one.branch.is_empty()) {
            (false, false) => "work tree, branch",
            (false, true) => "work tree",
            (true, _) if one.task.is_empty() => "branch of the run",
            (true, _) => "branch",
        };
        let holds = if one.unmerged.is_empty() { "nothing unmerged" } else { one.unmerged.as_str() };
        let task = if one.task.is_empty() { "-" } else { one.task.as_str() };
        table.row([one.run.to_string(), task.to_owned(), what.to_owned(), holds.to_owned()]);
    }
    context.out.table(&table);
    let kept = listed.left.iter().filter(|one| !one.unmerged.is_empty()).count() as u64;
    if kept > 0 && !args.unmerged {
        let line = format!("{} unmerged work, which stays: --unmerged archives and removes it, too", holds(kept));
        context.out.line(context.out.paint(Tone::Notice, &line));
    }
}

fn holds(count: u64) -> String {
    if count == 1 { "1 of these holds".to_owned() } else { format!("{count} of these hold") }
}
