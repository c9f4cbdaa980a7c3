//! `switchboard status`

use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::run::{GetRun, GetRunRequest, RunSummary, TaskReport};
use switchboard_protocol::verb::system::{GetStatus, GetStatusReply, GetStatusRequest};

use crate::client::Client;
use crate::context::Context;
use crate::output::{Output, Table, Tone, counted, money, one_line, short, when};
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
    // A column that says nothing is left out: eighty columns have no room to spare.
    let is_used = runs.iter().any(|run| used(run).is_some());
    let is_split = runs.iter().any(|run| run.target != runs[0].target);
    let headings = ["RUN", "STATE", "MERGED", "STARTED", "INTO", "USED", "TITLE"];
    let shown = |heading: &&str| (is_used || *heading != "USED") && (is_split || *heading != "INTO");
    let mut table = Table::new(&headings.into_iter().filter(shown).collect::<Vec<_>>());
    for run in runs {
        let blocked = if run.blocked > 0 { format!(", {} blocked", run.blocked) } else { String::new() };
        // A team's run has no tasks before it has a plan.
        let merged = if run.tasks == 0 { "-".to_owned() } else { format!("{}/{}{blocked}", run.merged, run.tasks) };
        let cells = [run.run.to_string(), state_of_run(run), merged, when(run.started_at)];
        let into = is_split.then(|| one_line(&run.target, 40));
        let used = is_used.then(|| used(run).unwrap_or_else(|| "-".to_owned()));
        table.row(cells.into_iter().chain(into).chain(used).chain([one_line(&run.title, 50)]));
    }
    table
}

/// Returns the state of a run, its mode, and whether it is merged into the user's branch.
fn state_of_run(run: &RunSummary) -> String {
    let state = if run.paused.is_some() && run.state == "running" { "paused" } else { run.state.as_str() };
    match (state, run.mode) {
        ("succeeded", _) if run.is_merged => "merged".to_owned(),
        (state, _) if run.is_merged => format!("{state}, merged"),
        (state, Some(mode)) => format!("{state}, {mode}"),
        (state, None) => state.to_owned(),
    }
}

/// Returns what a run has cost, with `~` if a part is estimated, else its tokens in one number; `show` has both kinds.
fn used(run: &RunSummary) -> Option<String> {
    if let Some(estimated) = run.estimated_micro_usd.filter(|micro_usd| *micro_usd > 0) {
        return money(Some(run.micro_usd.unwrap_or(0).saturating_add(estimated))).map(|money| format!("~{money}"));
    }
    let tokens = run.input_tokens.unwrap_or(0) + run.output_tokens.unwrap_or(0);
    money(run.micro_usd).or_else(|| (tokens > 0).then(|| format!("{} tok", short(tokens))))
}

fn work_table(tasks: &[TaskReport]) -> Table {
    let mut table = Table::new(&["TASK", "AGENT", "NOW", "WHAT"]);
    for task in tasks {
        table.row([task.id.clone(), task.agent.clone(), state_of(task), one_line(&task.description, 60)]);
    }
    table
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::id::RunId;

    use super::*;

    #[test]
    fn a_cost_that_is_estimated_is_marked() {
        let run = |told, estimated| RunSummary {
            micro_usd: told,
            estimated_micro_usd: estimated,
            ..run("running", false, 1000)
        };

        assert_eq!(used(&run(None, Some(810_000))).as_deref(), Some("~$0.8100"));
        assert_eq!(used(&run(Some(190_000), Some(810_000))).as_deref(), Some("~$1.00"));
        assert_eq!(used(&run(Some(190_000), Some(0))).as_deref(), Some("$0.1900"));
        assert_eq!(used(&run(None, None)).as_deref(), Some("1.4k tok"));
    }

    fn run(state: &str, is_merged: bool, tokens: u64) -> RunSummary {
        serde_json::from_value(serde_json::json!({
            "run": RunId::new("run_0123456789abcdef").unwrap(), "title": "Notes and more", "state": state, "branch": "b",
            "target": "main", "base": "c", "tasks": 3, "merged": 1, "blocked": 2, "is_merged": is_merged,
            "started_at": switchboard_process::clock::now(), "input_tokens": tokens, "output_tokens": 456,
        }))
        .unwrap()
    }

    #[test]
    fn what_is_merged_and_the_title_are_whole_in_80_columns_beside_the_tokens() {
        let runs = [run("failed", false, 12_345), run("succeeded", false, 2_400_000), run("succeeded", true, 0)];

        let lines = run_table(&runs).within(Some(80));

        assert!(lines[1].contains("1/3, 2 blocked") && lines[1].contains("12.8k tok"), "{lines:?}");
        assert!(lines[2].ends_with("  Notes and…"), "{lines:?}");
        assert!(lines[3].contains("  merged  ") && !lines[0].contains("INTO"), "{lines:?}");
    }

    #[test]
    fn the_branch_is_named_where_runs_have_several() {
        let other = RunSummary { target: "feature".to_owned(), ..run("running", false, 0) };

        let lines = run_table(&[run("failed", true, 0), other]).lines();

        assert!(lines[0].contains("INTO") && lines[2].contains("feature"), "{lines:?}");
        assert!(lines[1].contains("failed, merged"), "{lines:?}");
    }
}
