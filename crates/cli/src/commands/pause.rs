//! `switchboard pause` and `switchboard resume`

use switchboard_protocol::verb::run::{PauseRun, PauseRunRequest, ResumeRun, ResumeRunRequest};

use crate::context::Context;
use crate::report::Outcome;

/// Pause a run or one task: workers end their turns, and nothing new starts or merges
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: pause_run")]
pub(crate) struct PauseArgs {
    /// `RUN` or `RUN/TASK`
    what: String,
}

/// Let a paused run or task go on
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: resume_run\n\nTo follow the run, too: switchboard run --resume RUN")]
pub(crate) struct ResumeArgs {
    /// `RUN` or `RUN/TASK`; the newest run when left out
    what: Option<String>,
}

/// Pauses.
pub(crate) fn run_pause(args: PauseArgs, context: &mut Context) -> Outcome {
    let reply = context.daemon()?.call::<PauseRun>(&PauseRunRequest { what: args.what.clone() })?;
    if context.json {
        context.out.json(&reply);
    } else {
        context.out.line(format!("{} is paused: workers end their turns, nothing new starts or merges", args.what));
        context.out.line(format!("let it go on: switchboard resume {}", args.what));
    }
    Ok(())
}

/// Resumes.
pub(crate) fn run_resume(args: ResumeArgs, context: &mut Context) -> Outcome {
    let request = ResumeRunRequest { run: args.what, ends_daemon: false };
    let reply = context.daemon()?.call::<ResumeRun>(&request)?;
    if context.json {
        context.out.json(&reply);
    } else {
        context.out.line(format!("{} is {}", reply.run, reply.state));
        context.out.line(format!("follow it: switchboard run --resume {}", reply.run));
    }
    Ok(())
}
