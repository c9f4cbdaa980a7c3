//! `switchboard show`

use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::run::{GetRun, GetRunReply, GetRunRequest, ShowTask, ShowTaskReply, ShowTaskRequest};

use super::{messages, tell};
use crate::context::Context;
use crate::output::{Output, Tone, counted, money, one_line, plain, tokens, when};
use crate::report::Outcome;
use crate::{run_report, verdict};

/// Show a run, or one task of it with its attempts, gates and refusals
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: show_task, get_run")]
pub(crate) struct Args {
    /// `RUN/TASK`, `TASK` of the newest run, or a run; the newest run when left out
    what: Option<String>,
    /// Print only the complete answer of the task's last worker
    #[arg(long, requires = "what")]
    answer: bool,
}

/// Prints a run or a task.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    match &args.what {
        Some(task) if args.answer => print_answer(task, context),
        Some(task) if !is_run(task) => show_task(task, context),
        run => show_run(run.clone(), context),
    }
}

/// Returns true if a word names a run, not a task.
pub(super) fn is_run(what: &str) -> bool {
    what.starts_with("run_") && !what.contains('/')
}

fn show_run(run: Option<String>, context: &mut Context) -> Outcome {
    let reply: GetRunReply =
        context.daemon()?.call::<GetRun>(&GetRunRequest { run, sizes: true, ..GetRunRequest::default() })?;
    if context.json {
        context.out.json(&reply);
    } else {
        run_report::print(&reply, &mut context.out);
    }
    Ok(())
}

/// Prints an answer part by part.
fn print_answer(task: &str, context: &mut Context) -> Outcome {
    let mut from = Some(0);
    while let Some(answer_from) = from {
        let request = ShowTaskRequest { task: task.to_owned(), diff: false, answer_from: Some(answer_from) };
        let reply = context.daemon()?.call::<ShowTask>(&request)?;
        if context.json {
            context.out.json(&reply);
        }
        let Some(answer) = reply.answer else {
            let what = format!("no worker of task {} has said anything", reply.task.id);
            return Err(Failure::new("dispatch.no-answer", what).into());
        };
        if !context.json {
            context.out.text(&plain(&answer.text));
        }
        from = answer.next;
    }
    Ok(())
}

fn show_task(task: &str, context: &mut Context) -> Outcome {
    let request = ShowTaskRequest { task: task.to_owned(), diff: false, answer_from: Some(0) };
    let mut client = context.daemon()?;
    let reply = client.call::<ShowTask>(&request)?;
    if context.json {
        context.out.json(&reply);
    } else {
        describe(&reply, &mut context.out);
        // Only a person may see mail; for others the task is shown without it.
        for message in tell::messages_to_workers(&reply, &mut client).unwrap_or_default() {
            let (tone, state) = messages::of_state(message.state);
            let line = format!("told      {} by {}, {state}: ", when(message.created_at), message.sender);
            context.out.line(context.out.paint(tone, &(line + &one_line(&message.payload, 300))));
        }
        if let Some(answer) = reply.answer.as_ref().filter(|answer| !answer.text.trim().is_empty()) {
            run_report::print_answer(&reply.task.id, answer, &mut context.out);
        }
    }
    Ok(())
}

fn describe(reply: &ShowTaskReply, out: &mut Output) {
    let task = &reply.task;
    let script = if task.scripted { " (a script)" } else { "" };
    out.line(format!("task      {} of {}", task.id, reply.run));
    out.line(format!("is        {}", one_line(&task.description, 500)));
    out.line(format!("agent     {}{script}", task.agent));
    if !task.isolation.is_full() {
        out.line(format!("isolation {}: four tools in a sandbox", task.isolation.as_str()));
    }
    out.line(format!("state     {}, {}", run_report::state_of(task), counted(task.attempts.into(), "attempt")));
    let used = [money(task.micro_usd), tokens(task.input_tokens, task.output_tokens)];
    let used: Vec<_> = used.into_iter().flatten().collect();
    if !used.is_empty() {
        out.line(format!("used      {}", used.join(", ")));
    }
    if let Some(lease) = &task.held_by {
        out.line(format!("held      {}", one_line(&run_report::held_by(lease), 500)));
    }
    if !task.depends.is_empty() {
        out.line(format!("depends   {}", task.depends.join(", ")));
    }
    if let Some(why) = &task.not_started {
        out.line(format!("waits     {} [{}]", one_line(&why.detail, 300), why.code.as_str()));
    }
    let judged = task.gates.iter().map(|gate| ("gate", gate)).chain(task.judged.iter().map(|step| ("step", step)));
    for (what, gate) in judged {
        let (tone, words) = verdict::shown_word(&gate.verdict);
        out.line(out.paint(tone, &format!("{what:9} {} {words}", gate.gate)));
        for reason in &gate.reasons {
            out.line(format!("            {}", one_line(reason, 300)));
        }
    }
    for refusal in &task.refusals {
        out.line(out.paint(Tone::Bad, &format!("refused   {}", one_line(refusal, 300))));
    }
    if !task.step.is_empty() {
        out.line(format!("says      {}", one_line(&task.step, 300)));
    }
    if task.proposed > 0 {
        out.line(format!("proposes  {}: switchboard log {}/{}", counted(task.proposed, "task"), reply.run, task.id));
    }
    if let Some(commit) = &task.commit {
        out.line(format!("commit    {commit}"));
    }
    for file in &task.files {
        out.line(format!("file      {}", one_line(file, 300)));
    }
    let size = task.worktree_bytes.map(|bytes| format!(", {}", indicatif::HumanBytes(bytes))).unwrap_or_default();
    for (name, path, more) in [("worktree", &task.worktree, size.as_str()), ("folder", &reply.folder, "")] {
        if !path.is_empty() {
            out.line(format!("{name:9} {path}{more}"));
        }
    }
}
