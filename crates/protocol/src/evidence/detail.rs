//! What each type of evidence adds to the fields that all have.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Number;

use super::Retrospective;

/// The types of evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Detail {
    /// A review of the change.
    Review {
        /// How risky the change is.
        risk: Risk,
        /// What the reviewer found.
        issues: Vec<Issue>,
    },
    /// A run of the tests.
    Test {
        /// How many passed.
        tests_passed: u64,
        /// How many failed.
        tests_failed: u64,
        /// The file of the tests, if it was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        test_file: Option<String>,
        /// Those that failed.
        failures: Vec<TestFailure>,
    },
    /// What has changed.
    Diff {
        /// Changed files.
        files_changed: Vec<String>,
        /// Added lines.
        additions: u64,
        /// Removed lines.
        deletions: u64,
        /// Where the patch lies.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        patch_path: Option<String>,
    },
    /// A yes.
    Approval,
    /// A remark.
    Note,
    /// What a phase taught.
    Retrospective(Box<Retrospective>),
    /// Whether files parse.
    Syntax {
        /// How many were looked at.
        files_checked: u64,
        /// How many don't parse.
        files_failed: u64,
        /// How many were passed over.
        skipped_count: u64,
        /// Each of them.
        files: Vec<FileSyntax>,
    },
    /// Unfinished places in the code.
    Placeholder {
        /// Each of them.
        findings: Vec<PlaceholderFinding>,
        /// How many files were looked at.
        files_scanned: u64,
        /// How many had some.
        files_with_findings: u64,
        /// How many there are.
        findings_count: u64,
    },
    /// Security findings in the code.
    Sast {
        /// Each of them.
        findings: Vec<SastFinding>,
        /// `tier_a` or `tier_a+tier_b`.
        engine: String,
        /// How many files were looked at.
        files_scanned: u64,
        /// How many findings there are.
        findings_count: u64,
        /// How many of each severity.
        findings_by_severity: BTreeMap<String, u64>,
        /// Those that the change brought.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        new_findings: Option<Vec<SastFinding>>,
        /// Those that were there before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pre_existing_findings: Option<Vec<SastFinding>>,
        /// Whether there was something to compare with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        baseline_used: Option<bool>,
    },
    /// What the software is made of; `metadata` says by which tool the list was made (timestamp, tool, tool_version).
    Sbom {
        /// Each component.
        components: Vec<Component>,
        /// Files that it was made from.
        files: Vec<String>,
        /// How many components there are.
        components_count: u64,
        /// Where the list lies.
        output_path: String,
    },
    /// Whether it builds.
    Build {
        /// Each command.
        runs: Vec<BuildRun>,
        /// How many files were looked at to choose the commands.
        files_scanned: u64,
        /// How many commands ran.
        runs_count: u64,
        /// How many failed.
        failed_count: u64,
        /// Why none ran.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        skipped_reason: Option<String>,
    },
    /// Whether the code stays as simple as it was.
    QualityBudget {
        /// What was measured.
        metrics: QualityMetrics,
        /// What is allowed.
        thresholds: BTreeMap<String, Number>,
        /// Where it is too much.
        violations: Vec<Violation>,
        /// Files that were measured.
        files_analyzed: Vec<String>,
    },
    /// Whether secrets lie in the files. Never which.
    Secretscan {
        /// How many there are.
        findings_count: u64,
        /// Where was looked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scan_directory: Option<String>,
        /// How many files were looked at.
        files_scanned: u64,
        /// How many were passed over.
        skipped_files: u64,
    },
    /// Whether the tests notice changed code.
    #[serde(rename = "mutation-gate", rename_all = "camelCase")]
    MutationGate {
        /// Share of mutants that the tests noticed, 0 to 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kill_rate: Option<Number>,
        /// The same without mutants that change nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        adjusted_kill_rate: Option<Number>,
        /// Those that went unnoticed: a text that holds JSON.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        survived_mutants: Option<String>,
    },
    /// Whether what was built is what was asked for.
    #[serde(rename = "drift-verification", rename_all = "camelCase")]
    DriftVerification {
        /// Which requirements are met.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        requirement_coverage: Option<serde_json::Value>,
    },
    /// Whether what was said about the code is true.
    #[serde(rename = "hallucination-verification")]
    HallucinationVerification {
        /// What was not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        findings: Option<serde_json::Value>,
    },
}

/// How risky a change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Risk {
    Low,
    Medium,
    High,
    Critical,
}

/// How bad an issue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Severity {
    Error,
    Warning,
    Info,
}

/// What a reviewer found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Issue {
    /// How bad it is.
    pub severity: Severity,
    /// What it is.
    pub message: String,
    /// In which file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// In which line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// A test that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestFailure {
    /// Which.
    pub name: String,
    /// How.
    pub message: String,
}

/// Whether a file parses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSyntax {
    /// Which file.
    pub path: String,
    /// In which language.
    pub language: String,
    /// Whether it does.
    pub ok: bool,
    /// Where it doesn't.
    pub errors: Vec<SyntaxError>,
    /// Why it was passed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped_reason: Option<String>,
}

/// A place that doesn't parse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SyntaxError {
    /// Line, from 1.
    pub line: u64,
    /// Column.
    pub column: u64,
    /// What is wrong.
    pub message: String,
}

/// An unfinished place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceholderFinding {
    /// Which file.
    pub path: String,
    /// Line, from 1.
    pub line: u64,
    /// What kind of place.
    pub kind: String,
    /// What stands there, at most 100 characters.
    pub excerpt: String,
    /// The rule that found it.
    pub rule_id: String,
}

/// A security finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SastFinding {
    /// The rule that found it.
    pub rule_id: String,
    /// How bad it is.
    pub severity: String,
    /// What it is.
    pub message: String,
    /// Where.
    pub location: SastLocation,
    /// What to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediation: Option<String>,
}

/// Where a security finding is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SastLocation {
    /// Which file.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
    /// Column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
}

/// A component of the software.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Component {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it is: `library`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// Its package URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purl: Option<String>,
    /// Its licence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
}

/// A command of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BuildRun {
    /// `build`, `typecheck` or `test`.
    pub kind: String,
    /// The command.
    pub command: String,
    /// Where it ran.
    pub cwd: String,
    /// How it ended.
    pub exit_code: i64,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// End of its output.
    pub stdout_tail: String,
    /// End of its errors.
    pub stderr_tail: String,
}

/// What a quality budget measures.
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

/// Where a quality budget is exceeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Violation {
    /// `complexity`, `api`, `duplication` or `test_ratio`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What is too much.
    pub message: String,
    /// How bad it is.
    pub severity: Severity,
    /// Where.
    pub files: Vec<String>,
}
