//! Runs the base's tests against the change: restores the base's test files, runner configuration and gate
//! configuration in our own checkout, and runs the test command once more.
//!
//! A change that only adds tests needs no second run: the test gate runs all tests of the base with the new ones.

use std::path::Path;

use switchboard_protocol::finding::{CheckCommand, CheckRequest, CommandKind, CommandRun};

use super::change::Change;
use super::changed_file::ChangedFile;
use super::hit::{Consequence, Hit};
use super::restored::{self, Restored};
use crate::commands::{combined_output, has_started, run as run_command};
use crate::error::Error;
use crate::git::Git;
use crate::limits::Limits;
use crate::output::totals;

/// Maximum number of failed tests that a finding names.
const MAX_NAMED: usize = 5;

/// Findings and command runs.
#[derive(Default)]
pub(super) struct Runs {
    pub(super) hits: Vec<Hit>,
    pub(super) runs: Vec<CommandRun>,
}

/// Runs the test commands with the base's tests, if the request names a captured commit and the change touches any of
/// those tests.
///
/// # Errors
/// When git refuses, or a file can't be put back.
pub(super) fn run(
    root: &Path,
    git: &Git,
    change: &Change,
    (base, request): (&str, &CheckRequest),
    found: &[Hit],
    limits: &Limits,
) -> Result<Runs, Error> {
    let commands: Vec<&CheckCommand> = request.commands.iter().filter(|one| one.kind == CommandKind::Test).collect();
    let Some(commit) = request.commit.as_deref().filter(|_| !commands.is_empty()) else { return Ok(Runs::default()) };
    let restored = restored::of(change, &request.commands, found);
    if !restored.is_worth_a_run() {
        return Ok(Runs::default());
    }
    let written = restored.write(root, git, base);
    let runs: Vec<CommandRun> = match &written {
        Ok(()) => commands.iter().map(|command| run_command(root, &quiet(command), limits)).collect(),
        Err(_) => Vec::new(),
    };
    // Resets even after an error: the next step judges the change.
    git.reset_to(commit)?;
    written?;
    let hits = runs.iter().filter_map(|run| judged(run, change, &restored)).collect();
    Ok(Runs { hits, runs })
}

/// Keeps Python from writing bytecode: it would be used for another file of the same size and second.
pub(super) fn quiet(command: &CheckCommand) -> CheckCommand {
    let mut command = command.clone();
    command.env.push(("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned()));
    command
}

fn judged(run: &CommandRun, change: &Change, restored: &Restored) -> Option<Hit> {
    let output = combined_output(run);
    let is_passed =
        run.exit_code == Some(0) && !totals::counts_none(&output) && !totals::is_cut_short(&run.argv, &output);
    if is_passed {
        return None;
    }
    let is_about = |file: &&ChangedFile| restored.names(&file.path);
    let path = change.files.iter().find(is_about).map_or("", |file| file.path.as_str());
    let failed: Vec<String> = totals::cases(&output)
        .into_iter()
        .filter(|case| case.status == "failed")
        .map(|case| case.name)
        .take(MAX_NAMED)
        .collect();
    let named = if failed.is_empty() { String::new() } else { format!(": {}", failed.join(", ")) };
    let (consequence, how) = match (has_started(run), run.exit_code) {
        (false, _) => (Consequence::Reported, format!("could not be run: {}", run.ending)),
        (true, Some(0)) => (Consequence::NeedsReview, "ran no test, or ended before they were counted".to_owned()),
        (true, Some(_) | None) => {
            (Consequence::NeedsReview, format!("fail against the change ({}){named}", run.ending))
        }
    };
    let message = format!("the tests that the base has {how}; `{}`", run.argv.join(" "));
    Some(Hit::new("base-tests-fail", consequence, path, 0..0, message))
}
