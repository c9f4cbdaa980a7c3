//! `switchboard stop` and `switchboard retry`

use switchboard_protocol::signal::SignalKind;
use switchboard_protocol::verb::run::{RetryTask, RetryTaskRequest, RunReply, StopRun, StopRunRequest};

use super::signal::call_or_signal;
use crate::context::Context;
use crate::output::one_line;
use crate::report::Outcome;

/// Stop a run or tasks of it; work that is not merged stays in its branch
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: stop_run")]
pub(crate) struct StopArgs {
    /// `RUN` or `RUN/TASK`
    what: String,
    /// Further tasks of that run
    tasks: Vec<String>,
    /// Milliseconds between asking an agent to end and killing its process group: 5000 if nothing is said
    #[arg(long, value_name = "MS")]
    grace: Option<u64>,
}

/// Try blocked or stopped tasks again, with all attempts anew
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: retry_task")]
pub(crate) struct RetryArgs {
    /// `RUN/TASK`, or `RUN` for all of its blocked tasks
    what: String,
    /// Further tasks of that run
    tasks: Vec<String>,
}

/// Stops.
pub(crate) fn run_stop(args: &StopArgs, context: &mut Context) -> Outcome {
    let request = StopRunRequest { what: args.what.clone(), tasks: args.tasks.clone(), grace_ms: args.grace };
    let named = (Some(args.what.as_str()), args.tasks.as_slice());
    if let Some(reply) = call_or_signal::<StopRun>(&request, SignalKind::Stop, named, context)? {
        say(&reply, context);
    }
    Ok(())
}

/// Retries.
pub(crate) fn run_retry(args: RetryArgs, context: &mut Context) -> Outcome {
    let reply =
        context.daemon()?.call::<RetryTask>(&RetryTaskRequest { what: args.what, tasks: args.tasks, turn: None })?;
    say(&reply, context);
    Ok(())
}

fn say(reply: &RunReply, context: &mut Context) {
    if context.json {
        context.out.json(reply);
    } else {
        context.out.line(format!("{} is {}", reply.run, reply.state));
        for task in &reply.tasks {
            let what = if task.waits { "waits for it in vain" } else { task.state.as_str() };
            context.out.line(format!("    {} ({what}): {}", task.id, one_line(&task.description, 80)));
        }
        if reply.more > 0 {
            context.out.line(format!("    and {} more", reply.more));
        }
        context.out.line(format!("follow it: switchboard run --resume {}", reply.run));
    }
}
