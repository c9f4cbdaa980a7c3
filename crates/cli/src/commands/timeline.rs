//! `switchboard timeline`

use std::collections::HashMap;

use switchboard_protocol::verb::timeline::{
    GetTimeline, GetTimelineRequest, TimelineCause, TimelineEntry, TimelineKind, TimelineState,
};

use crate::context::Context;
use crate::output::{Table, money, one_line, span, when};
use crate::report::Outcome;

/// Maximum length of an entry's text in characters.
const WIDTH: usize = 200;

/// Show what happened in a run and why: dispatch, workers, turns, gates, merges, with costs
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: get_timeline")]
pub(crate) struct Args {
    /// The run, or the beginning of its id; the newest run when left out
    run: Option<String>,
    /// Maximum number of entries, not counting the turns of their workers; all when left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: Option<u32>,
    /// Only entries after the one with this id
    #[arg(long, value_name = "ID", default_value_t = 0)]
    after: u64,
}

/// Requests the entries page by page and prints each.
pub(crate) fn run(args: Args, context: &mut Context) -> Outcome {
    let mut client = context.daemon()?;
    let mut request = GetTimelineRequest { run: args.run, after: args.after, limit: args.limit };
    let mut numbers = Numbers::default();
    loop {
        let page = client.call::<GetTimeline>(&request)?;
        if context.json {
            page.entries.iter().for_each(|entry| context.out.json(entry));
        } else if !page.entries.is_empty() || request.after == 0 {
            let mut table = Table::new(&["#", "TIME", "TOOK", "COST", "CAUSE", "WHAT"]);
            page.entries.iter().for_each(|entry| table.row(numbers.row(entry, page.run.as_str())));
            context.out.table(&table);
        }
        let Some(next) = page.next.filter(|_| !context.out.is_closed()) else { return Ok(()) };
        if args.limit.is_some() {
            if !context.json {
                context.out.line(format!("more: switchboard timeline {} --after {next}", page.run));
            }
            return Ok(());
        }
        // All pages must be of the first page's run, even if a newer one starts meanwhile.
        (request.run, request.after) = (Some(page.run.to_string()), next);
    }
}

/// Row numbers, by which rows refer to their cause.
#[derive(Debug, Default)]
struct Numbers(HashMap<u64, usize>);

// === impl Numbers ===

impl Numbers {
    fn row(&mut self, entry: &TimelineEntry, run: &str) -> [String; 6] {
        let number = self.0.len() + 1;
        self.0.insert(entry.id, number);
        let cause = match &entry.caused_by {
            TimelineCause::Entry(id) => self.0.get(id).map_or_else(|| "…".to_owned(), |number| format!("#{number}")),
            TimelineCause::By(name) => one_line(name, 20),
        };
        let took = match (entry.ended_at, entry.state) {
            (Some(end), _) => span(end.since(entry.at)),
            (None, TimelineState::Running) => "…".to_owned(),
            (None, _) => String::new(),
        };
        let what = format!("{:indent$}{}", "", one_line(&says(entry, run), WIDTH), indent = indent(entry.what));
        [number.to_string(), when(entry.at), took, money(entry.micro_usd).unwrap_or_default(), cause, what]
    }
}

const fn indent(what: TimelineKind) -> usize {
    match what {
        TimelineKind::LoopTurn | TimelineKind::Run | TimelineKind::Branch => 0,
        TimelineKind::Worker
        | TimelineKind::Gate
        | TimelineKind::LintFix
        | TimelineKind::Rebase
        | TimelineKind::Hold
        | TimelineKind::Merge
        | TimelineKind::Task
        | TimelineKind::Control => 1,
        TimelineKind::Turn | TimelineKind::Question => 2,
    }
}

/// Describes an entry in one line.
fn says(entry: &TimelineEntry, run: &str) -> String {
    let TimelineEntry { name, detail, .. } = entry;
    let task = entry.task.as_ref().map(|task| format!("{task} ")).unwrap_or_default();
    let state = word(entry.state);
    let with = |text: String| if detail.is_empty() { text } else { format!("{text}: {detail}") };
    match entry.what {
        TimelineKind::LoopTurn => with(format!("turn {} of the loop", entry.turn.unwrap_or(0))),
        TimelineKind::Run => with(format!("{run} {name} {state}")),
        TimelineKind::Worker => {
            let left_out = if entry.left_out > 0 { format!(", {} more turns", entry.left_out) } else { String::new() };
            with(format!("{task}attempt {}, {name} {state}{left_out}", entry.attempt.unwrap_or(0)))
        }
        TimelineKind::Turn => with(format!("turn {} {state}", entry.turn.unwrap_or(0))),
        TimelineKind::Question => with(format!("asks {state}")),
        TimelineKind::Gate => with(format!("{task}{name} {}", passed(entry.state))),
        TimelineKind::LintFix => with(format!("{task}lint_fix")),
        TimelineKind::Rebase => format!("{task}rebased"),
        TimelineKind::Hold => with(format!("{task}held by {name}")),
        TimelineKind::Merge => match entry.state {
            TimelineState::Done => format!("{task}merged {detail}"),
            TimelineState::Running
            | TimelineState::Failed
            | TimelineState::Paused
            | TimelineState::Stopped
            | TimelineState::Skipped => with(format!("{task}merge {state}")),
        },
        TimelineKind::Task => with(format!("{task}{state}")),
        TimelineKind::Control => with(format!("{task}{name}")),
        TimelineKind::Branch => with(format!("merge into {name} {state}")),
    }
}

const fn word(state: TimelineState) -> &'static str {
    match state {
        TimelineState::Running => "goes on",
        TimelineState::Done => "done",
        TimelineState::Failed => "failed",
        TimelineState::Paused => "paused",
        TimelineState::Stopped => "stopped",
        TimelineState::Skipped => "left out",
    }
}

const fn passed(state: TimelineState) -> &'static str {
    match state {
        TimelineState::Done => "passed",
        TimelineState::Running
        | TimelineState::Failed
        | TimelineState::Paused
        | TimelineState::Stopped
        | TimelineState::Skipped => word(state),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use switchboard_protocol::time::Millis;

    use super::*;

    fn entry(value: serde_json::Value) -> TimelineEntry {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_row_names_its_cause_by_number_and_fits_eighty_columns() {
        let run = entry(json!({ "id": 10, "at": 0, "what": "run", "state": "running", "name": "A plan",
            "caused_by": { "by": "ben" } }));
        let worker = entry(
            json!({ "id": 14, "at": 1000, "ended_at": 63_000, "what": "worker", "state": "done", "task": "1.1",
            "attempt": 1, "worker": "worker_1", "name": "ada", "detail": "12 changed: src/a/very/long/path.rs, src/b.rs",
            "micro_usd": 1_250_000, "caused_by": { "entry": 10 } }),
        );
        let gate = entry(json!({ "id": 20, "at": Millis(64_000), "what": "gate", "state": "failed", "task": "1.1",
            "name": "lint", "caused_by": { "entry": 3 } }));
        let rows: Vec<Vec<String>> = [run, worker, gate]
            .iter()
            .scan(Numbers::default(), |numbers, entry| Some(numbers.row(entry, "run_1").to_vec()))
            .collect();
        assert_eq!([&rows[0][2..]].concat(), ["…", "", "ben", "run_1 A plan goes on"]);
        let what = " 1.1 attempt 1, ada done: 12 changed: src/a/very/long/path.rs, src/b.rs";
        assert_eq!([&rows[1][2..]].concat(), ["1 min 2 s", "$1.25", "#1", what]);
        assert_eq!([&rows[2][2..]].concat(), ["", "", "…", " 1.1 lint failed"]);
        let mut table = Table::new(&["#", "TIME", "TOOK", "COST", "CAUSE", "WHAT"]);
        rows.into_iter().for_each(|row| table.row(row));
        assert!(table.within(Some(80)).iter().all(|line| line.chars().count() <= 80));
    }
}
