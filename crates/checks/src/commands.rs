//! Runs the commands that a request brings, and nothing else of the repository.

use std::path::Path;
use std::time::{Duration, Instant};

use protocol::finding::{CheckCommand, CheckName, CheckReport, CheckRequest, CheckVerdict, CommandRun};

use crate::Limits;
use crate::command::{self, Ending, Job, TOOLCHAIN_ENV};
use crate::engine::millis;

/// The checks that are made of commands.
const MADE_OF_COMMANDS: [CheckName; 3] = [CheckName::Lint, CheckName::BuildCheck, CheckName::TestRunner];

/// Runs the commands in turn, one report for each check that has one or was asked for by name.
pub(crate) fn reports(root: &Path, request: &CheckRequest, limits: &Limits) -> Vec<CheckReport> {
    let wanted = MADE_OF_COMMANDS.iter().filter(|check| request.only.is_empty() || request.only.contains(check));
    wanted
        .filter_map(|check| {
            let commands: Vec<_> = request.commands.iter().filter(|command| command.kind.check() == *check).collect();
            let is_asked = request.only.contains(check);
            (!commands.is_empty() || is_asked).then(|| report(*check, root, &commands, limits))
        })
        .collect()
}

fn report(check: CheckName, root: &Path, commands: &[&CheckCommand], limits: &Limits) -> CheckReport {
    let started = Instant::now();
    let runs: Vec<CommandRun> = commands.iter().map(|command| run(root, command, limits)).collect();
    let failed: Vec<&CommandRun> = runs.iter().filter(|run| run.exit_code != Some(0)).collect();
    let (verdict, summary) = match (&runs[..], &failed[..]) {
        ([], _) => (CheckVerdict::Skip, "no command was given".into()),
        (runs, []) => (CheckVerdict::Pass, format!("{} of {} commands passed", runs.len(), runs.len())),
        (_, [first, ..]) => (verdict(&failed), format!("`{}`: {}", first.argv.join(" "), first.ending)),
    };
    CheckReport {
        check,
        verdict,
        summary,
        findings: Vec::new(),
        findings_left_out: 0,
        files_checked: 0,
        skipped: Vec::new(),
        skipped_left_out: 0,
        runs,
        duration_ms: millis(started),
    }
}

/// A command that ran and failed is a failure; one that could not start is an error of whoever named it.
fn verdict(failed: &[&CommandRun]) -> CheckVerdict {
    let started = |run: &&CommandRun| !run.ending.starts_with(NOT_STARTED);
    if failed.iter().all(started) { CheckVerdict::Fail } else { CheckVerdict::Error }
}

const NOT_STARTED: &str = "could not start";

fn run(root: &Path, command: &CheckCommand, limits: &Limits) -> CommandRun {
    let asked = command.time_limit_s.map_or(limits.command_time, Duration::from_secs);
    let time_limit = asked.min(limits.command_time_most);
    let cwd = command.cwd.clone().unwrap_or_else(|| ".".into());
    let mut done = CommandRun {
        kind: command.kind,
        argv: command.argv.iter().map(|word| crate::secrets::redact(word)).collect(),
        cwd: cwd.clone(),
        exit_code: None,
        ending: String::new(),
        duration_ms: 0,
        stdout: String::new(),
        stderr: String::new(),
        memory: "not limited".into(),
    };
    let outcome = folder(root, &cwd).and_then(|cwd| {
        let (program, args) = command.argv.split_first().ok_or("it names no program")?;
        let job = Job {
            program,
            args,
            cwd: &cwd,
            pass_env: TOOLCHAIN_ENV,
            set_env: &[],
            time_limit,
            keep: limits.output_bytes,
        };
        command::run(&job).map_err(|error| error.to_string())
    });
    match outcome {
        Err(why) => done.ending = format!("{NOT_STARTED}: {why}"),
        Ok(outcome) => {
            done.exit_code = match outcome.ending {
                Ending::Exited(code) => Some(code),
                Ending::Signalled(_) | Ending::TimedOut => None,
            };
            done.ending = ending(outcome.ending, time_limit);
            done.duration_ms = u64::try_from(outcome.took.as_millis()).unwrap_or(u64::MAX);
            done.stdout = crate::secrets::redact(&outcome.stdout.text());
            done.stderr = crate::secrets::redact(&outcome.stderr.text());
        }
    }
    done
}

fn ending(ending: Ending, limit: Duration) -> String {
    match ending {
        Ending::Exited(code) => format!("exit {code}"),
        Ending::Signalled(signal) => format!("killed by signal {signal}"),
        Ending::TimedOut => format!("stopped after {} s", limit.as_secs()),
    }
}

/// Finds the folder to run in; it must lie in the root.
fn folder(root: &Path, cwd: &str) -> Result<std::path::PathBuf, String> {
    let folder = root.join(cwd).canonicalize().map_err(|error| format!("the folder `{cwd}`: {error}"))?;
    if folder.starts_with(root) { Ok(folder) } else { Err(format!("the folder `{cwd}` lies outside")) }
}
