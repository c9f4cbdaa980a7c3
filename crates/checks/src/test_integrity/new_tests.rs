//! `new_tests`: checks whether the tests that a change adds distinguish it from the code before.
//!
//! A test must fail on the tree without the change, or be a new case of existing behaviour: it asserts what no other
//! test does. The new tests run in the checkout with the code of the base, each file by itself. For a runner that can't
//! run single files, the tree gets only one of them at a time, provided that the base's own tests pass; else the check
//! is incomplete.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use switchboard_protocol::finding::{
    CheckCommand, CheckName, CheckReport, CheckRequest, CheckVerdict, CommandKind, CommandRun, Finding,
};
use switchboard_protocol::verb::check::TestCase;
use switchboard_syntax::Parsers;

use super::assertion::Assertion;
use super::base_tests::quiet;
use super::change::Change;
use super::compare::{self, Found};
use super::hit::{Consequence, Hit};
use super::language::TestLanguage;
use super::restored::Restored;
use super::suite::{self, Suite};
use super::test::Test;
use super::{one_file, paths};
use crate::commands::{combined_output, has_started, run as run_command};
use crate::error::Error;
use crate::git::{Blob, Blobs, Git};
use crate::limits::{Limits, millis};
use crate::output::totals;
use crate::reader::shown;
use crate::selection::Comparison;

/// The only rule.
pub(crate) const RULE: &str = "new-tests/adds-nothing";
const REMEDY: &str = "Make the test fail without the change, let it assert what no other test does, or take it out.";
/// Maximum number of files that run by themselves.
const MOST_FILES: usize = 20;
/// Maximum number of files that are put into the tree one by one, for a runner that can't run single files.
const MOST_RUNS: usize = 5;
/// Maximum number of test files that are read for existing assertions.
const MOST_READ: usize = 200;

/// Result of a new test without the change.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Fails,
    Passes,
    Unknown(String),
}

/// Judges the tests that a captured commit adds to its base. `without` in the request names the commit whose code they
/// run against.
///
/// # Errors
/// When git refuses, or a file can't be put back.
pub(crate) fn report(
    root: &Path,
    request: &CheckRequest,
    (git, against): (Option<&Git>, &Comparison),
    limits: &Limits,
) -> Result<CheckReport, Error> {
    let started = Instant::now();
    let mut report = CheckReport::new(CheckName::NewTests, CheckVerdict::Skip, String::new());
    let commands: Vec<&CheckCommand> = request.commands.iter().filter(|one| one.kind == CommandKind::Test).collect();
    let (Some(git), Some(base), Some(commit)) = (git, against.commit(), request.commit.as_deref()) else {
        report.summary = "no captured commit and base were named".to_owned();
        return Ok(report);
    };
    let [command, ..] = commands[..] else {
        report.verdict = CheckVerdict::Incomplete;
        report.summary = "incomplete: no test command was given".to_owned();
        return Ok(report);
    };
    let blobs = git.blobs();
    let change = Change::read(root, git, &blobs, (base, request), limits)?;
    let mut parsers = Parsers::new(limits.parse_time);
    let suites = suite::of_change(&change, &mut parsers);
    let (before, after): (Vec<&Suite>, Vec<&Suite>) =
        (suites.iter().map(|pair| &pair.before).collect(), suites.iter().map(|pair| &pair.after).collect());
    let added = compare::added(&before, &after);
    let of_others = unread(&change);
    if added.is_empty() && of_others.is_empty() {
        report.summary = "the change adds no test".to_owned();
        return Ok(report);
    }
    let without = request.without.as_deref().unwrap_or(base);
    let whole = Change::read(root, git, &blobs, (without, request), limits)?;
    let mut files: Vec<&str> =
        added.iter().map(|one| one.suite.path.as_str()).chain(of_others.iter().copied()).collect();
    files.sort_unstable();
    files.dedup();
    let stage = Stage { root, git, command, limits, whole: &whole, without, commit };
    let ran = stage.run(&files);
    git.reset_to(commit)?;
    let (runs, alone) = ran?;
    let asserted = asserted(git, &blobs, commit, &added, &mut parsers)?;
    let mut told = NewTestResults::default();
    for one in &added {
        let outcome = match (runs.get(one.suite.path.as_str()), alone.get(one.suite.path.as_str())) {
            (Some(run), _) => of_run(one, run),
            (None, Some(outcome)) => outcome.clone(),
            (None, None) => Outcome::Unknown("too many files".to_owned()),
        };
        told.take(one, outcome, &asserted);
    }
    for path in &of_others {
        match alone.get(path) {
            Some(Outcome::Fails) => told.needs += 1,
            Some(Outcome::Passes) => {
                told.unknown.push(format!("{path} passes without the change, and tests of this language are not read"));
            }
            Some(Outcome::Unknown(why)) => told.unknown.push(format!("{path}: {why}")),
            None => told.unknown.push(format!("{path}: too many files")),
        }
    }
    report.verdict = told.verdict();
    report.summary = told.summary();
    report.findings = told.hits.iter().map(|hit| finding(hit, &change)).collect();
    report.files_checked = files.len() as u64;
    report.runs = runs.into_values().collect();
    report.duration_ms = millis(started);
    Ok(report)
}

/// Results for all new tests.
#[derive(Default)]
struct NewTestResults {
    needs: usize,
    cases: usize,
    hits: Vec<Hit>,
    unknown: Vec<String>,
}

// === impl NewTestResults ===

impl NewTestResults {
    fn take(&mut self, one: &Found<'_>, outcome: Outcome, asserted: &[Asserted]) {
        let name = &one.test.name;
        match outcome {
            Outcome::Fails => self.needs += 1,
            Outcome::Passes if one.test.runs() && adds_case(one, asserted) => self.cases += 1,
            Outcome::Passes => {
                let why = match (one.test.runs(), one.test.demands().next()) {
                    (false, _) => "never runs",
                    (true, None) => "passes without the change, and asserts nothing",
                    (true, Some(_)) => "passes without the change, and asserts only what other tests do",
                };
                let message = format!("the test `{name}` {why}");
                self.hits.push(Hit::new(
                    "adds-nothing",
                    Consequence::Refused,
                    &one.suite.path,
                    one.test.range.clone(),
                    message,
                ));
            }
            Outcome::Unknown(why) => self.unknown.push(format!("`{name}`: {why}")),
        }
    }

    fn verdict(&self) -> CheckVerdict {
        match (self.hits.is_empty(), self.unknown.is_empty()) {
            (false, _) => CheckVerdict::Fail,
            (true, false) => CheckVerdict::Incomplete,
            (true, true) => CheckVerdict::Pass,
        }
    }

    fn summary(&self) -> String {
        let all = self.needs + self.cases + self.hits.len() + self.unknown.len();
        let mut words = vec![format!("of {all} new tests {} fail without the change", self.needs)];
        if self.cases > 0 {
            words.push(format!("{} are new cases of what was there", self.cases));
        }
        if !self.hits.is_empty() {
            words.push(format!("{} add nothing", self.hits.len()));
        }
        if let Some(first) = self.unknown.first() {
            words.push(format!("incomplete: {} could not be judged, the first: {first}", self.unknown.len()));
        }
        words.join(", ")
    }
}

/// The checkout in which new tests run, and the command that runs them.
struct Stage<'a> {
    root: &'a Path,
    git: &'a Git,
    command: &'a CheckCommand,
    limits: &'a Limits,
    /// The changes between the commit whose code is put back and the judged commit.
    whole: &'a Change,
    without: &'a str,
    commit: &'a str,
}

type Ran<'a> = (BTreeMap<&'a str, CommandRun>, BTreeMap<&'a str, Outcome>);

// === impl Stage ===

impl Stage<'_> {
    /// Puts the code back and runs the files: single files where the runner supports that, else one by one in the tree.
    fn run<'f>(&self, files: &[&'f str]) -> Result<Ran<'f>, Error> {
        let code = Restored::code_of(self.whole);
        if code.is_empty() {
            // The change has only tests: they pass without it as they do with it.
            return Ok((BTreeMap::new(), files.iter().map(|file| (*file, Outcome::Passes)).collect()));
        }
        code.write(self.root, self.git, self.without)?;
        let (mut runs, mut others) = (BTreeMap::new(), Vec::new());
        for file in files {
            match one_file::of(self.command, file, self.root) {
                Some(command) if runs.len() < MOST_FILES => {
                    runs.insert(*file, run_command(self.root, &quiet(&command), self.limits));
                }
                Some(_) => {}
                None => others.push(*file),
            }
        }
        let alone = self.one_by_one(&others)?;
        Ok((runs, alone))
    }

    fn one_by_one<'f>(&self, files: &[&'f str]) -> Result<BTreeMap<&'f str, Outcome>, Error> {
        let all = |why: &str| files.iter().map(|file| (*file, Outcome::Unknown(why.to_owned()))).collect();
        if files.is_empty() {
            return Ok(BTreeMap::new());
        }
        let line = self.command.argv.join(" ");
        if files.len() > MOST_RUNS {
            return Ok(all(&format!("`{line}` can't be told one test file from another, and {} are new", files.len())));
        }
        Restored::tests_of(self.whole).write(self.root, self.git, self.without)?;
        let passes = || run_command(self.root, &quiet(self.command), self.limits).exit_code == Some(0);
        if !passes() {
            return Ok(all(&format!("`{line}` can't be told one test file from another, and fails on the base")));
        }
        let mut outcomes = BTreeMap::new();
        for file in files {
            self.git.put(self.commit, &[file])?;
            outcomes.insert(*file, if passes() { Outcome::Passes } else { Outcome::Fails });
            Restored::only(self.whole, file).write(self.root, self.git, self.without)?;
        }
        Ok(outcomes)
    }
}

fn finding(hit: &Hit, change: &Change) -> Finding {
    let text = change.file(&hit.path).and_then(|file| file.after.as_deref());
    Finding { check: CheckName::NewTests, rule: RULE.to_owned(), remedy: REMEDY.to_owned(), ..hit.finding(text) }
}

/// Lists new and changed test files in languages that are not parsed.
fn unread(change: &Change) -> Vec<&str> {
    let is_other = |path: &str| paths::is_test(path) && TestLanguage::of(path).is_none();
    change
        .files
        .iter()
        .filter(|file| is_other(&file.path) && !file.is_deleted())
        .map(|file| file.path.as_str())
        .collect()
}

/// Returns the result of a test in the run of its file.
fn of_run(one: &Found<'_>, run: &CommandRun) -> Outcome {
    if !has_started(run) {
        return Outcome::Unknown(run.ending.clone());
    }
    let output = combined_output(run);
    let cases = totals::cases(&output);
    let mut own = cases.iter().filter(|case| is_of(case, one)).peekable();
    if own.peek().is_some() {
        return if own.any(|case| case.status == "failed") { Outcome::Fails } else { Outcome::Passes };
    }
    match run.exit_code {
        Some(0) if totals::counts_none(&output) => Outcome::Unknown("the runner ran no test of its file".to_owned()),
        Some(0) => Outcome::Passes,
        // The file did not load, or every test in it failed.
        Some(_) | None if cases.iter().all(|case| case.status == "failed") => Outcome::Fails,
        Some(_) | None => Outcome::Unknown("the runner does not name it".to_owned()),
    }
}

/// Returns whether a runner's result belongs to a test.
fn is_of(case: &TestCase, one: &Found<'_>) -> bool {
    let name = one.test.name.as_str();
    match TestLanguage::of(&one.suite.path).map(|(kind, _)| kind) {
        // A runner may omit the names of the groups.
        Some(TestLanguage::JavaScript) => {
            let groups = name.strip_suffix(case.name.as_str());
            groups.is_some_and(|groups| !groups.ends_with(char::is_alphanumeric))
        }
        Some(TestLanguage::Rust) => last(&case.name, "::") == last(name, "::"),
        Some(TestLanguage::Python) | None => {
            let shown = case.name.split([' ', '[']).next().unwrap_or("");
            last(shown, "::") == last(name, ".")
        }
    }
}

fn last<'a>(name: &'a str, between: &str) -> &'a str {
    name.rsplit(between).next().unwrap_or(name)
}

/// Returns whether a test asserts something that no other test does. An assertion that names no call (a raised error, a
/// variable) depends on the code before it, so it is a repetition only if the whole body is the same.
fn adds_case(one: &Found<'_>, asserted: &[Asserted]) -> bool {
    let own = compare::body(one);
    one.test.demands().any(|demand| {
        let is_whole = demand.subject.contains('(');
        let is_repeated = |other: &Asserted| {
            other.assertions.iter().any(|known| known.is_same(demand)) && (is_whole || other.body == own)
        };
        !asserted.iter().any(is_repeated)
    })
}

/// Assertions of a test that is not new.
struct Asserted {
    assertions: Vec<Assertion>,
    /// Code of the test without its name.
    body: String,
}

/// Returns the assertions of all tests of a commit except the new ones.
fn asserted(
    git: &Git,
    blobs: &Blobs,
    commit: &str,
    added: &[Found<'_>],
    parsers: &mut Parsers,
) -> Result<Vec<Asserted>, Error> {
    let is_new = |path: &str, test: &Test| added.iter().any(|one| one.suite.path == path && one.test.name == test.name);
    let (mut asserted, mut read) = (Vec::new(), 0);
    for (path, side) in git.tree(commit)? {
        let path = shown(&path);
        let (Some(language), Some(id)) = (TestLanguage::of(&path), side.blob) else { continue };
        if read == MOST_READ || (language.0 != TestLanguage::Rust && !paths::is_test(&path)) {
            continue;
        }
        let Blob::Content(text) = blobs.read(&id)? else { continue };
        let text = String::from_utf8_lossy(&text).into_owned();
        if language.0 == TestLanguage::Rust && !text.contains("test") {
            continue;
        }
        read += 1;
        if let Some(suite) = Suite::read(&path, text, language, paths::is_test(&path), parsers) {
            let old = suite.tests.iter().filter(|test| !is_new(&path, test));
            asserted.extend(old.map(|test| Asserted {
                body: compare::body(&Found { suite: &suite, test }),
                assertions: test.assertions.clone(),
            }));
        }
    }
    Ok(asserted)
}
