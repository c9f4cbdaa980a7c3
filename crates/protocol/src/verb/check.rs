//! The checks as verbs, with the arguments and result keys that agents know from swarm tools.
//!
//! Paths are relative to the folder that is checked: the caller's work tree, unless `working_directory` names one below it.

mod batch;
mod command;
mod evidence;
mod files;
mod words;

use schemars::JsonSchema;
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

/// Which files of those named are looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SyntaxMode {
    /// Changed ones.
    #[default]
    Changed,
    /// All.
    All,
}

/// What to parse.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SyntaxCheckRequest {
    /// Files to look at; everything that differs from the base when left out.
    #[serde(default, alias = "files", alias = "paths")]
    pub changed_files: Files,
    /// `changed`, or `all` for every file whether it was changed or not.
    #[serde(default)]
    pub mode: SyntaxMode,
    /// Only these languages.
    #[serde(default)]
    pub languages: Words,
    /// Revision that old errors are told from; where the branch left the main one when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Folder to check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
}

/// Whether the files parse.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SyntaxCheckReply {
    /// `skip` where there was nothing to parse.
    pub verdict: CheckVerdict,
    /// Each file; `errors` are those that the change brought.
    pub files: Vec<FileSyntax>,
    /// In a sentence.
    pub summary: String,
    /// Errors that the base had already.
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

/// Where to look for secrets.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretscanRequest {
    /// Folder to scan, all files of it; the working directory when left out.
    #[serde(default, alias = "scan_dir", alias = "path", skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Globs of files to leave out.
    #[serde(default)]
    pub exclude: Words,
    /// Only these files.
    #[serde(default, alias = "files", alias = "paths")]
    pub changed_files: Files,
    /// Tell new findings from those that this revision had; without it all are new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Folder to check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
}

/// A secret in a file. The value is in none of the fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretFinding {
    /// Which file.
    pub path: String,
    /// Line, from 1.
    pub line: u32,
    /// What kind of secret.
    #[serde(rename = "type")]
    pub kind: String,
    /// `high`, `medium` or `low`.
    pub confidence: String,
    /// `critical`, `high`, `medium`, `low` or `info`.
    pub severity: String,
    /// What may be shown of it.
    pub redacted: String,
    /// The line up to the secret, as far as it holds plain words.
    pub context: String,
    /// Whether the base did not have it.
    pub is_new: bool,
    /// Why it is accepted, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<String>,
}

/// Secrets, and where was looked.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SecretscanReply {
    /// Folder that was scanned.
    pub scan_dir: String,
    /// Each of them.
    pub findings: Vec<SecretFinding>,
    /// How many there are, those that are not listed included.
    pub count: u64,
    /// How many files were looked at.
    pub files_scanned: u64,
    /// How many were not.
    pub skipped_files: u64,
    /// Which, and why; at most 1,000.
    pub skipped: Vec<SkippedFile>,
    /// `fail` where one is new and not accepted.
    pub verdict: CheckVerdict,
    /// In a sentence.
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

/// Where to look for unfinished code.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlaceholderScanRequest {
    /// Files to look at, as a change; everything that differs from the base when left out.
    #[serde(default, alias = "files", alias = "paths")]
    pub changed_files: Files,
    /// Globs of files in which placeholders are all right.
    #[serde(default)]
    pub allow_globs: Words,
    /// Patterns that take the place of the usual words, as regular expressions; matched in comments.
    #[serde(default)]
    pub deny_patterns: Words,
    /// Revision that old findings are told from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Folder to check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
}

/// Unfinished places that the change brought.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PlaceholderScanReply {
    /// `skip` where there was nothing to look at.
    pub verdict: CheckVerdict,
    /// Each of them.
    pub findings: Vec<PlaceholderFinding>,
    /// In a sentence.
    pub summary: String,
    /// Places that the base had already.
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

/// Which notes.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TodoExtractRequest {
    /// Files and folders; everything when left out.
    #[serde(default, alias = "path", alias = "files")]
    pub paths: Words,
    /// Only these tags, such as `TODO,FIXME`.
    #[serde(default)]
    pub tags: Words,
    /// Globs of files to leave out.
    #[serde(default)]
    pub exclude: Words,
    /// Folder to look in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
}

/// How many notes of each priority.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ByPriority {
    /// FIXME, HACK, XXX.
    pub high: u64,
    /// TODO, WARN, TBD, WIP.
    pub medium: u64,
    /// NOTE.
    pub low: u64,
}

/// A note that somebody left in a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TodoEntry {
    /// Which file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// `TODO`, `FIXME`, …
    pub tag: String,
    /// From the tag to the end of its line, at most 200 characters.
    pub text: String,
    /// `high`, `medium` or `low`.
    pub priority: String,
}

/// The notes, by file and line.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TodoExtractReply {
    /// How many there are.
    pub total: u64,
    /// How many of each priority.
    pub by_priority: ByPriority,
    /// Each of them; at most 1,000.
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

/// Asks the checking child for one of these verbs: one JSON object a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckCall {
    /// Told back in the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The verb.
    pub verb: String,
    /// The folder to check, absolute.
    pub root: String,
    /// The verb's arguments.
    pub args: Value,
}

/// Answers a [`CheckCall`]: one of `result` and `failure` is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckAnswer {
    /// The id of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The verb's reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}
