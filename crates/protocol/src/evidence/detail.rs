//! The fields that each type of evidence adds to the common ones.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Number;

use super::Retrospective;
use crate::schema::JsonSchema;

/// The types of evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Detail {
    /// A review of the change.
    Review {
        /// Risk of the change.
        risk: Risk,
        /// Problems that the reviewer found.
        issues: Vec<Issue>,
    },
    /// A run of the tests.
    Test {
        /// Number of tests that passed.
        tests_passed: u64,
        /// Number of tests that failed.
        tests_failed: u64,
        /// File of the tests, if they are in one file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        test_file: Option<String>,
        /// Tests that failed.
        failures: Vec<TestFailure>,
    },
    /// A change.
    Diff {
        /// Changed files.
        files_changed: Vec<String>,
        /// Added lines.
        additions: u64,
        /// Removed lines.
        deletions: u64,
        /// Path of the patch file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        patch_path: Option<String>,
    },
    /// An approval.
    Approval,
    /// A remark.
    Note,
    /// Retrospective of a phase.
    Retrospective(Box<Retrospective>),
    /// Whether files parse.
    Syntax {
        /// Number of files checked.
        files_checked: u64,
        /// Number of files that don't parse.
        files_failed: u64,
        /// Number of files skipped.
        skipped_count: u64,
        /// Result for each file.
        files: Vec<FileSyntax>,
    },
    /// Unfinished places in the code.
    Placeholder {
        /// Findings.
        findings: Vec<PlaceholderFinding>,
        /// Number of files scanned.
        files_scanned: u64,
        /// Number of files with findings.
        files_with_findings: u64,
        /// Number of findings.
        findings_count: u64,
    },
    /// Security findings in the code.
    Sast {
        /// Findings.
        findings: Vec<SastFinding>,
        /// Engine: `tier_a` or `tier_a+tier_b`.
        engine: String,
        /// Number of files scanned.
        files_scanned: u64,
        /// Number of findings.
        findings_count: u64,
        /// Number of findings by severity.
        findings_by_severity: BTreeMap<String, u64>,
        /// Findings that the change introduced.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        new_findings: Option<Vec<SastFinding>>,
        /// Findings that existed before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pre_existing_findings: Option<Vec<SastFinding>>,
        /// True if the findings were compared with a baseline.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        baseline_used: Option<bool>,
    },
    /// Components of the software; `metadata` names the tool that made the list (timestamp, tool, tool_version).
    Sbom {
        /// Components.
        components: Vec<Component>,
        /// Files that the list was made from.
        files: Vec<String>,
        /// Number of components.
        components_count: u64,
        /// Path of the list.
        output_path: String,
    },
    /// Whether the code builds.
    Build {
        /// Result of each command.
        runs: Vec<BuildRun>,
        /// Number of files examined to choose the commands.
        files_scanned: u64,
        /// Number of commands that ran.
        runs_count: u64,
        /// Number of commands that failed.
        failed_count: u64,
        /// Reason why no command ran.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        skipped_reason: Option<String>,
    },
    /// Whether the code stays as simple as it was.
    QualityBudget {
        /// Measured values.
        metrics: QualityMetrics,
        /// Limits by name.
        thresholds: BTreeMap<String, Number>,
        /// Exceeded limits.
        violations: Vec<Violation>,
        /// Files that were measured.
        files_analyzed: Vec<String>,
    },
    /// Whether files contain secrets; the secrets themselves are never recorded.
    Secretscan {
        /// Number of findings.
        findings_count: u64,
        /// Folder that was scanned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scan_directory: Option<String>,
        /// Number of files scanned.
        files_scanned: u64,
        /// Number of files skipped.
        skipped_files: u64,
    },
    /// Whether the tests notice changed code.
    #[serde(rename = "mutation-gate", rename_all = "camelCase")]
    MutationGate {
        /// Share of mutants that the tests noticed, 0 to 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kill_rate: Option<Number>,
        /// The same share without mutants that change nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        adjusted_kill_rate: Option<Number>,
        /// Mutants that the tests did not notice: a text that holds JSON.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        survived_mutants: Option<String>,
    },
    /// Whether the phase was built as asked.
    #[serde(rename = "drift-verification", rename_all = "camelCase")]
    DriftVerification {
        /// Requirements that are met.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        requirement_coverage: Option<serde_json::Value>,
    },
    /// Whether claims about the code are true.
    #[serde(rename = "hallucination-verification")]
    HallucinationVerification {
        /// Claims that are not true.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        findings: Option<serde_json::Value>,
    },
}

/// Risk of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Risk {
    Low,
    Medium,
    High,
    Critical,
}

/// Severity of an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Severity {
    Error,
    Warning,
    Info,
}

/// A problem that a reviewer found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Issue {
    /// Severity of the problem.
    pub severity: Severity,
    /// Description of the problem.
    pub message: String,
    /// File with the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line of the problem, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// A test that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestFailure {
    /// Name of the test.
    pub name: String,
    /// How the test failed.
    pub message: String,
}

/// Whether a file parses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSyntax {
    /// Path of the file.
    pub path: String,
    /// Language of the file.
    pub language: String,
    /// True if the file parses.
    pub ok: bool,
    /// Places that don't parse.
    pub errors: Vec<SyntaxError>,
    /// Reason why the file was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped_reason: Option<String>,
}

/// A place that doesn't parse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SyntaxError {
    /// Line, from 1.
    pub line: u64,
    /// Column of the line.
    pub column: u64,
    /// Description of the error.
    pub message: String,
}

/// An unfinished place in the code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceholderFinding {
    /// Path of the file.
    pub path: String,
    /// Line, from 1.
    pub line: u64,
    /// Kind of place.
    pub kind: String,
    /// Text at that place, at most 100 characters.
    pub excerpt: String,
    /// The rule that found it.
    pub rule_id: String,
}

/// A security finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SastFinding {
    /// The rule that found it.
    pub rule_id: String,
    /// Severity of the finding.
    pub severity: String,
    /// Description of the finding.
    pub message: String,
    /// Location of the finding.
    pub location: SastLocation,
    /// What to do about the finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediation: Option<String>,
}

/// Location of a security finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SastLocation {
    /// Path of the file.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
    /// Column of the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
}

/// A component of the software.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Component {
    /// Name of the component.
    pub name: String,
    /// Version of the component.
    pub version: String,
    /// Type of the component: `library`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// Package URL of the component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purl: Option<String>,
    /// Licence of the component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
}

/// A command of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BuildRun {
    /// Kind of command: `build`, `typecheck` or `test`.
    pub kind: String,
    /// Command line.
    pub command: String,
    /// Folder in which the command ran.
    pub cwd: String,
    /// Exit code of the command.
    pub exit_code: i64,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// End of standard output.
    pub stdout_tail: String,
    /// End of standard error.
    pub stderr_tail: String,
}

/// Measured values of a quality budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QualityMetrics {
    /// Added complexity.
    pub complexity_delta: Number,
    /// Added public items.
    pub public_api_delta: Number,
    /// Share of repeated lines, 0 to 1.
    pub duplication_ratio: Number,
    /// Lines of tests per line of code.
    pub test_to_code_ratio: Number,
}

/// An exceeded limit of a quality budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Violation {
    /// Exceeded limit: `complexity`, `api`, `duplication` or `test_ratio`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Description of the violation.
    pub message: String,
    /// Severity of the violation.
    pub severity: Severity,
    /// Files concerned.
    pub files: Vec<String>,
}
