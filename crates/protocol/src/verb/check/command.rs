//! Checks that run the repository's own commands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::verb;
use super::files::Files;
use crate::evidence::BuildRun;
use crate::finding::TestTotals;

/// Something that a command's output says about a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandFinding {
    /// Which file, as the command names it.
    pub path: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1, where the command says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// `error`, `warning` or `info`.
    pub severity: String,
    /// What it says.
    pub message: String,
    /// Its rule or code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// Whether a linter may change files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LintMode {
    /// Mends what it can.
    Fix,
    /// Looks only.
    #[default]
    Check,
}

/// How to lint.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LintRequest {
    /// `check`, or `fix` to have files changed.
    #[serde(default)]
    pub mode: LintMode,
    /// Longest time in milliseconds: 60,000 by default, 300,000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Folder to lint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
}

/// What the linter says.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LintReply {
    /// It ran, and ended with exit code 0.
    pub success: bool,
    /// What it was asked to do.
    pub mode: LintMode,
    /// Which linter; none was found where this is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linter: Option<String>,
    /// What ran.
    pub command: Vec<String>,
    /// Its exit code; none where it did not start, or a signal or the time limit ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Start and end of what it printed, without secrets.
    pub output: String,
    /// In a sentence.
    pub message: String,
    /// What its output says about files.
    pub findings: Vec<CommandFinding>,
    /// The memory limit it ran under, or `not limited`.
    pub memory: String,
}

verb! {
    /// Run the repository's own linter, to check or to mend, under limits of time and memory.
    Lint = "lint", Read, Build, Found,
    LintRequest => LintReply
}

/// What to build.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BuildMode {
    /// The build.
    Build,
    /// The type check.
    Typecheck,
    /// Both, where both are known.
    #[default]
    Both,
}

/// How to build.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BuildCheckRequest {
    /// `all`, or `changed` to build only what the changed files are written in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The changed files.
    #[serde(default, alias = "files")]
    pub changed_files: Files,
    /// `build`, `typecheck` or `both`.
    #[serde(default)]
    pub mode: BuildMode,
    /// Longest time of each command in milliseconds: 300,000 by default and at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Folder to build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
}

/// What a build comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BuildVerdict {
    /// Every command ended with exit code 0.
    Pass,
    /// One did not.
    Fail,
    /// Nothing here is to be built.
    Info,
    /// Something is to be built and was not: a tool is not installed, or the build is not configured.
    NotRun,
}

/// The commands, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BuildSummary {
    /// Files by which the commands were chosen.
    pub files_scanned: u64,
    /// Commands that ran.
    pub runs_count: u64,
    /// Those that failed.
    pub failed_count: u64,
    /// Why none ran, or which did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped_reason: Option<String>,
}

/// What the build says.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct BuildCheckReply {
    /// What it comes to.
    pub verdict: BuildVerdict,
    /// Each command.
    pub runs: Vec<BuildRun>,
    /// Counted.
    pub summary: BuildSummary,
    /// What the output says about files.
    pub findings: Vec<CommandFinding>,
    /// The memory limit the commands ran under, or `not limited`.
    pub memory: String,
}

verb! {
    /// Run the repository's own build and type check, under limits of time and memory.
    BuildCheck = "build_check", Read, Build, Found,
    BuildCheckRequest => BuildCheckReply
}

/// Which tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestScope {
    /// The whole suite; needs `allow_full_suite`.
    All,
    /// Tests that are named like the files.
    #[default]
    Convention,
    /// Tests that import the file.
    Graph,
    /// Tests that the file's change may touch: those that import it, or what imports it.
    Impact,
}

/// How to test.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestRunnerRequest {
    /// `convention`, `graph`, `impact` or `all`.
    #[serde(default)]
    pub scope: TestScope,
    /// The changed files, or test files themselves.
    #[serde(default, alias = "changed_files")]
    pub files: Files,
    /// Measure coverage, where the framework can.
    #[serde(default)]
    pub coverage: bool,
    /// Stop at the first failure.
    #[serde(default)]
    pub bail: bool,
    /// Longest time in milliseconds: 60,000 by default, 300,000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Yes, the whole suite.
    #[serde(default)]
    pub allow_full_suite: bool,
    /// Folder to test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
}

/// What the tests come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestOutcome {
    /// All passed.
    Pass,
    /// There was nothing to run.
    Skip,
    /// The tests were started, and there was not one.
    NoTests,
    /// Some failed.
    Regression,
    /// More would have run than was asked for.
    ScopeExceeded,
    /// They could not be run to their end.
    Error,
}

/// One test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestCase {
    /// Its name.
    pub name: String,
    /// `passed`, `failed` or `skipped`.
    pub status: String,
}

/// What the tests say.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TestRunnerReply {
    /// They ran, and all passed.
    pub success: bool,
    /// Which framework; none was found where this is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework: Option<String>,
    /// Which tests.
    pub scope: TestScope,
    /// What ran.
    pub command: Vec<String>,
    /// The time limit.
    pub timeout_ms: u64,
    /// How long it took.
    pub duration_ms: u64,
    /// Counted, where the output can be read.
    pub totals: TestTotals,
    /// Covered lines in percent.
    #[serde(rename = "coveragePercent", default, skip_serializing_if = "Option::is_none")]
    pub coverage_percent: Option<f64>,
    /// Start and end of the output, without secrets.
    #[serde(rename = "rawOutput")]
    pub raw_output: String,
    /// Each test that the output names; at most 1,000.
    #[serde(rename = "testCases")]
    pub test_cases: Vec<TestCase>,
    /// What it comes to.
    pub outcome: TestOutcome,
    /// The scope that was asked for, where nothing ran because of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempted_scope: Option<TestScope>,
    /// In a sentence.
    pub message: String,
    /// The memory limit it ran under, or `not limited`.
    pub memory: String,
}

verb! {
    /// Run the repository's own tests: those for some files, or all of them, under limits of time and memory.
    TestRunner = "test_runner", Read, Build, Found,
    TestRunnerRequest => TestRunnerReply
}
