//! `switchboard diff`

use switchboard_protocol::verb::run::{GetRun, GetRunRequest, ShowTask, ShowTaskRequest};

use crate::context::Context;
use crate::output::{Output, Tone, page, plain};
use crate::report::Outcome;

/// Show what a task changes, or all that a run has merged
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: show_task, get_run")]
pub(crate) struct Args {
    /// `RUN/TASK`, `TASK` of the newest run, or a run; the newest run when left out
    what: Option<String>,
}

/// Requests the diff and prints it.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    match &args.what {
        Some(task) if !super::show::is_run(task) => {
            let request = ShowTaskRequest { task: task.clone(), diff: true, answer_from: None };
            let reply = context.daemon()?.call::<ShowTask>(&request)?;
            if context.json {
                context.out.json(&reply);
                return Ok(());
            }
            let state = &reply.task.state;
            show(reply.diff.as_deref(), &format!("task {task} has changed nothing yet: it is {state}"), context);
        }
        run => {
            let reply = context.daemon()?.call::<GetRun>(&GetRunRequest {
                run: run.clone(),
                diff: true,
                ..GetRunRequest::default()
            })?;
            if context.json {
                context.out.json(&reply);
                return Ok(());
            }
            let nothing = match (&reply.diff, reply.summary.merged) {
                (None, 1..) => "its branch is gone; its work is in the branch that it was merged into",
                (Some(_) | None, _) => "it has merged nothing yet",
            };
            show(reply.diff.as_deref(), &format!("{}: {nothing}", reply.summary.run), context);
        }
    }
    Ok(())
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

/// Colours a diff as git does.
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
