//! The checks as verbs, with the argument and result keys that agents know from swarm tools.
//!
//! Paths are relative to the folder that is checked: the caller's work tree, unless `working_directory` names a folder below it.

mod batch;
mod command;
mod evidence;
mod files;
mod words;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use batch::{Part, PartState, PreCheckBatch, PreCheckBatchReply, PreCheckBatchRequest};
pub use command::{
    BuildCheck, BuildCheckReply, BuildCheckRequest, BuildMode, BuildSummary, BuildVerdict, CommandFinding, Lint,
    LintMode, LintReply, LintRequest, TestCase, TestOutcome, TestRunner, TestRunnerReply, TestRunnerRequest, TestScope,
};
pub use evidence::{
    CheckGateStatus, CheckGateStatusReply, CheckGateStatusRequest, EvidenceCheck, EvidenceCheckReply,
    EvidenceCheckRequest, EvidenceGap, GateStatus, SecretscanVerdict,
};
pub use files::{ChangedFile, Files};
pub use words::Words;

use super::verb;
use crate::error::Failure;
use crate::evidence::{FileSyntax, PlaceholderFinding};
use crate::finding::{CheckFailure, CheckVerdict, SkippedFile};
use crate::schema::JsonSchema;

/// Which of the named files to check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SyntaxMode {
    /// Only changed files.
    #[default]
    Changed,
    /// All files.
    All,
}

/// Files to parse.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SyntaxCheckRequest {
    /// Files to check; by default everything that differs from the base.
    #[serde(default, alias = "files", alias = "paths")]
    pub changed_files: Files,
    /// `changed`, or `all` for every file whether it was changed or not.
    #[serde(default)]
    pub mode: SyntaxMode,
    /// Only these languages.
    #[serde(default)]
    pub languages: Words,
    /// Revision to compare errors with; by default where the branch left the main one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Folder to check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
}

/// Whether the files parse.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SyntaxCheckReply {
    /// Verdict; `skip` if there was nothing to parse.
    pub verdict: CheckVerdict,
    /// Result for each file; `errors` are those that the change introduced.
    pub files: Vec<FileSyntax>,
    /// One-sentence summary.
    pub summary: String,
    /// Number of errors that the base had already.
    #[serde(default)]
    pub pre_existing: u64,
    /// What could not be checked; the rest holds for everything else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<CheckFailure>,
}

verb! {
    /// Check that changed files parse, in 20 languages; errors that the base had do not count.
    SyntaxCheck = "syntax_check", Read, Check, Found,
    SyntaxCheckRequest => SyntaxCheckReply
}

/// Files to scan for secrets.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretscanRequest {
    /// Folder to scan, with all its files; the working directory by default.
    #[serde(default, alias = "scan_dir", alias = "path", skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Globs of files to leave out.
    #[serde(default)]
    pub exclude: Words,
    /// Only these files.
    #[serde(default, alias = "files", alias = "paths")]
    pub changed_files: Files,
    /// Revision to compare findings with; without it all findings are new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Folder to check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
}

/// A secret in a file. The value is in none of the fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretFinding {
    /// Path of the file.
    pub path: String,
    /// Line, from 1.
    pub line: u32,
    /// Kind of secret.
    #[serde(rename = "type")]
    pub kind: String,
    /// Confidence: `high`, `medium` or `low`.
    pub confidence: String,
    /// Severity: `critical`, `high`, `medium`, `low` or `info`.
    pub severity: String,
    /// The part of the secret that may be shown.
    pub redacted: String,
    /// The line up to the secret, as far as it holds plain words.
    pub context: String,
    /// True if the base did not have the secret.
    pub is_new: bool,
    /// Reason why the finding is accepted, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<String>,
}

/// Secrets that were found, and the files scanned.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SecretscanReply {
    /// Folder that was scanned.
    pub scan_dir: String,
    /// Findings.
    pub findings: Vec<SecretFinding>,
    /// Number of findings, including those that are not listed.
    pub count: u64,
    /// Number of files scanned.
    pub files_scanned: u64,
    /// Number of files skipped.
    pub skipped_files: u64,
    /// Skipped files with the reason; at most 1,000.
    pub skipped: Vec<SkippedFile>,
    /// Verdict; `fail` if a finding is new and not accepted.
    pub verdict: CheckVerdict,
    /// One-sentence summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What could not be checked; the rest holds for everything else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<CheckFailure>,
}

verb! {
    /// Scan files for keys, tokens, passwords and other credentials; no value is ever shown.
    Secretscan = "secretscan", Read, Check, Found,
    SecretscanRequest => SecretscanReply
}

/// Files to scan for unfinished code.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlaceholderScanRequest {
    /// Changed files to scan; by default everything that differs from the base.
    #[serde(default, alias = "files", alias = "paths")]
    pub changed_files: Files,
    /// Globs of files in which placeholders are allowed.
    #[serde(default)]
    pub allow_globs: Words,
    /// Regular expressions that replace the default words; matched in comments.
    #[serde(default)]
    pub deny_patterns: Words,
    /// Revision to compare findings with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Folder to check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
}

/// Unfinished places that the change introduced.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PlaceholderScanReply {
    /// Verdict; `skip` if there was nothing to scan.
    pub verdict: CheckVerdict,
    /// Findings that block.
    pub findings: Vec<PlaceholderFinding>,
    /// Findings that a person should look at; they don't block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<PlaceholderFinding>,
    /// One-sentence summary.
    pub summary: String,
    /// Number of places that the base had already.
    #[serde(default)]
    pub pre_existing: u64,
    /// What could not be checked; the rest holds for everything else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<CheckFailure>,
}

verb! {
    /// Find code that only pretends to be finished: stubs, marks like TODO, placeholder text.
    PlaceholderScan = "placeholder_scan", Read, Check, Found,
    PlaceholderScanRequest => PlaceholderScanReply
}

/// Files and tags to search for.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TodoExtractRequest {
    /// Files and folders; everything by default.
    #[serde(default, alias = "path", alias = "files")]
    pub paths: Words,
    /// Only these tags, such as `TODO,FIXME`.
    #[serde(default)]
    pub tags: Words,
    /// Globs of files to leave out.
    #[serde(default)]
    pub exclude: Words,
    /// Folder to search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
}

/// Number of notes by priority.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ByPriority {
    /// FIXME, HACK, XXX.
    pub high: u64,
    /// TODO, WARN, TBD, WIP.
    pub medium: u64,
    /// NOTE.
    pub low: u64,
}

/// A note in a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TodoEntry {
    /// Path of the file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Tag: `TODO`, `FIXME`, …
    pub tag: String,
    /// Text from the tag to the end of its line, at most 200 characters.
    pub text: String,
    /// Priority: `high`, `medium` or `low`.
    pub priority: String,
}

/// The notes, by file and line.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TodoExtractReply {
    /// Number of notes.
    pub total: u64,
    /// Number of notes by priority.
    pub by_priority: ByPriority,
    /// Notes; at most 1,000.
    pub entries: Vec<TodoEntry>,
    /// What could not be checked; the rest holds for everything else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<CheckFailure>,
}

verb! {
    /// List the notes in comments: TODO, FIXME, HACK, XXX, WARN, NOTE.
    TodoExtract = "todo_extract", Read, Check, Found,
    TodoExtractRequest => TodoExtractReply
}

/// Request for one of these verbs to the child process that runs checks: one JSON object per line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckCall {
    /// Id that the answer repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Name of the verb.
    pub verb: String,
    /// Folder to check, absolute.
    pub root: String,
    /// Arguments of the verb.
    pub args: Value,
}

/// Answer to a [`CheckCall`], with either `result` or `failure`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckAnswer {
    /// Id of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Reply of the verb.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Failure, if there is no reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}
