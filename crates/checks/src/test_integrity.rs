//! `test_integrity`: judges what a change does to the tests, and to what runs and judges them.
//!
//! Unlike the checks of single files it examines the change as a whole: a test that left one file may be in another. It
//! reads the base and the change out of git, never the project's ignore files, ignore comments or baseline: a change
//! can't excuse itself. `docs/gates.md` lists what is found and what is not.

use std::path::Path;
use std::time::Instant;

use switchboard_protocol::finding::{CheckName, CheckRequest, CommandRun, SkippedFile};
use switchboard_syntax::Parsers;

use crate::error::Error;
use crate::git::{Blobs, Git};
use crate::limits::{Limits, millis};
use crate::report::{Report, ReportWithFiles};
use crate::selection::Comparison;

mod aliases;
mod assertion;
mod base_tests;
mod cargo_files;
mod change;
mod changed_file;
mod compare;
pub(crate) mod diff;
mod exits;
mod gate_files;
mod hard_coded;
mod hit;
mod javascript;
mod language;
pub(crate) mod new_tests;
mod node;
mod node_files;
pub(crate) mod one_file;
mod operators;
mod past;
mod patched;
mod paths;
mod protected_tests;
mod python;
mod python_files;
mod recipes;
mod restored;
mod runner_file;
mod runner_files;
mod rust;
mod settings;
mod stage;
mod suite;
mod test;
mod traces;
mod wrong_tests;

pub(crate) use change::Change;
pub(crate) use hit::rules;
pub(crate) use language::TestLanguage;
pub(crate) use paths::is_test;

use hard_coded::Variants;
use hit::{Consequence, Hit};
use suite::Suite;
use test::Test;
use wrong_tests::WrongTests;

/// Judges the change that a request is about. Without a commit to compare with there is no change, and the check is skipped.
///
/// # Errors
/// When git refuses or breaks.
pub(crate) fn report(
    root: &Path,
    request: &CheckRequest,
    (git, against): (Option<&Git>, &Comparison),
    limits: &Limits,
) -> Result<ReportWithFiles, Error> {
    let started = Instant::now();
    let mut report = Report::new(CheckName::TestIntegrity, limits);
    let (Some(git), Some(base)) = (git, against.commit()) else { return Ok(report.finish(millis(started))) };
    let blobs = git.blobs();
    let change = Change::read(root, git, &blobs, (base, request), limits)?;
    let Judged { mut hits, notes, explained, variants, wrong_tests } =
        judge(&change, git, &blobs, (base, request), limits)?;
    let runs = base_tests::run(root, git, &change, (base, request), &hits, limits)?;
    hits.extend(runs.hits);
    hits.extend(wrong_tests.run(root, git, &change, (base, request), limits)?);
    if !hits.iter().any(|hit| hit.rule == "hard-coded") {
        hits.extend(hard_coded::run(root, git, &change, (base, request), variants, limits)?);
    }
    for file in &change.files {
        let own = hits.iter().filter(|hit| hit.path == file.path);
        report.add_file(&file.path, own.map(|hit| hit.finding(file.after.as_deref())).collect());
    }
    let elsewhere = hits.iter().filter(|hit| change.file(&hit.path).is_none());
    report.add(elsewhere.map(|hit| hit.finding(None)).collect());
    for (path, why) in &change.unread {
        report.skip(SkippedFile { path: path.clone(), why: why.clone(), is_missing: true });
    }
    let (mut report, looked_at) = report.finish(millis(started));
    let ran = runs.runs.iter().map(|run| run.tests.map(|tests| tests.passed + tests.failed));
    let ran: Option<u64> = ran.sum();
    report.tests_expected = ran.filter(|_| !runs.runs.is_empty()).map(|ran| ran.saturating_sub(explained));
    report.runs = runs.runs;
    report.summary = summary(&change, &report.summary, notes, &report.runs);
    Ok((report, looked_at))
}

/// Results of reading the change, without running anything.
struct Judged {
    hits: Vec<Hit>,
    notes: Vec<String>,
    /// Number of tests that may be missing from a run because the comparison explains their absence.
    explained: u64,
    /// Calls of the base's tests to be repeated with other inputs.
    variants: Variants,
    /// Tests of the base with a wrong expectation.
    wrong_tests: WrongTests,
}

/// Judges the change by reading it, without running anything.
fn judge(
    change: &Change,
    git: &Git,
    blobs: &Blobs,
    (base, request): (&str, &CheckRequest),
    limits: &Limits,
) -> Result<Judged, Error> {
    let mut parsers = Parsers::new(limits.parse_time);
    let suites = suite::of_change(change, &mut parsers);
    let (before, after): (Vec<&Suite>, Vec<&Suite>) =
        (suites.iter().map(|pair| &pair.before).collect(), suites.iter().map(|pair| &pair.after).collect());
    let compare::Compared { mut hits, explained } = compare::compare(&before, &after);
    let has_some = |suites: &[&Suite]| suites.iter().any(|suite| suite.tests.iter().any(Test::runs));
    let is_emptied =
        has_some(&before) && !has_some(&after) && !suite::has_others(change, git, blobs, base, &mut parsers)?;
    if is_emptied {
        hits.iter_mut().filter(|hit| hit.rule == "test-deleted").for_each(|hit| {
            hit.consequence = Consequence::Refused;
            hit.message.push_str("; no test is left");
        });
    }
    for pair in &suites {
        hits.extend(exits::hits(pair));
        hits.extend(patched::hits(pair));
    }
    hits.extend(runner_files::hits(change, &request.commands));
    hits.extend(traces::hits(change, &request.commands));
    let (hard_coded, notes) = hard_coded::hits(&suites, change, git, base, blobs, &mut parsers)?;
    hits.extend(hard_coded);
    hits.extend(protected_tests::hits(&request.handed, git, blobs, &mut parsers)?);
    hits.extend(past::hits(change, git, base, request.commit.as_deref()));
    hits.extend(suites.iter().filter(|pair| pair.is_unparsed).map(|pair| {
        let message = "its tests were not read: parsing it took too long".to_owned();
        Hit::new("not-looked-at", Consequence::NeedsReview, &pair.path, 0..0, message)
    }));
    let is_other = |path: &&str| paths::is_test(path) && TestLanguage::of(path).is_none();
    let other: Vec<&str> = change.files.iter().map(|file| file.path.as_str()).filter(is_other).collect();
    hits.extend(other.iter().filter_map(|path| compare::by_path(path, change)));
    hits.sort_by(|a, b| (&a.path, a.range.start, a.rule).cmp(&(&b.path, b.range.start, b.rule)));
    hits.dedup_by(|a, b| (&a.path, a.range.start, a.rule, &a.message) == (&b.path, b.range.start, b.rule, &b.message));
    let (variants, wrong_tests) = match request.commit.is_some() && !request.commands.is_empty() {
        true => (
            Variants::of(&suites, change, (git, base, blobs), &mut parsers)?,
            WrongTests::of(&suites, change, (git, base, blobs), &mut parsers)?,
        ),
        false => Default::default(),
    };
    Ok(Judged { hits, notes: notes.into_iter().collect(), explained, variants, wrong_tests })
}

/// Returns the summary: the counts, the test files judged by name only, what else was cut short, and how the base's
/// tests ended.
fn summary(change: &Change, counts: &str, notes: Vec<String>, runs: &[CommandRun]) -> String {
    let by_path =
        change.files.iter().filter(|file| paths::is_test(&file.path) && TestLanguage::of(&file.path).is_none());
    let mut words = vec![counts.to_owned()];
    match by_path.count() {
        0 => {}
        1 => words.push("1 test file of another language was judged by its name only".to_owned()),
        many => words.push(format!("{many} test files of other languages were judged by their names only")),
    }
    words.extend(notes);
    if let Some(run) = runs.first() {
        words.push(format!("the base's tests against the change: {}", run.ending));
    }
    words.join("; ")
}
