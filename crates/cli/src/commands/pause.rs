//! `switchboard pause` and `switchboard resume`

use std::time::{Duration, Instant};

use serde_json::json;
use switchboard_protocol::id::RunId;
use switchboard_protocol::run::TaskPauseCause;
use switchboard_protocol::signal::SignalKind;
use switchboard_protocol::verb::run::{
    GetRun, GetRunReply, GetRunRequest, PauseRun, PauseRunRequest, ResumeRun, ResumeRunRequest, TaskReport,
};

use super::run::inherited_env;
use super::signal::call_or_signal;
use crate::context::Context;
use crate::report::{Ending, Outcome};
use crate::run_report::state_of;

/// How long workers may take to confirm the pause.
const CONFIRM_LIMIT: Duration = Duration::from_secs(2);

/// Interval between two checks of the workers.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Pause a run or tasks of it: workers wait at their next tool, and nothing new starts or merges
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: pause_run")]
pub(crate) struct PauseArgs {
    /// `RUN`, `RUN/TASK`, `RUN/phase:2`, or `RUN/slice:NAME`
    what: String,
    /// Further tasks of that run
    tasks: Vec<String>,
}

/// Resume a paused run or tasks of it
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: resume_run\n\nTo follow the run, too: switchboard run --resume RUN")]
pub(crate) struct ResumeArgs {
    /// `RUN`, `RUN/TASK`, `RUN/phase:2`, or `RUN/slice:NAME`; the newest run when left out
    what: Option<String>,
    /// Further tasks of that run
    tasks: Vec<String>,
}

/// Pauses, and prints the state of each worker once all have confirmed.
pub(crate) fn run_pause(args: PauseArgs, context: &mut Context) -> Outcome {
    let request = PauseRunRequest { what: args.what.clone(), tasks: args.tasks.clone() };
    let named = (Some(args.what.as_str()), args.tasks.as_slice());
    let Some(reply) = call_or_signal::<PauseRun>(&request, SignalKind::Pause, named, context)? else { return Ok(()) };
    let mut client = context.daemon()?;
    let until = Instant::now() + CONFIRM_LIMIT;
    // No task is named where all of the run is paused.
    let of_pause = |task: &TaskReport| reply.tasks.is_empty() || reply.tasks.iter().any(|named| named.id == task.id);
    let workers = loop {
        let run = GetRunRequest { run: Some(reply.run.to_string()), ..GetRunRequest::default() };
        let GetRunReply { list, .. } = client.call::<GetRun>(&run)?;
        let at_work = |task: &TaskReport| task.state == "working" && of_pause(task);
        let workers: Vec<_> = list.into_iter().filter(at_work).collect();
        if workers.iter().all(|task| task.pause.is_some()) || Instant::now() >= until {
            break workers;
        }
        std::thread::sleep(POLL_INTERVAL);
    };
    let all = std::iter::once(args.what.as_str()).chain(args.tasks.iter().map(String::as_str));
    let named = all.collect::<Vec<_>>().join(" ");
    if context.json {
        let workers: Vec<_> = workers.iter().map(|task| json!({ "task": task.id, "pause": task.pause })).collect();
        context.out.json(&json!({ "run": reply.run, "state": reply.state, "workers": workers }));
        return Ok(());
    }
    context.out.line(format!("{named}: nothing new starts or merges"));
    for task in workers {
        let how = match state_of(&task) {
            state if state == "paused" => "paused".to_owned(),
            state if state == "pausing" => "pausing: waits at its next tool or the end of its turn".to_owned(),
            state => format!("{state}; it has not answered yet"),
        };
        context.out.line(format!("    {} ({}): {how}", task.id, task.agent));
    }
    context.out.line(format!("let it go on: switchboard resume {named}"));
    Ok(())
}

/// Resumes a run or tasks.
pub(crate) fn run_resume(args: &ResumeArgs, context: &mut Context) -> Outcome {
    let env = inherited_env(context);
    let request = ResumeRunRequest { run: args.what.clone(), tasks: args.tasks.clone(), ends_daemon: false, env };
    let named = (args.what.as_deref(), args.tasks.as_slice());
    let Some(reply) = call_or_signal::<ResumeRun>(&request, SignalKind::Resume, named, context)? else {
        return Ok(());
    };
    if context.json {
        context.out.json(&reply);
    } else {
        context.out.line(format!("{} is {}", reply.run, reply.state));
        let is_run = |what: &String| {
            let run = reply.run.as_str();
            run.starts_with(what.as_str()) || run.trim_start_matches("run_").starts_with(what.as_str())
        };
        let is_named = !args.tasks.is_empty() || args.what.as_ref().is_some_and(|what| !is_run(what));
        let stay = if is_named { Vec::new() } else { paused_by_name(&reply.run, context)? };
        for task in stay {
            context.out.line(format!("    {task} stays paused: switchboard resume {}/{task}", reply.run));
        }
        let next = match reply.state.as_str() {
            "paused" => format!("its tasks go on once it does: switchboard resume {}", reply.run),
            _ => format!("follow it: switchboard run --resume {}", reply.run),
        };
        context.out.line(next);
    }
    Ok(())
}

/// Returns the tasks that were paused by name, which stay paused when the run resumes. Gives the workers that waited with the run time to go on.
fn paused_by_name(run: &RunId, context: &mut Context) -> Result<Vec<String>, Ending> {
    let mut client = context.daemon()?;
    let until = Instant::now() + CONFIRM_LIMIT;
    let request = GetRunRequest { run: Some(run.to_string()), ..GetRunRequest::default() };
    loop {
        let GetRunReply { list, .. } = client.call::<GetRun>(&request)?;
        let waits = |task: &&TaskReport| task.state == "working" && task.pause.is_some();
        if !list.iter().any(|task| waits(&task)) || Instant::now() >= until {
            let is_paused = |task: &&TaskReport| waits(task) || task.paused == Some(TaskPauseCause::Requested);
            return Ok(list.iter().filter(is_paused).map(|task| task.id.clone()).collect());
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}
