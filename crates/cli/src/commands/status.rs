//! `switchboard status`

use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::run::{GetRun, GetRunRequest, RunSummary, TaskReport};
use switchboard_protocol::verb::system::{GetStatus, GetStatusReply, GetStatusRequest};

use crate::client::Client;
use crate::context::Context;
use crate::output::{Output, Table, Tone, counted, money, one_line, tokens, when};
use crate::report::{Ending, Outcome};
use crate::run_report::state_of;

/// Interval between two updates with `--watch`.
const REFRESH_INTERVAL: Duration = Duration::from_secs(2);

/// Maximum number of live runs whose tasks are shown.
const LIVE_SHOWN: usize = 3;

/// Show the state of everything, first what needs you
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: get_status, get_run")]
pub(crate) struct Args {
    /// Update every two seconds, until Ctrl-C
    #[arg(short, long)]
    watch: bool,
}

/// Content of the screen: the status, and the tasks of live runs that have a worker.
struct Shown {
    status: GetStatusReply,
    at_work: Vec<TaskReport>,
}

/// Requests the status and prints it.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    let mut client = context.daemon()?;
    if !args.watch {
        let shown = look(&mut client)?;
        print(&shown, context);
        return Ok(());
    }
    let mut signals = Signals::new([SIGINT, SIGTERM])
        .map_err(|error| Failure::new("internal.bug", "signals can't be listened to").because(&error))?;
    loop {
        let shown = look(&mut client)?;
        if context.environment.stdout_is_terminal && !context.json {
            // Moves the cursor to the top left and clears the screen.
            context.out.text("\x1b[H\x1b[2J");
        }
        print(&shown, context);
        if context.out.is_closed() {
            return Ok(());
        }
        let until = switchboard_process::clock::Deadline::after(REFRESH_INTERVAL);
        while !until.has_passed() {
            if let Some(signal) = signals.pending().next() {
                return Err(Ending::Signal(if signal == SIGTERM { 143 } else { 130 }));
            }
            std::thread::sleep(until.left().min(Duration::from_millis(100)));
        }
    }
}

fn look(client: &mut Client) -> Result<Shown, Failure> {
    let status = client.call::<GetStatus>(&GetStatusRequest {})?;
    let mut at_work = Vec::new();
    for run in status.runs.iter().filter(|run| run.state == "running").take(LIVE_SHOWN) {
        let reply =
            client.call::<GetRun>(&GetRunRequest { run: Some(run.run.to_string()), ..GetRunRequest::default() })?;
        at_work.extend(reply.list.into_iter().filter(is_at_work));
    }
    Ok(Shown { status, at_work })
}

fn is_at_work(task: &TaskReport) -> bool {
    matches!(task.state.as_str(), "starting" | "working" | "capturing" | "gating" | "merging")
}

fn print(shown: &Shown, context: &mut Context) {
    if context.json {
        context.out.json(&shown.status);
    } else {
        show(shown, &mut context.out);
    }
}

fn show(shown: &Shown, out: &mut Output) {
    let status = &shown.status;
    if status.needs > 0 {
        let line = format!("{} for you: switchboard needs", counted(status.needs, "question"));
        out.line(out.paint(Tone::Notice, &line));
    }
    out.line(format!("repository  {}", status.root));
    out.line(format!("daemon      {} (process {}, {})", status.version, status.pid, status.http));
    out.line(format!(
        "team        {} registered, {} unread",
        counted(status.agents, "agent"),
        counted(status.unread, "message")
    ));
    if status.connected < status.workers {
        let workers = counted(status.workers, "worker");
        out.line(format!("workers     {} of {workers} connected", status.connected));
    }
    for mail in &status.unseen {
        let count = counted(mail.count, "message");
        let line = format!("unseen      {} by {}, the oldest since {}", count, mail.agent, when(mail.since));
        out.line(out.paint(Tone::Notice, &line));
    }
    out.line(format!("record      {} events", status.lsn));
    for loss in &status.lost {
        out.line(out.paint(Tone::Bad, &format!("lost        {loss}: switchboard verify")));
    }
    if status.runs.is_empty() {
        out.line("runs        none yet: switchboard run PLAN");
        return;
    }
    out.line("");
    out.table(&run_table(&status.runs));
    if !shown.at_work.is_empty() {
        out.line("");
        out.table(&work_table(&shown.at_work));
    }
}

fn run_table(runs: &[RunSummary]) -> Table {
    let used = |run: &RunSummary| money(run.micro_usd).or_else(|| tokens(run.input_tokens, run.output_tokens));
    // Without any usage the column is left out, which leaves room for the others.
    let is_used = runs.iter().any(|run| used(run).is_some());
    let headings = ["RUN", "STATE", "MERGED", "STARTED", "INTO", "USED", "TITLE"];
    let shown = |heading: &&str| is_used || *heading != "USED";
    let mut table = Table::new(&headings.into_iter().filter(shown).collect::<Vec<_>>());
    for run in runs {
        let into = if run.is_merged { format!("{} (done)", run.target) } else { run.target.clone() };
        let blocked = if run.blocked > 0 { format!(", {} blocked", run.blocked) } else { String::new() };
        // A team's run has no tasks before it has a plan.
        let merged = if run.tasks == 0 { "-".to_owned() } else { format!("{}/{}{blocked}", run.merged, run.tasks) };
        let state = if run.paused.is_some() && run.state == "running" { "paused" } else { run.state.as_str() };
        let state = run.mode.map_or_else(|| state.to_owned(), |mode| format!("{state}, {mode}"));
        let cells = [run.run.to_string(), state, merged, when(run.started_at), one_line(&into, 40)];
        let used = is_used.then(|| used(run).unwrap_or_else(|| "-".to_owned()));
        table.row(cells.into_iter().chain(used).chain([one_line(&run.title, 50)]));
    }
    table
}

fn work_table(tasks: &[TaskReport]) -> Table {
    let mut table = Table::new(&["TASK", "AGENT", "NOW", "WHAT"]);
    for task in tasks {
        table.row([task.id.clone(), task.agent.clone(), state_of(task), one_line(&task.description, 60)]);
    }
    table
}
