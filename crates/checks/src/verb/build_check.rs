//! `build_check`

use std::path::Path;

use switchboard_protocol::error::Failure;
use switchboard_protocol::evidence::BuildRun;
use switchboard_protocol::finding::{CheckCommand, CommandKind, CommandRun};
use switchboard_protocol::verb::check::{
    BuildCheckReply, BuildCheckRequest, BuildSummary, BuildVerdict, CommandFinding,
};

use super::arguments::folder;
use crate::commands::{combined_output, lacked_program, run as run_command};
use crate::engine::Engine;
use crate::output::findings;
use crate::project::build::{Step, steps};
use crate::project::{Project, Search, Tool};
use std::collections::HashSet;

/// Time limit of one command, in milliseconds.
const TIME_MS: u64 = 300_000;
/// Maximum kept from the end of a stream, as a pair of characters and lines.
const TAIL: (usize, usize) = (10_000, 100);

pub(super) fn run(engine: &Engine, root: &Path, args: &BuildCheckRequest) -> Result<BuildCheckReply, Failure> {
    let folder = folder(root, args.working_directory.as_deref())?;
    let changed = args.changed_files.paths();
    let is_changed_only = match args.scope.as_deref() {
        None | Some("all") => false,
        Some("changed") => true,
        Some(other) => {
            let other: String = other.chars().take(40).collect();
            return Err(Failure::new("request.bad-args", format!("the scope `{other}` is neither all nor changed")));
        }
    };
    let project = Project::new(&folder);
    let all = steps(&project, args.mode, if is_changed_only { &changed } else { &[] });
    let covered = |step: &Step| {
        !is_changed_only || step.covers.is_empty() || changed.iter().any(|path| step.covers.contains(&ending(path)))
    };
    let wanted: Vec<Step> = all.into_iter().filter(covered).collect();
    let mut missing = Vec::new();
    let mut tools: Vec<(&str, Tool)> = Vec::new();
    for step in wanted {
        match step.search {
            Search::Found(tool) => tools.push((step.kind, tool)),
            Search::NotInstalled(name) => missing.push(format!("{name} is not installed")),
            Search::NotConfigured(what) => missing.push(what.to_owned()),
            Search::Nothing => {}
        }
    }
    let limit = args.timeout_ms.unwrap_or(TIME_MS).clamp(1_000, TIME_MS).div_ceil(1_000);
    let done = tools.iter().map(|(kind, tool)| {
        let argv = tool.argv.clone();
        let command =
            CheckCommand { kind: CommandKind::Build, argv, cwd: None, time_limit_s: Some(limit), env: Vec::new() };
        (*kind, run_command(&folder, &command, &engine.limits))
    });
    Ok(reply(&folder, done.collect(), missing, changed.len()))
}

fn ending(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(_, ending)| ending)
}

fn reply(folder: &Path, done: Vec<(&str, CommandRun)>, mut missing: Vec<String>, files: usize) -> BuildCheckReply {
    // A script whose program is missing has built nothing.
    let lacked = |run: &CommandRun| lacked_program(run).map(|name| format!("{name} is not installed"));
    let failed = done.iter().filter(|(_, run)| run.exit_code != Some(0) && lacked(run).is_none()).count();
    missing.extend(done.iter().filter_map(|(_, run)| lacked(run)));
    let mut named = HashSet::new();
    missing.retain(|why| named.insert(why.clone()));
    let is_incomplete = !missing.is_empty();
    let skipped_reason = match (is_incomplete, done.is_empty()) {
        (true, _) => Some(format!("could not run: {}", missing.join(", "))),
        (false, true) => Some("nothing here says how it is built".to_owned()),
        (false, false) => None,
    };
    // A build and a type check may report the same error.
    let mut seen = HashSet::new();
    let mut found: Vec<CommandFinding> =
        done.iter().flat_map(|(_, run)| findings(folder, &combined_output(run))).collect();
    found.retain(|one| seen.insert((one.path.clone(), one.line, one.message.clone())));
    BuildCheckReply {
        verdict: match (failed, is_incomplete, done.is_empty()) {
            (1.., _, _) => BuildVerdict::Fail,
            (0, true, _) => BuildVerdict::NotRun,
            (0, false, true) => BuildVerdict::Info,
            (0, false, false) => BuildVerdict::Pass,
        },
        summary: BuildSummary {
            files_scanned: files as u64,
            runs_count: done.len() as u64,
            failed_count: failed as u64,
            skipped_reason,
        },
        findings: found,
        memory: done.first().map_or_else(|| "not limited".to_owned(), |(_, run)| run.memory.clone()),
        runs: done.into_iter().map(|(kind, run)| build_run(kind, run)).collect(),
    }
}

/// Converts a run to the form of the evidence. That form has no field for a signal, so its text goes with the errors.
fn build_run(kind: &str, run: CommandRun) -> BuildRun {
    let stderr = if run.exit_code.is_some() { run.stderr } else { format!("{}\n{}", run.stderr, run.ending) };
    BuildRun {
        kind: kind.to_owned(),
        command: command(&run.argv).chars().take(500).collect(),
        cwd: run.cwd,
        exit_code: run.exit_code.map_or(-1, i64::from),
        duration_ms: run.duration_ms,
        stdout_tail: tail(&run.stdout),
        stderr_tail: tail(&stderr),
    }
}

/// Formats a command for a person; leaves out a word of several lines, which is a script.
fn command(argv: &[String]) -> String {
    let words: Vec<&str> = argv.iter().map(|word| if word.contains('\n') { "…" } else { word.as_str() }).collect();
    words.join(" ")
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let text = lines[lines.len().saturating_sub(TAIL.1)..].join("\n");
    let skipped = text.chars().count().saturating_sub(TAIL.0);
    text.chars().skip(skipped).collect()
}
