//! Checks that run the repository's own commands.

use serde::{Deserialize, Serialize};

use super::super::verb;
use super::files::Files;
use crate::evidence::BuildRun;
use crate::finding::TestTotals;
use crate::schema::JsonSchema;

/// A finding about a file in a command's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandFinding {
    /// Path of the file, as the command names it.
    pub path: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1, if the command reports one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// Severity: `error`, `warning` or `info`.
    pub severity: String,
    /// Message of the command.
    pub message: String,
    /// Rule or code of the finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// Whether a linter may change files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LintMode {
    /// Fixes what it can.
    Fix,
    /// Changes nothing.
    #[default]
    Check,
}

/// Options of the linter.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LintRequest {
    /// `check`, or `fix` to let the linter change files.
    #[serde(default)]
    pub mode: LintMode,
    /// Time limit in milliseconds: 60,000 by default, 300,000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Folder to lint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
}

/// Result of the linter.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LintReply {
    /// True if the linter ran and ended with exit code 0.
    pub success: bool,
    /// Mode in which it ran.
    pub mode: LintMode,
    /// Name of the linter; empty if none was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linter: Option<String>,
    /// Command that ran.
    pub command: Vec<String>,
    /// Exit code; none if the linter did not start, or a signal or the time limit ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Beginning and end of the output, without secrets.
    pub output: String,
    /// One-sentence summary.
    pub message: String,
    /// Findings about files in the output.
    pub findings: Vec<CommandFinding>,
    /// Memory limit it ran under, or `not limited`.
    pub memory: String,
}

verb! {
    /// Run the repository's own linter, to check or to fix, under limits of time and memory.
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
    /// Both, if both are known.
    #[default]
    Both,
}

/// Options of the build.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BuildCheckRequest {
    /// `all`, or `changed` to build only for the languages of the changed files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Changed files.
    #[serde(default, alias = "files")]
    pub changed_files: Files,
    /// `build`, `typecheck` or `both`.
    #[serde(default)]
    pub mode: BuildMode,
    /// Time limit of each command in milliseconds: 300,000 by default and at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Folder to build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
}

/// Verdict of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BuildVerdict {
    /// Every command ended with exit code 0.
    Pass,
    /// At least one command failed.
    Fail,
    /// There is nothing to build.
    Info,
    /// The build did not run: a tool is not installed, or the build is not configured.
    NotRun,
}

/// Counts of the commands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BuildSummary {
    /// Number of files by which the commands were chosen.
    pub files_scanned: u64,
    /// Number of commands that ran.
    pub runs_count: u64,
    /// Number of commands that failed.
    pub failed_count: u64,
    /// Reason why none ran, or names of those that did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped_reason: Option<String>,
}

/// Result of the build.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct BuildCheckReply {
    /// Verdict of the build.
    pub verdict: BuildVerdict,
    /// Result of each command.
    pub runs: Vec<BuildRun>,
    /// Counts of the commands.
    pub summary: BuildSummary,
    /// Findings about files in the output.
    pub findings: Vec<CommandFinding>,
    /// Memory limit the commands ran under, or `not limited`.
    pub memory: String,
}

verb! {
    /// Run the repository's own build and type check, under limits of time and memory.
    BuildCheck = "build_check", Read, Build, Found,
    BuildCheckRequest => BuildCheckReply
}

/// Which tests to run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestScope {
    /// The whole suite; needs `allow_full_suite`.
    All,
    /// Tests named after the files.
    #[default]
    Convention,
    /// Tests that import the file.
    Graph,
    /// Tests that the file's change may affect: those that import it, or import a file that imports it.
    Impact,
}

/// Options of the tests.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestRunnerRequest {
    /// `convention`, `graph`, `impact` or `all`.
    #[serde(default)]
    pub scope: TestScope,
    /// Changed files, or test files themselves.
    #[serde(default, alias = "changed_files")]
    pub files: Files,
    /// Whether to measure coverage, if the framework can.
    #[serde(default)]
    pub coverage: bool,
    /// Whether to stop at the first failure.
    #[serde(default)]
    pub bail: bool,
    /// Time limit in milliseconds: 60,000 by default, 300,000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Must be true to run the whole suite.
    #[serde(default)]
    pub allow_full_suite: bool,
    /// Folder to test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
}

/// Outcome of the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestOutcome {
    /// All tests passed.
    Pass,
    /// There was nothing to run.
    Skip,
    /// The command ran, but found no test.
    NoTests,
    /// Some tests failed.
    Regression,
    /// More tests would have run than requested.
    ScopeExceeded,
    /// The tests could not be completed.
    Error,
}

/// One test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestCase {
    /// Name of the test.
    pub name: String,
    /// Status: `passed`, `failed` or `skipped`.
    pub status: String,
}

/// Result of the tests.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TestRunnerReply {
    /// True if the tests ran and all passed.
    pub success: bool,
    /// Name of the framework; empty if none was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework: Option<String>,
    /// Which tests were requested.
    pub scope: TestScope,
    /// Command that ran.
    pub command: Vec<String>,
    /// Time limit in milliseconds.
    pub timeout_ms: u64,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// Number of tests by result, if the output can be read.
    pub totals: TestTotals,
    /// Covered lines, in percent.
    #[serde(rename = "coveragePercent", default, skip_serializing_if = "Option::is_none")]
    pub coverage_percent: Option<f64>,
    /// Beginning and end of the output, without secrets.
    #[serde(rename = "rawOutput")]
    pub raw_output: String,
    /// Tests that the output names; at most 1,000.
    #[serde(rename = "testCases")]
    pub test_cases: Vec<TestCase>,
    /// Outcome of the tests.
    pub outcome: TestOutcome,
    /// Requested scope, if nothing ran because of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempted_scope: Option<TestScope>,
    /// One-sentence summary.
    pub message: String,
    /// Memory limit it ran under, or `not limited`.
    pub memory: String,
}

verb! {
    /// Run the repository's own tests: those for some files, or all of them, under limits of time and memory.
    TestRunner = "test_runner", Read, Build, Found,
    TestRunnerRequest => TestRunnerReply
}
