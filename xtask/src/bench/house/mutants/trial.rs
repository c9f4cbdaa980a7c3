//! Runs the tests with one mutant on.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use super::build::Tests;
use super::plant::VARIABLE;
use crate::command::{command, output};

/// How long each crate's tests may take.
pub(super) type Limits = BTreeMap<String, Duration>;

/// The shortest limit: a machine that does something else for a moment is no mutant.
const SHORTEST: Duration = Duration::from_secs(20);
/// Times as long as the tests take without a mutant; whoever needs longer hangs.
const TIMES: u32 = 4;
/// The longest that the tests may take without a mutant.
const BASELINE: Duration = Duration::from_secs(300);
/// How often a running test is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Runs all tests without a mutant and returns how long each crate's may take with one.
///
/// # Errors
/// When a test fails without a mutant.
pub(super) fn baseline(tree: &Path, tests: &Tests) -> anyhow::Result<Limits> {
    let mut limits = Limits::new();
    for package in tests.keys() {
        let began = Instant::now();
        let limit = Limits::from([(package.clone(), BASELINE)]);
        let ended = trial(tree, tests, &limit, package, 0)?;
        ensure!(ended == Ended::Passed, "a test of {package} fails without a mutant");
        limits.insert(package.clone(), (began.elapsed() * TIMES).max(SHORTEST));
    }
    Ok(limits)
}

/// How the tests of a crate ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// All passed.
    Passed,
    /// One failed.
    Failed,
    /// One had to be ended at the time limit.
    Hung,
}

/// Runs the tests of a crate with a mutant on, up to the first that does not pass.
///
/// # Errors
/// When a test can't be started.
pub(super) fn trial(
    tree: &Path,
    tests: &Tests,
    limits: &Limits,
    package: &str,
    mutant: usize,
) -> anyhow::Result<Ended> {
    let folder = tree.join("crates").join(package);
    let until = Instant::now() + limits.get(package).copied().unwrap_or(SHORTEST);
    for program in tests.get(package).into_iter().flatten() {
        let mut test = command(program, &folder);
        test.env(VARIABLE, mutant.to_string()).env("CARGO_MANIFEST_DIR", &folder).env("INSTA_UPDATE", "no");
        test.arg("--quiet").stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let child = test.spawn().with_context(|| program.display().to_string())?;
        match ended(child, until)? {
            Ended::Passed => {}
            other @ (Ended::Failed | Ended::Hung) => return Ok(other),
        }
    }
    Ok(Ended::Passed)
}

fn ended(mut child: Child, until: Instant) -> anyhow::Result<Ended> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if status.success() { Ended::Passed } else { Ended::Failed });
        }
        if Instant::now() > until {
            // The whole group: tests start processes of their own.
            output(command("kill", Path::new("/")).args(["-9", "--", &format!("-{}", child.id())]))?;
            child.wait()?;
            return Ok(Ended::Hung);
        }
        std::thread::sleep(LOOK);
    }
}
