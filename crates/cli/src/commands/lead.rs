//! `switchboard lead`: gives, takes back or shows the architect's seat of a run.

use std::fmt::Write as _;

use switchboard_protocol::error::Failure;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::verb::lead::{
    LeadRun, LeadRunRequest, LeaveSeat, LeaveSeatRequest, OpenStep, SeatReply, SeatStatus, SeatStatusRequest,
};

use super::budget::BudgetFlags;
use crate::context::Context;
use crate::output::{money, one_line};
use crate::report::Outcome;

/// Maximum length of a text in a line, in characters.
const WIDTH: usize = 200;

/// Milliseconds in a minute.
const MINUTE: u64 = 60_000;

/// Have an agent lead a run that a team carries out: it plans, and begins each step of the others
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Verb: lead_run, leave_seat, seat_status\n\nWithout an agent it says who leads the run. See docs/team.md, *Led by an agent*."
)]
pub(crate) struct Args {
    /// The run
    run: String,
    /// The agent, by its registered name
    #[arg(conflicts_with = "end")]
    agent: Option<String>,
    /// Take the seat back: from then on the engine drives the run
    #[arg(long)]
    end: bool,
    /// Minutes that the seat lasts without a call from the agent; 15 when left out
    #[arg(long, value_name = "MINUTES", requires = "agent", value_parser = clap::value_parser!(u64).range(1..=1440))]
    lease: Option<u64>,
    #[command(flatten)]
    budget: BudgetFlags,
}

/// Gives the seat, takes it back, or prints who has it.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    let (run, budget) = (args.run.clone(), args.budget.budget());
    if args.budget.plan_budget().is_some() {
        let what = "a run that a team carries out has a ceiling of its own, and none for all runs of a plan";
        return Err(Failure::new("request.bad-args", what).at("--plan-budget").into());
    }
    if budget.is_some() && args.agent.is_none() {
        let what = "--budget is said with the agent that is to lead the run";
        return Err(Failure::new("request.bad-args", what)
            .hint(format!("switchboard budget {run} --budget USD"))
            .into());
    }
    let mut client = context.daemon()?;
    let reply = match &args.agent {
        Some(name) => {
            let agent = Some(named(name)?);
            let lease_ms = args.lease.map(|minutes| minutes * MINUTE);
            client.call::<LeadRun>(&LeadRunRequest { run, agent, budget, lease_ms })?
        }
        None if args.end => client.call::<LeaveSeat>(&LeaveSeatRequest { run, fence: None })?,
        None => client.call::<SeatStatus>(&SeatStatusRequest { run, wait_ms: None })?,
    };
    if context.json {
        context.out.json(&reply);
        return Ok(());
    }
    for line in lines(&reply, args.agent.is_some()) {
        context.out.line(line);
    }
    Ok(())
}

fn named(name: &str) -> Result<AgentName, Failure> {
    AgentName::new(name).map_err(|error| {
        Failure::new("request.bad-args", format!("{name:?} can't be the name of an agent")).because(&error)
    })
}

fn lines(reply: &SeatReply, is_given: bool) -> Vec<String> {
    let SeatReply { run, form, agent, lease_ms, mode, waits_for, ceiling, left, open, .. } = reply;
    let who = match (form.as_str(), agent) {
        ("led", Some(agent)) => format!("{run} is led by {agent}"),
        ("vacant", Some(agent)) => format!("{run} waits for somebody who leads it: {agent} has lost the seat"),
        (_, _) => format!("{run} is driven by the engine"),
    };
    let mut lines = vec![who, format!("    {mode}: waits for {}", one_line(waits_for, WIDTH))];
    if let Some(ceiling) = money(*ceiling) {
        let left = money(*left).map(|left| format!(", {left} of it left")).unwrap_or_default();
        lines.push(format!("    may cost {ceiling}{left}"));
    }
    lines.extend(open.iter().map(step_line));
    if let (true, Some(lease), Some(agent)) = (is_given, lease_ms, agent) {
        let minutes = lease / MINUTE;
        lines.push(format!("{agent} goes on with: seat_status run={run} (over MCP); the seat is lost after {minutes} minutes without a call"));
        lines.push(format!("take it back: switchboard lead {run} --end"));
    }
    lines
}

fn step_line(open: &OpenStep) -> String {
    let mut line = format!("    {} {}", open.verb, open.step);
    if let Some(task) = &open.task {
        let _ = write!(line, " of task {task}");
    }
    line
}
