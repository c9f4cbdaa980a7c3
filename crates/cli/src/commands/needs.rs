//! `switchboard needs`, `approve`, `deny`, `answer`

use switchboard_protocol::need::{Need, NeedKind};
use switchboard_protocol::verb::need::{
    Answer, AnswerRequest, Approve, Deny, ListNeeds, ListNeedsRequest, ResolveReply, ResolveRequest,
};

use crate::context::Context;
use crate::output::{Output, Tone, one_line, plain, when};
use crate::report::Outcome;

/// Number of lines of a question's detail in a list.
const MAX_LINES: usize = 40;

/// List the questions that wait for a person, or show all of one
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: list_needs")]
pub(crate) struct Args {
    /// The id of a question to show as a whole, or the beginning of it
    #[arg(conflicts_with = "all")]
    id: Option<String>,
    /// Include questions that are already answered or expired
    #[arg(long)]
    all: bool,
}

/// Allow what a worker or a message file asks for, once; or put a dead letter back
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: approve")]
pub(crate) struct ApproveArgs {
    /// The question's id, or the beginning of it
    id: String,
}

/// Refuse what a worker or a message file asks for; or drop a dead letter
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: deny")]
pub(crate) struct DenyArgs {
    /// The question's id, or the beginning of it
    id: String,
}

/// Answer a question with one of its options
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: answer")]
pub(crate) struct AnswerArgs {
    /// The question's id, or the beginning of it
    id: String,
    /// The id of the option
    option: String,
    /// Note for the next worker of a task that is tried again, or for a team (with the options text and revise)
    #[arg(long)]
    note: Option<String>,
}

/// Lists the questions.
pub(crate) fn run(args: Args, context: &mut Context) -> Outcome {
    let lines = if args.id.is_some() { usize::MAX } else { MAX_LINES };
    let request = ListNeedsRequest { include_settled: args.all, id: args.id };
    let reply = context.daemon()?.call::<ListNeeds>(&request)?;
    if context.json {
        context.out.json(&reply);
        return Ok(());
    }
    if reply.needs.is_empty() {
        context.out.line("nothing waits for you");
    }
    for need in &reply.needs {
        show(need, lines, &mut context.out);
    }
    Ok(())
}

/// Approves a question.
pub(crate) fn run_approve(args: ApproveArgs, context: &mut Context) -> Outcome {
    let reply = context.daemon()?.call::<Approve>(&ResolveRequest { id: args.id })?;
    say(&reply, context);
    Ok(())
}

/// Denies a question.
pub(crate) fn run_deny(args: DenyArgs, context: &mut Context) -> Outcome {
    let reply = context.daemon()?.call::<Deny>(&ResolveRequest { id: args.id })?;
    say(&reply, context);
    Ok(())
}

/// Answers a question with an option.
pub(crate) fn run_answer(args: AnswerArgs, context: &mut Context) -> Outcome {
    let reply =
        context.daemon()?.call::<Answer>(&AnswerRequest { id: args.id, option: args.option, note: args.note })?;
    say(&reply, context);
    Ok(())
}

fn say(reply: &ResolveReply, context: &mut Context) {
    if context.json {
        context.out.json(reply);
    } else {
        context.out.line(format!("{} is {}", reply.id, reply.outcome));
    }
}

/// Prints a question, with at most `most` lines of its detail, and the commands that answer it.
fn show(need: &Need, most: usize, out: &mut Output) {
    let without_run = if need.kind == NeedKind::Call { "a call" } else { "a message" };
    let of = need.run.as_ref().map_or_else(|| without_run.to_owned(), |run| format!("{} of {run}", need.task));
    let head = format!("{}  {of}: {}", need.id, one_line(&need.title, 200));
    out.line(out.paint(Tone::Notice, &head));
    let detail = plain(&need.detail);
    for line in detail.lines().take(most) {
        out.line(format!("    {line}"));
    }
    let left = detail.lines().count().saturating_sub(most);
    if left > 0 {
        out.line(format!("    … {left} more lines: switchboard needs {}", need.id));
    }
    if let Some(outcome) = &need.outcome {
        out.line(format!("    {outcome}"));
        return;
    }
    for option in &need.options {
        let name = one_line(&option.name, 80);
        out.line(format!("    switchboard answer {} {}   ({name})", need.id, one_line(&option.id, 80)));
    }
    out.line(format!("    switchboard approve {}", need.id));
    out.line(format!("    switchboard deny {}", need.id));
    out.line(format!("    settled by itself at {}", when(need.expires_at)));
}
