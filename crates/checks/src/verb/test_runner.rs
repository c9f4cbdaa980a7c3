//! `test_runner`

use std::path::Path;

use switchboard_protocol::error::Failure;
use switchboard_protocol::finding::{CheckCommand, CommandKind, CommandRun, TestTotals};
use switchboard_protocol::verb::check::{TestOutcome, TestRunnerReply, TestRunnerRequest, TestScope};

use super::arguments::folder;
use crate::commands::{combined_output, lacked_program, run as run_command};
use crate::engine::Engine;
use crate::output::totals::{cases, counts_none, coverage, guess, totals};
use crate::project::test::{TestOptions, command};
use crate::project::{Project, Search, related};

/// Time limit in milliseconds: default and maximum.
const TIME_MS: (u64, u64) = (60_000, 300_000);
/// Names of scripts as frameworks: they run whatever the project defines, and their output shows the framework.
const IS_SCRIPT: [&str; 2] = ["npm test", "composer test"];
/// Maximum number of test files in one call.
const FILES: usize = 50;
/// Maximum number of imports that `impact` follows beyond the tests that import the file itself.
const DEPTH: usize = 3;

/// Tests to run: some files, or all.
enum Chosen {
    Files(Vec<String>),
    Everything,
    /// No test runs; holds the outcome and the reason.
    Nothing(TestOutcome, String),
}

pub(super) fn run(engine: &Engine, root: &Path, args: &TestRunnerRequest) -> Result<TestRunnerReply, Failure> {
    let folder = folder(root, args.working_directory.as_deref())?;
    let project = Project::new(&folder);
    let timeout_ms = args.timeout_ms.unwrap_or(TIME_MS.0).clamp(1_000, TIME_MS.1);
    let mut reply = blank(args.scope, timeout_ms);
    let files = match choose(&project, args) {
        Chosen::Files(files) => files,
        Chosen::Everything => Vec::new(),
        Chosen::Nothing(outcome, why) => {
            reply.outcome = outcome;
            reply.message = why;
            reply.attempted_scope = (outcome == TestOutcome::ScopeExceeded).then_some(args.scope);
            return Ok(reply);
        }
    };
    let asked = TestOptions { scope: args.scope, files: &files, coverage: args.coverage, bail: args.bail };
    let tool = match command(&project, &asked) {
        Search::Found(tool) => tool,
        Search::NotInstalled(name) => {
            reply.framework = Some(name.to_owned());
            reply.outcome = TestOutcome::Error;
            reply.message = format!("{name} is set up here, but it is not installed: nothing was tested");
            return Ok(reply);
        }
        Search::NotConfigured(what) => {
            reply.outcome = TestOutcome::Error;
            reply.message = format!("{what}: nothing was tested");
            return Ok(reply);
        }
        Search::Nothing => {
            reply.message = "no test framework is set up here: nothing was tested".into();
            return Ok(reply);
        }
    };
    let limit = Some(timeout_ms.div_ceil(1_000));
    let command =
        CheckCommand { kind: CommandKind::Test, argv: tool.argv, cwd: None, time_limit_s: limit, env: Vec::new() };
    let done = run_command(&folder, &command, &engine.limits);
    tell(&mut reply, tool.name, done);
    Ok(reply)
}

fn blank(scope: TestScope, timeout_ms: u64) -> TestRunnerReply {
    TestRunnerReply {
        success: false,
        framework: None,
        scope,
        command: Vec::new(),
        timeout_ms,
        duration_ms: 0,
        totals: TestTotals::default(),
        coverage_percent: None,
        raw_output: String::new(),
        test_cases: Vec::new(),
        outcome: TestOutcome::Skip,
        attempted_scope: None,
        message: String::new(),
        memory: "not limited".into(),
    }
}

fn choose(project: &Project, args: &TestRunnerRequest) -> Chosen {
    let files = args.files.paths();
    let too_much = |why: String| Chosen::Nothing(TestOutcome::ScopeExceeded, why);
    let chosen = match args.scope {
        TestScope::All if args.allow_full_suite => return Chosen::Everything,
        TestScope::All => return too_much("the whole suite runs only with allow_full_suite".into()),
        TestScope::Convention if files.is_empty() => {
            return Chosen::Nothing(TestOutcome::Skip, "no files were named: nothing was tested".into());
        }
        TestScope::Convention => related::by_name(project, &files),
        TestScope::Graph | TestScope::Impact => match &files[..] {
            [file] => {
                let depth = if args.scope == TestScope::Graph { 0 } else { DEPTH };
                related::by_import(project, file, depth)
            }
            [] => return Chosen::Nothing(TestOutcome::Skip, "no file was named: nothing was tested".into()),
            _ => return too_much("this scope takes one source file".into()),
        },
    };
    match chosen.len() {
        0 => Chosen::Nothing(TestOutcome::Skip, "no tests belong to these files: nothing was tested".into()),
        many if many > FILES => too_much(format!("{many} test files belong to these files, at most {FILES} are run")),
        _ => Chosen::Files(chosen),
    }
}

fn tell(reply: &mut TestRunnerReply, framework: &'static str, done: CommandRun) {
    let output = combined_output(&done);
    reply.test_cases = cases(&output);
    reply.totals = if IS_SCRIPT.contains(&framework) {
        guess(&output).unwrap_or_default()
    } else {
        totals(framework, &output, &reply.test_cases)
    };
    reply.coverage_percent = coverage(&output);
    reply.outcome = match (done.exit_code, reply.totals) {
        // pytest, and unittest since Python 3.12, exit with 5 if they found no test.
        (Some(5), TestTotals { total: 0, .. }) if ["pytest", "unittest"].contains(&framework) => TestOutcome::NoTests,
        // A script may run tests without counting them; its report that it ran none is believed.
        (Some(0), TestTotals { total: 0, .. }) if !IS_SCRIPT.contains(&framework) || counts_none(&output) => {
            TestOutcome::NoTests
        }
        (Some(0), TestTotals { failed: 0, .. }) => TestOutcome::Pass,
        (Some(0), _) => TestOutcome::Regression,
        (Some(_), TestTotals { failed: 1.., .. }) => TestOutcome::Regression,
        (Some(_) | None, _) => TestOutcome::Error,
    };
    reply.success = reply.outcome == TestOutcome::Pass;
    let TestTotals { passed, failed, skipped, .. } = reply.totals;
    reply.message = match (done.exit_code, lacked_program(&done)) {
        (_, Some(program)) => format!("{framework} could not run: {program} is not installed: nothing was tested"),
        _ if reply.outcome == TestOutcome::NoTests => {
            format!("{framework} ran, and there was no test: nothing was tested")
        }
        (Some(code), None) => {
            format!("{framework} ended with exit code {code}: {passed} passed, {failed} failed, {skipped} skipped")
        }
        (None, None) => format!("{framework}: {}", done.ending),
    };
    reply.framework = Some(framework.to_owned());
    reply.command = done.argv;
    reply.duration_ms = done.duration_ms;
    reply.raw_output = output;
    reply.memory = done.memory;
}
