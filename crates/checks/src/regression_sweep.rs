//! `regression_sweep`: runs the tests that depend on what a change touches, found by the imports of the tree (scope
//! `graph`).
//!
//! It decides only where the test command of a plan runs a part of the tests. Where nothing depends on the change, or
//! the runner can't run single files, it is skipped and gives the reason.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use switchboard_protocol::finding::{CheckCommand, CheckName, CheckReport, CheckRequest, CheckVerdict, CommandKind};

use crate::commands::{has_started, run as run_command};
use crate::error::Error;
use crate::git::{Git, Mode};
use crate::limits::{Limits, millis};
use crate::project::{Project, related};
use crate::reader::shown;
use crate::selection::Comparison;
use crate::test_integrity::{is_test, one_file};

/// Maximum number of imports followed beyond the tests that import a changed file themselves.
const DEPTH: usize = 3;
/// Maximum number of changed files whose dependents are searched.
const CHANGED: usize = 50;
/// Maximum number of test files that are run.
const FILES: usize = 20;

/// Runs the tests of the dependents of a change.
///
/// # Errors
/// When git refuses or breaks.
pub(crate) fn report(
    root: &Path,
    request: &CheckRequest,
    (git, against): (Option<&Git>, &Comparison),
    limits: &Limits,
) -> Result<CheckReport, Error> {
    let started = Instant::now();
    let mut report = CheckReport::new(CheckName::RegressionSweep, CheckVerdict::Skip, String::new());
    match chosen(root, request, (git, against))? {
        Err(why) => report.summary = format!("skipped: {why}"),
        Ok(commands) => {
            report.runs = commands.iter().map(|command| run_command(root, command, limits)).collect();
            let failed: Vec<_> = report.runs.iter().filter(|run| run.exit_code != Some(0)).collect();
            report.verdict = match &failed[..] {
                [] => CheckVerdict::Pass,
                failed if failed.iter().all(|run| has_started(run)) => CheckVerdict::Fail,
                _ => CheckVerdict::Error,
            };
            let (all, bad) = (report.runs.len(), failed.len());
            report.summary = format!("{all} test files depend on the change; {bad} of them failed");
            report.runs.retain(|run| run.exit_code != Some(0));
        }
    }
    report.duration_ms = millis(started);
    Ok(report)
}

/// Returns the commands that run the tests of the dependents, or the reason that there are none.
fn chosen(
    root: &Path,
    request: &CheckRequest,
    (git, against): (Option<&Git>, &Comparison),
) -> Result<Result<Vec<CheckCommand>, String>, Error> {
    let (Some(git), Some(base)) = (git, against.commit()) else {
        return Ok(Err("there is no commit to tell a change from".to_owned()));
    };
    let Some(command) = request.commands.iter().find(|one| one.kind == CommandKind::Test) else {
        return Ok(Err("no test command was given".to_owned()));
    };
    let changes = match &request.commit {
        Some(commit) => git.changes_between(base, commit)?,
        None => git.changes(base, false)?,
    };
    let changed = changes.iter().filter(|change| change.after.mode == Mode::File).map(|change| shown(&change.path));
    let sources: Vec<String> = changed.filter(|path| !is_test(path)).collect();
    if sources.len() > CHANGED {
        return Ok(Err(format!("{} files are changed, at most {CHANGED} are followed", sources.len())));
    }
    let project = Project::new(root);
    let tests: BTreeSet<String> = sources
        .iter()
        .flat_map(|path| related::by_import(&project, path, DEPTH))
        .filter(|path| is_test(path))
        .collect();
    match tests.len() {
        0 => return Ok(Err("no test imports what is changed".to_owned())),
        many if many > FILES => {
            return Ok(Err(format!("{many} test files depend on the change, at most {FILES} are run")));
        }
        _ => {}
    }
    let told: Option<Vec<CheckCommand>> = tests.iter().map(|path| one_file::of(command, path, root)).collect();
    Ok(told.ok_or_else(|| format!("`{}` can't be told one test file from another", command.argv.join(" "))))
}
