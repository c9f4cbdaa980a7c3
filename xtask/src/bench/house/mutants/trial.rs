//! Runs tests in a separate process, with a time limit.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::plant::VARIABLE;
use super::reach::Group;
use crate::command::{command, output};

/// Minimum time limit, so that a busy machine is not taken for a hanging mutant.
const MIN_LIMIT: Duration = Duration::from_secs(15);
/// Time limit as a multiple of the tests' duration without a mutant.
const TIMES: u32 = 6;
/// Interval at which a running test is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Limit of a test's address space in KiB: a mutant that fills memory in a loop fails before the machine does.
const MEMORY: &str = "4000000";

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

/// Runs tests of one program with these variables.
///
/// # Errors
/// When the tests can't be started.
pub(super) fn run(group: &Group<'_>, variables: &[(&str, &str)], limit: Duration) -> anyhow::Result<Ended> {
    let program = group.program;
    let mut test = command("sh", &program.folder);
    test.args(["-c", "ulimit -v \"$1\"; shift; exec \"$@\"", "sh", MEMORY]).arg(&program.path);
    test.args(["--quiet", "--test-threads=1", "--exact"]).args(&group.names);
    test.envs(variables.iter().copied()).env("CARGO_MANIFEST_DIR", &program.folder).env("INSTA_UPDATE", "no");
    test.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let child = test.spawn().with_context(|| program.path.display().to_string())?;
    ended(child, Instant::now() + limit)
}

fn ended(mut child: Child, until: Instant) -> anyhow::Result<Ended> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if status.success() { Ended::Passed } else { Ended::Failed });
        }
        if Instant::now() > until {
            // Kills the whole group: tests start processes of their own.
            output(command("kill", Path::new("/")).args(["-9", "--", &format!("-{}", child.id())]))?;
            child.wait()?;
            return Ok(Ended::Hung);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::super::build::Program;
    use super::*;

    /// Runs a shell script in place of a test program.
    fn ends(script: &str, limit: Duration) -> Ended {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let program = Program { path, folder: folder.path().to_owned() };
        run(&Group { program: &program, names: vec!["name"], took: Duration::ZERO }, &[(VARIABLE, "7")], limit).unwrap()
    }

    #[test]
    fn a_program_ends_by_passing_by_failing_or_at_its_limit() {
        let long = Duration::from_secs(60);

        assert_eq!(ends("[ $XTASK_MUTANT = 7 ] && [ $4 = name ]", long), Ended::Passed);
        assert_eq!(ends("exit 101", long), Ended::Failed);
        assert_eq!(ends("kill -9 $$", long), Ended::Failed);
        assert_eq!(ends("sleep 60", Duration::from_millis(50)), Ended::Hung);
    }
}
