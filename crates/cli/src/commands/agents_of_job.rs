//! `switchboard agents-of-job`: returns to the daemon how a job's agents are started. Started by the daemon, never by hand.

use std::io::Read as _;

use switchboard_daemon::agents::{Answer, Found, JobRequest};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::wire::MAX_LINE_BYTES;

use crate::commands::run::agents::{self, Named};
use crate::context::Context;
use crate::report::Outcome;

/// Print how the agents of a job are started (started by the daemon)
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Answers the request on standard input.
pub(crate) fn run(_: &Args, context: &mut Context) -> Outcome {
    let answer = match read_job().and_then(|wanted| found(&wanted, context)) {
        Ok(found) => Answer::Found(found),
        Err(failure) => Answer::Failed(failure),
    };
    context.out.json(&answer);
    Ok(())
}

fn read_job() -> Result<JobRequest, Failure> {
    let what = "the question on standard input can't be read";
    let unreadable = || Failure::new("request.bad-args", what);
    let mut text = Vec::new();
    std::io::stdin()
        .take(MAX_LINE_BYTES as u64)
        .read_to_end(&mut text)
        .map_err(|error| unreadable().because(&error))?;
    serde_json::from_slice(&text).map_err(|error| unreadable().because(&error))
}

fn found(wanted: &JobRequest, context: &Context) -> Result<Found, Failure> {
    let plan = switchboard_daemon::trust::plan(&wanted.job.plan(wanted.mode), "job.json")?;
    let named = Named {
        agent: wanted.agent.as_ref().map(AgentName::as_str),
        model: None,
        roles: None,
        has: &[],
        coders: &[],
        plans: false,
        scope: wanted.scope,
        debates: false,
    };
    let choice = agents::choose(&plan, named, context)?;
    Ok(Found { agents: choice.agents, default: choice.default })
}
