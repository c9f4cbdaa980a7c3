//! `switchboard stop` and `switchboard retry`

use switchboard_protocol::signal::SignalKind;
use switchboard_protocol::verb::run::{RetryTask, RetryTaskRequest, RunReply, StopRun, StopRunRequest};

use super::run::inherited_env;
use super::signal::call_or_signal;
use crate::context::Context;
use crate::output::one_line;
use crate::report::Outcome;

/// State of a run that is stopped as a whole.
const STOPPING: &str = "stopping";

/// Maximum number of stopped tasks that the first line names.
const MAX_NAMED: usize = 5;

/// Stop a run or tasks of it; unmerged work stays in its branch
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: stop_run")]
pub(crate) struct StopArgs {
    /// `RUN`, `RUN/TASK`, `RUN/phase:2`, or `RUN/slice:NAME`
    what: String,
    /// Further tasks of that run
    tasks: Vec<String>,
    /// Milliseconds between asking an agent to end and killing its process group; 5000 when left out
    #[arg(long, value_name = "MS")]
    grace: Option<u64>,
}

/// Try blocked or stopped tasks again, with all attempts available anew
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: retry_task")]
pub(crate) struct RetryArgs {
    /// `RUN/TASK`, or `RUN` for all of its blocked tasks
    what: String,
    /// Further tasks of that run
    tasks: Vec<String>,
}

/// Stops a run or tasks.
pub(crate) fn run_stop(args: &StopArgs, context: &mut Context) -> Outcome {
    let request = StopRunRequest { what: args.what.clone(), tasks: args.tasks.clone(), grace_ms: args.grace };
    let named = (Some(args.what.as_str()), args.tasks.as_slice());
    if let Some(reply) = call_or_signal::<StopRun>(&request, SignalKind::Stop, named, context)? {
        say(&reply, context);
    }
    Ok(())
}

/// Retries tasks.
pub(crate) fn run_retry(args: RetryArgs, context: &mut Context) -> Outcome {
    let env = inherited_env(context);
    let request = RetryTaskRequest { what: args.what, tasks: args.tasks, turn: None, env };
    let reply = context.daemon()?.call::<RetryTask>(&request)?;
    say(&reply, context);
    Ok(())
}

fn say(reply: &RunReply, context: &mut Context) {
    if context.json {
        context.out.json(reply);
    } else {
        context.out.line(headline(reply));
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

/// Returns the first line: the run, or its tasks, that are stopped or go on.
fn headline(reply: &RunReply) -> String {
    let RunReply { run, state, tasks, more } = reply;
    let stopped: Vec<_> = tasks.iter().filter(|task| !task.waits).map(|task| task.id.as_str()).collect();
    if state == STOPPING || stopped.is_empty() {
        return format!("{run} is {state}");
    }
    let (named, left) = stopped.split_at(stopped.len().min(MAX_NAMED));
    let more = left.len() as u64 + more;
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let is = if stopped.len() > 1 { "are" } else { "is" };
    format!("{}{more} of {run} {is} stopping", named.join(", "))
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::id::RunId;
    use switchboard_protocol::verb::run::ConcernedTask;

    use super::*;

    fn reply(state: &str, stopped: usize, more: u64) -> RunReply {
        let task = |id: String, waits| ConcernedTask { id, description: String::new(), state: String::new(), waits };
        let mut tasks: Vec<_> = (1..=stopped).map(|n| task(format!("1.{n}"), false)).collect();
        tasks.push(task("2.1".to_owned(), true));
        RunReply { run: RunId::new("run_7f").unwrap(), state: state.to_owned(), tasks, more }
    }

    #[test]
    fn a_stop_of_tasks_names_them_and_one_of_the_run_names_the_run() {
        assert_eq!(headline(&reply(STOPPING, 3, 0)), "run_7f is stopping");
        assert_eq!(headline(&reply("running", 1, 0)), "1.1 of run_7f is stopping");
        assert_eq!(headline(&reply("running", 2, 0)), "1.1, 1.2 of run_7f are stopping");
        assert_eq!(headline(&reply("running", 6, 3)), "1.1, 1.2, 1.3, 1.4, 1.5 and 4 more of run_7f are stopping");
        assert_eq!(headline(&reply("running", 0, 0)), "run_7f is running");
    }
}
