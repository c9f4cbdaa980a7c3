//! Runs the commands of a request under limits and returns their output without secrets.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use regex::Regex;
use switchboard_process::env::Env;
use switchboard_process::spawn::{Capture, End, Exit, Output, Spawn};
use switchboard_protocol::finding::{
    CheckCommand, CheckName, CheckReport, CheckRequest, CheckVerdict, CommandKind, CommandRun, Finding, Severity, Span,
};

use crate::fingerprint::{Occurrences, fingerprint};
use crate::limits::Limits;
use crate::limits::millis;
use crate::output::{self, totals};

mod memory;

use memory::MemoryLimit;

/// Checks whose work is to run commands.
const MADE_OF_COMMANDS: [CheckName; 3] = [CheckName::Lint, CheckName::BuildCheck, CheckName::TestRunner];
/// Variables that a build tool needs to find its toolchain, besides those that every child gets; none carries a
/// credential.
const TOOLCHAIN_ENV: [&str; 5] = ["CARGO_TARGET_DIR", "GOCACHE", "GOTOOLCHAIN", "DOTNET_ROOT", "LC_ALL"];

/// Reports the checks that a request names and this version does not have; their verdict is an error.
pub(crate) fn not_available(request: &CheckRequest) -> impl Iterator<Item = CheckReport> {
    let missing = [CheckName::SastScan, CheckName::QualityBudget].into_iter();
    missing.filter(|check| request.only.contains(check)).map(|check| {
        CheckReport::new(check, CheckVerdict::Error, format!("not available: this version has no {check}"))
    })
}

/// Runs the commands of a request in turn. Returns one report for each check that has a command or was named.
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
        (runs, []) => {
            match runs.iter().find(|run| run.kind == CommandKind::Test && totals::counts_none(&combined_output(run))) {
                // A command that ran no test has not passed.
                Some(empty) => (CheckVerdict::Skip, format!("`{}` ran no test", empty.argv.join(" "))),
                None if runs.iter().any(|run| {
                    run.kind == CommandKind::Test && totals::is_cut_short(&run.argv, &combined_output(run))
                }) =>
                {
                    // Something ended the runner before it printed its count.
                    (CheckVerdict::Fail, "the test command ended with 0 before it said how many tests had run".into())
                }
                None => (CheckVerdict::Pass, format!("{} of {} commands passed", runs.len(), runs.len())),
            }
        }
        (_, [first, ..]) => (verdict(&failed), format!("`{}`: {}", first.argv.join(" "), first.ending)),
    };
    let findings = findings(check, root, &runs);
    CheckReport { findings, runs, duration_ms: millis(started), ..CheckReport::new(check, verdict, summary) }
}

/// Returns the verdict: a failed command is a failure, one that could not start is an error.
fn verdict(failed: &[&CommandRun]) -> CheckVerdict {
    if failed.iter().all(|run| has_started(run)) { CheckVerdict::Fail } else { CheckVerdict::Error }
}

const NOT_STARTED: &str = "could not start";

/// Returns whether a command started at all.
pub(crate) fn has_started(run: &CommandRun) -> bool {
    !run.ending.starts_with(NOT_STARTED)
}

/// Returns the program that a command did not find; a shell exits with 127 in that case.
pub(crate) fn lacked_program(run: &CommandRun) -> Option<String> {
    static NAMED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?m)^(?:[\w/.-]+: )(?:line \d+: |\d+: )?(?P<name>[\w@/.-]+): (?:(?:command )?not found|No such file or directory)$")
            .expect("a constant pattern")
    });
    let said = combined_output(run);
    // `make` exits with a code of its own.
    let is_it = run.exit_code == Some(127) || (run.exit_code == Some(2) && said.contains("] Error 127"));
    is_it.then(|| {
        NAMED.captures(&said).map_or_else(|| "a program that it starts".to_owned(), |found| found["name"].to_owned())
    })
}

/// Runs one command below `root`. Any error is in the `ending` of the result.
pub(crate) fn run(root: &Path, command: &CheckCommand, limits: &Limits) -> CommandRun {
    let asked = command.time_limit_s.map_or(limits.command_time, Duration::from_secs);
    let time_limit = asked.min(limits.command_time_most);
    let memory = MemoryLimit::new(limits.command_memory);
    let cwd = command.cwd.clone().unwrap_or_else(|| ".".into());
    let mut done = CommandRun {
        kind: command.kind,
        argv: command.argv.iter().map(|word| switchboard_secrets::redact(word)).collect(),
        cwd: cwd.clone(),
        exit_code: None,
        ending: String::new(),
        duration_ms: 0,
        stdout: String::new(),
        stderr: String::new(),
        memory: "not limited".into(),
        tests: None,
    };
    let output = folder(root, &cwd).and_then(|cwd| start(command, &cwd, memory.as_ref(), time_limit, limits));
    match output {
        Err(why) => done.ending = format!("{NOT_STARTED}: {why}"),
        Ok(output) => {
            done.exit_code = output.exit.code().filter(|_| output.end == End::ByItself);
            done.ending = ending(&output, time_limit);
            done.duration_ms = u64::try_from(output.took.as_millis()).unwrap_or(u64::MAX);
            done.stdout = shown(&output.stdout);
            done.stderr = shown(&output.stderr);
            if command.kind == CommandKind::Test {
                done.tests = totals::guess(&combined_output(&done));
            }
            if let Some(memory) = memory.filter(MemoryLimit::was_used) {
                done.memory = memory.label();
                if memory.was_exceeded() {
                    done.ending = format!("ended over its memory limit of {}", memory.label());
                }
            }
        }
    }
    done
}

/// Returns both streams of a command, standard output first.
pub(crate) fn combined_output(run: &CommandRun) -> String {
    let between = if run.stdout.is_empty() || run.stdout.ends_with('\n') { "" } else { "\n" };
    format!("{}{between}{}", run.stdout, run.stderr)
}

/// Returns the findings that failed commands printed about files. The rule is the tool's own where it names one, else
/// the check's name.
fn findings(check: CheckName, root: &Path, runs: &[CommandRun]) -> Vec<Finding> {
    let failed = runs.iter().filter(|run| run.exit_code != Some(0));
    let told = failed.flat_map(|run| output::findings(&root.join(&run.cwd), &combined_output(run)));
    let mut seen = Occurrences::default();
    told.map(|told| {
        let rule = told.rule.unwrap_or_else(|| check.as_str().to_owned());
        let column = told.column.unwrap_or(1);
        let occurrence = seen.next(&rule, told.message.as_bytes());
        Finding {
            check,
            severity: if told.severity == "error" { Severity::High } else { Severity::Low },
            remedy: "See what the command says.".into(),
            cwe: None,
            span: Span { start_line: told.line, start_column: column, end_line: told.line, end_column: column },
            fingerprint: fingerprint(&rule, &told.path, told.message.as_bytes(), occurrence),
            message: told.message,
            path: told.path,
            is_new: true,
            blocks: told.severity == "error",
            allowed: None,
            masked: None,
            excerpt: None,
            commit: None,
            rule,
        }
    })
    .collect()
}

fn start(
    command: &CheckCommand,
    cwd: &Path,
    memory: Option<&MemoryLimit>,
    time_limit: Duration,
    limits: &Limits,
) -> Result<Output, String> {
    let env = Env::plain().inherit(TOOLCHAIN_ENV);
    // Without `CI`, test runners may stay and watch for changes. Builds don't get it: some take it to mean stricter
    // rules.
    let env = if command.kind == CommandKind::Test { env.set("CI", "1") } else { env };
    let env = command.env.iter().fold(env, |env, (name, value)| env.set(name, value));
    let program = command.argv.first().ok_or("it names no program")?;
    let is_there = if program.contains('/') {
        cwd.join(program).is_file()
    } else {
        switchboard_process::spawn::which(program).is_some()
    };
    if !is_there {
        return Err(format!("`{program}` is not installed"));
    }
    let argv = memory.map_or_else(|| command.argv.clone(), |memory| memory.around(&command.argv));
    let spawn = Spawn::new(argv)
        .cwd(cwd)
        .env_only(env)
        .own_session()
        .ends_with_us()
        .wall(time_limit)
        .keep(limits.output_bytes / 2);
    spawn.output().map_err(|error| {
        let cause = std::error::Error::source(&error).map_or(String::new(), |cause| format!(": {cause}"));
        format!("{error}{cause}")
    })
}

fn ending(output: &Output, limit: Duration) -> String {
    match (output.end, output.exit) {
        (End::TimedOut | End::Stopped, _) => format!("stopped after {} s", limit.as_secs()),
        (End::ByItself, Exit::Exited(code)) => format!("exit {code}"),
        (End::ByItself, Exit::Signalled(signal)) => format!("killed by signal {signal}"),
    }
}

/// Returns the kept part of a stream, without secrets. Next to a gap only whole lines stay: half a secret would not be
/// recognised.
fn shown(capture: &Capture) -> String {
    let text = capture.text();
    let mark = format!("\n… {} bytes left out …\n", capture.dropped());
    let text = match text.split_once(&mark).filter(|_| capture.dropped() > 0) {
        None => text,
        Some((head, tail)) => {
            let head = head.rsplit_once('\n').map_or("", |(whole, _)| whole);
            let tail = tail.split_once('\n').map_or("", |(_, whole)| whole);
            format!("{head}{mark}{tail}")
        }
    };
    switchboard_secrets::redact(&text)
}

/// Returns the folder to run in; it must lie in the root.
fn folder(root: &Path, cwd: &str) -> Result<PathBuf, String> {
    let folder = root.join(cwd).canonicalize().map_err(|error| format!("the folder `{cwd}`: {error}"))?;
    if folder.starts_with(root) { Ok(folder) } else { Err(format!("the folder `{cwd}` lies outside")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn around_what_is_missing_only_whole_lines_stay() {
        let mut capture = Capture::new(20);
        capture.push(b"first line\nhalf of a secret, and the other half\nlast line\n");

        assert_eq!(shown(&capture), "first line\n… 18 bytes left out …\nlast line\n");
    }

    #[test]
    fn a_program_that_a_script_lacks_is_named() {
        let run = |code: i32, stderr: &str| CommandRun {
            kind: CommandKind::Build,
            argv: vec!["npm".into()],
            cwd: ".".into(),
            exit_code: Some(code),
            ending: String::new(),
            duration_ms: 1,
            stdout: String::new(),
            stderr: stderr.to_owned(),
            memory: String::new(),
            tests: None,
        };
        for (code, stderr, name) in [
            (127, "sh: 1: tsc: not found\n", Some("tsc")),
            (127, "bash: line 1: phpstan: command not found\n", Some("phpstan")),
            (127, "sh: eslint: not found\n", Some("eslint")),
            (
                2,
                "make: nosuchtool: No such file or directory\nmake: *** [Makefile:2: all] Error 127\n",
                Some("nosuchtool"),
            ),
            (127, "", Some("a program that it starts")),
            (1, "sh: 1: tsc: not found\n", None),
            (2, "make: *** [Makefile:2: all] Error 1\n", None),
        ] {
            assert_eq!(lacked_program(&run(code, stderr)).as_deref(), name, "{code} {stderr}");
        }
    }
}
