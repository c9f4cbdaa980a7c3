//! Runs tests in a separate process, with a time limit.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use super::build::Kind;
use super::plant::VARIABLE;
use super::reach::Group;
use crate::command::command;
use crate::processes;

/// Minimum time limit, so that a busy machine is not taken for a hanging mutant.
const MIN_LIMIT: Duration = Duration::from_secs(15);
/// Time limit as a multiple of the tests' duration without a mutant.
const TIMES: u32 = 6;
/// Interval at which a running test is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How long processes that were killed may take to end.
const KILL: Duration = Duration::from_secs(30);
/// Limit of a test's address space in KiB: a mutant that fills memory in a loop fails before the machine does.
const MEMORY: &str = "4000000";
/// Tests of the binary start agents that reserve more addresses than that: when memory is short, they are ended first.
const FIRST_TO_END: &str = "echo 1000 > /proc/self/oom_score_adj";

/// Variable that marks all processes of one run of tests. It reaches them as [`VARIABLE`] does.
const MARK: &str = "XDG_XTASK_TRIAL";

/// How the tests ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// All tests passed.
    Passed,
    /// A test failed.
    Failed,
    /// The tests were killed at the time limit.
    Hung,
}

/// Runs tests with a mutant on.
///
/// # Errors
/// When the tests can't be started.
pub(super) fn trial(group: &Group<'_>, mutant: usize) -> anyhow::Result<Ended> {
    run(group, &[(VARIABLE, &mutant.to_string())], (group.took * TIMES).max(MIN_LIMIT))
}

/// Runs tests of one program with these variables, and ends what they leave behind.
///
/// # Errors
/// When the tests can't be started.
pub(super) fn run(group: &Group<'_>, variables: &[(&str, &str)], limit: Duration) -> anyhow::Result<Ended> {
    let program = group.program;
    let before = match program.kind {
        Kind::Crate => format!("ulimit -v {MEMORY}"),
        Kind::Binary => FIRST_TO_END.to_owned(),
    };
    let mut test = command("sh", &program.folder);
    test.args(["-c", &format!("{before}; exec \"$@\""), "sh"]).arg(&program.path);
    test.args(["--quiet", "--test-threads=1", "--exact"]).args(&group.names);
    let mark = mark();
    test.env(MARK, &mark)
        .envs(variables.iter().copied())
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .env("INSTA_UPDATE", "no");
    test.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let child = test.spawn().with_context(|| program.path.display().to_string())?;
    let ended = ended(child, Instant::now() + limit)?;
    if program.kind == Kind::Binary {
        end_marked(&mark)?;
    }
    Ok(ended)
}

/// Kills all processes with a mark. Looks until it finds none twice: a process that is about to run another program has
/// no variables for a moment.
fn end_marked(mark: &str) -> anyhow::Result<()> {
    let (mut empty, until) = (0, Instant::now() + KILL);
    while empty < 2 {
        let found = processes::with_variable(MARK, mark);
        ensure!(Instant::now() < until, "processes that a test has left don't end: {found:?}");
        found.iter().try_for_each(|pid| kill(&pid.to_string()))?;
        empty = if found.is_empty() { empty + 1 } else { 0 };
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Returns a value that no other run of tests has.
fn mark() -> String {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    format!("{}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed))
}

fn ended(mut child: Child, until: Instant) -> anyhow::Result<Ended> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if status.success() { Ended::Passed } else { Ended::Failed });
        }
        if Instant::now() > until {
            // Kills the whole group: tests start processes of their own.
            kill(&format!("-{}", child.id()))?;
            child.wait()?;
            return Ok(Ended::Hung);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Kills a process, or a group of them with a minus; does nothing if it has ended.
fn kill(target: &str) -> anyhow::Result<()> {
    command("kill", Path::new("/")).args(["-9", "--", target]).stderr(Stdio::null()).status().context("kill")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::build::Program;
    use super::*;

    /// Runs a shell script in place of a test program.
    fn ends(script: &str, limit: Duration) -> Ended {
        ends_as(Kind::Crate, script, limit)
    }

    fn ends_as(kind: Kind, script: &str, limit: Duration) -> Ended {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let program = Program { path, folder: folder.path().to_owned(), kind };
        run(&Group { program: &program, names: vec!["name"], took: Duration::ZERO }, &[(VARIABLE, "7")], limit).unwrap()
    }

    #[test]
    fn a_program_ends_by_passing_by_failing_or_at_its_limit() {
        let long = Duration::from_secs(60);

        assert_eq!(ends("[ $XDG_XTASK_MUTANT = 7 ] && [ $4 = name ]", long), Ended::Passed);
        assert_eq!(ends("exit 101", long), Ended::Failed);
        assert_eq!(ends("kill -9 $$", long), Ended::Failed);
        assert_eq!(ends("sleep 60", Duration::from_millis(50)), Ended::Hung);
    }

    #[test]
    fn what_a_test_of_the_binary_leaves_behind_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let script = format!("setsid sleep 60 & echo $! > {}", pid.display());

        assert_eq!(ends_as(Kind::Binary, &script, Duration::from_secs(60)), Ended::Passed);

        let pid = std::fs::read_to_string(pid).unwrap();
        let is_over = || !Path::new("/proc").join(pid.trim()).join("exe").exists();
        let until = Instant::now() + Duration::from_secs(30);
        while !is_over() && Instant::now() < until {
            std::thread::sleep(POLL_INTERVAL);
        }
        assert!(is_over(), "{pid} still runs");
    }
}
