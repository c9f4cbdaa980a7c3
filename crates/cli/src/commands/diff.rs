//! `switchboard diff`

use switchboard_daemon::RootPaths;
use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::run::{GetRun, GetRunReply, GetRunRequest, ShowTask, ShowTaskRequest};

use crate::context::Context;
use crate::output::{Output, Tone, page, plain};
use crate::report::Outcome;

/// Bytes kept of each end of a run's diff.
const DIFF_BYTES: usize = 2 << 20;

/// Show what a task changes, or all that a run has merged
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: show_task, get_run")]
pub(crate) struct Args {
    /// `RUN/TASK`, `TASK` of the newest run, or a run; the newest run when left out
    what: Option<String>,
}

/// Asks and shows.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    match &args.what {
        Some(task) if !super::show::is_run(task) => {
            let request = ShowTaskRequest { task: task.clone(), diff: true, output: false };
            let reply = context.daemon()?.call::<ShowTask>(&request)?;
            if context.json {
                context.out.json(&reply);
                return Ok(());
            }
            let state = &reply.task.state;
            show(reply.diff.as_deref(), &format!("task {task} has changed nothing yet: it is {state}"), context);
        }
        run => {
            let reply = context.daemon()?.call::<GetRun>(&GetRunRequest { run: run.clone() })?;
            let diff = of_run(&reply, context)?;
            if context.json {
                context.out.json(&serde_json::json!({ "run": reply.summary.run, "diff": diff }));
                return Ok(());
            }
            show(Some(&diff), &format!("{} has merged nothing yet", reply.summary.run), context);
        }
    }
    Ok(())
}

/// What a run's branch has on top of the commit that it started from.
fn of_run(reply: &GetRunReply, context: &Context) -> Result<String, Failure> {
    let place = RootPaths::discover(context.folder())?;
    let summary = &reply.summary;
    let find = |revision: &str| place.repo.rev_parse(revision).map_err(|error| error.failure());
    let missing = |what: &str| Failure::new("dispatch.unknown-run", format!("{what} of {} is gone", summary.run));
    let base = find(&summary.base)?.ok_or_else(|| missing("the first commit"))?;
    let tip = match find(&summary.branch)? {
        Some(tip) => tip,
        // Nothing has been merged, or the branch was cleaned away.
        None if summary.merged == 0 => return Ok(String::new()),
        None => return Err(missing("the branch").hint("its work is in the branch that it was merged into")),
    };
    Ok(place.repo.diff_text(&base, &tip, DIFF_BYTES).map_err(|error| error.failure())?.text)
}

fn show(diff: Option<&str>, nothing: &str, context: &mut Context) {
    let text = plain(diff.unwrap_or_default());
    if text.trim().is_empty() {
        context.out.line(nothing);
        return;
    }
    let text = painted(&text, &context.out);
    page(&text, &context.environment, &mut context.out);
}

/// The diff in the colours that git gives it.
fn painted(diff: &str, out: &Output) -> String {
    if !out.has_color() {
        return diff.to_owned();
    }
    let mut is_head = true;
    let mut text = String::with_capacity(diff.len() + diff.len() / 4);
    for line in diff.lines() {
        is_head = line.starts_with("diff ") || is_head && !line.starts_with("@@");
        let tone = match line.as_bytes().first() {
            _ if is_head => Some(Tone::Strong),
            Some(b'@') => Some(Tone::Notice),
            Some(b'+') => Some(Tone::Good),
            Some(b'-') => Some(Tone::Bad),
            Some(_) | None => None,
        };
        match tone {
            Some(tone) => text.push_str(&out.paint(tone, line)),
            None => text.push_str(line),
        }
        text.push('\n');
    }
    text
}
