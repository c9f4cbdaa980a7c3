//! `switchboard status`

use switchboard_protocol::verb::run::RunSummary;
use switchboard_protocol::verb::system::{GetStatus, GetStatusReply, GetStatusRequest};

use crate::context::Context;
use crate::output::{Output, Table, Tone, counted, one_line};
use crate::report::Outcome;

/// Show how everything is, what needs you first
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: get_status")]
pub(crate) struct Args {}

/// Asks and shows.
pub(crate) fn run(_: &Args, context: &mut Context) -> Outcome {
    let status = context.daemon()?.call::<GetStatus>(&GetStatusRequest {})?;
    if context.json {
        context.out.json(&status);
    } else {
        show(&status, &mut context.out);
    }
    Ok(())
}

fn show(status: &GetStatusReply, out: &mut Output) {
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
    for mail in &status.unseen {
        let count = counted(mail.count, "message");
        let line = format!("unseen      {} by {}, the oldest since {}", count, mail.agent, mail.since);
        out.line(out.paint(Tone::Notice, &line));
    }
    out.line(format!("record      {} events", status.lsn));
    if status.runs.is_empty() {
        out.line("runs        none yet: switchboard run PLAN");
        return;
    }
    out.line("");
    for line in run_table(&status.runs).lines() {
        out.line(line);
    }
}

fn run_table(runs: &[RunSummary]) -> Table {
    let mut table = Table::new(&["RUN", "STATE", "MERGED", "BLOCKED", "INTO", "TITLE"]);
    for run in runs {
        let into = if run.is_merged { format!("{} (done)", run.target) } else { run.target.clone() };
        let merged = format!("{}/{}", run.merged, run.tasks);
        let cells = [run.run.to_string(), run.state.clone(), merged, run.blocked.to_string()];
        table.row(cells.into_iter().chain([one_line(&into, 40), one_line(&run.title, 50)]));
    }
    table
}
