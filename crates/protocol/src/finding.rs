//! Findings of checks, and the requests and replies of the child process that runs checks.
//!
//! [`CheckRequest`] goes in, [`CheckReply`] comes out; both travel as one JSON object per line. They never hold
//! a secret: a finding about one names its rule and place, and at most the vendor's public prefix.

mod command;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::schema::JsonSchema;

pub use command::{CheckCommand, CommandKind, CommandRun, TestTotals};

/// Name of a check, as agents call its tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckName {
    /// Code that no longer parses.
    SyntaxCheck,
    /// Keys, tokens, passwords and other credentials in files.
    Secretscan,
    /// Code that only pretends to be finished.
    PlaceholderScan,
    /// TODO, FIXME and their family, in comments.
    TodoExtract,
    /// What a change does to tests, and to what runs and judges them.
    TestIntegrity,
    /// Whether the tests that a change adds fail without the change.
    NewTests,
    /// The change, file by file; files that decide how the change is judged come first.
    Diff,
    /// Whether the imports of a change exist.
    Imports,
    /// The tests that depend on what a change touches.
    RegressionSweep,
    /// The repository's own linter.
    Lint,
    /// The repository's own build command.
    BuildCheck,
    /// The repository's own test command.
    TestRunner,
    /// Security weaknesses in code.
    SastScan,
    /// Complexity, public surface, duplication and tests against thresholds.
    QualityBudget,
}

impl CheckName {
    /// All checks, in the order of reports.
    pub const ALL: [Self; 14] = [
        Self::SyntaxCheck,
        Self::Secretscan,
        Self::PlaceholderScan,
        Self::TodoExtract,
        Self::TestIntegrity,
        Self::NewTests,
        Self::Diff,
        Self::Imports,
        Self::RegressionSweep,
        Self::Lint,
        Self::BuildCheck,
        Self::TestRunner,
        Self::SastScan,
        Self::QualityBudget,
    ];

    /// Returns the name as it is written in JSON, on the command line and in evidence.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SyntaxCheck => "syntax_check",
            Self::Secretscan => "secretscan",
            Self::PlaceholderScan => "placeholder_scan",
            Self::TodoExtract => "todo_extract",
            Self::TestIntegrity => "test_integrity",
            Self::NewTests => "new_tests",
            Self::Diff => "diff",
            Self::Imports => "imports",
            Self::RegressionSweep => "regression_sweep",
            Self::Lint => "lint",
            Self::BuildCheck => "build_check",
            Self::TestRunner => "test_runner",
            Self::SastScan => "sast_scan",
            Self::QualityBudget => "quality_budget",
        }
    }
}

impl fmt::Display for CheckName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Error for a word that names no check.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the name of a check")]
pub struct UnknownCheck(pub String);

impl FromStr for CheckName {
    type Err = UnknownCheck;

    /// Reads a name; `-` and `_` are equivalent.
    fn from_str(text: &str) -> Result<Self, UnknownCheck> {
        let wanted = text.replace('-', "_");
        Self::ALL
            .into_iter()
            .find(|name| name.as_str() == wanted)
            .ok_or_else(|| UnknownCheck(crate::text::cut(text, 80)))
    }
}

/// Severity of a finding. For secrets, placeholders and changes to tests it decides the verdict: high and critical block, medium asks for a
/// person's look ([`CheckVerdict::Warn`]), low is only listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// A minor flaw.
    Low,
    /// Should be looked at before it is merged.
    Medium,
    /// Will cause harm.
    High,
    /// Must not leave this machine.
    Critical,
}

impl Severity {
    /// Returns the word as it is written in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A place in a file: lines and columns count from 1, columns in characters, the end is exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// Line of the first character.
    pub start_line: u32,
    /// Column of the first character.
    pub start_column: u32,
    /// Line of the last character.
    pub end_line: u32,
    /// Column after the last character.
    pub end_column: u32,
}

/// One finding of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Check that found it.
    pub check: CheckName,
    /// Rule of that check, e.g. `github-pat` or `python-syntax`.
    pub rule: String,
    /// Severity of the finding.
    pub severity: Severity,
    /// What is wrong, in one sentence, without the offending value where that is a secret.
    pub message: String,
    /// What to do about it, in one sentence.
    pub remedy: String,
    /// Number of the weakness in the Common Weakness Enumeration (CWE).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwe: Option<u32>,
    /// Path of the file, relative to the root, with `/`.
    pub path: String,
    /// Position in that file.
    pub span: Span,
    /// Fingerprint of 32 hexadecimal digits, which stays the same when lines above move.
    pub fingerprint: String,
    /// True if the base did not have the finding.
    pub is_new: bool,
    /// True if the finding makes the check fail.
    pub blocks: bool,
    /// Reason why the finding is accepted: that of an ignore comment, or `in the baseline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<String>,
    /// The part of a secret that may be shown: the vendor's public prefix and a length, e.g. `ghp_… (40 characters)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub masked: Option<String>,
    /// The line of the finding, at most 100 characters, with every secret removed; only where it adds to the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// When the history was searched: full id of the oldest commit whose version of the file has the finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// The rule of `diff` for altered contracts: what other code may call.
pub const DIFF_CONTRACT: &str = "diff/contract";

/// Returns the kind of a placeholder for `.swarm/` evidence, by the rule that found it.
#[must_use]
pub fn placeholder_kind(rule: &str) -> &'static str {
    match rule.strip_prefix("placeholder/").unwrap_or(rule) {
        rule if rule.starts_with("comment-") || rule.starts_with("custom") => "comment",
        rule if rule.starts_with("text-") => "string",
        rule if rule.starts_with("code-") => "function_body",
        _ => "other",
    }
}

/// The outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckVerdict {
    /// The check ran, and nothing blocks.
    Pass,
    /// The check ran and nothing blocks, but a person should see a new finding.
    Warn,
    /// The check could not read a new or changed file of a code or text type; nothing blocks in the others. This is not a pass.
    Incomplete,
    /// The check ran, and something blocks.
    Fail,
    /// There was nothing to check.
    Skip,
    /// The check could not run.
    Error,
}

impl CheckVerdict {
    /// Returns the word as it is written in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Warn => "warn",
            Self::Incomplete => "incomplete",
            Self::Fail => "fail",
            Self::Skip => "skip",
            Self::Error => "error",
        }
    }

    /// Joins the verdicts of several checks; the first of these counts: error, fail, incomplete, warn, pass, skip.
    #[must_use]
    pub fn all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        let weight = |verdict| match verdict {
            Self::Skip => 0,
            Self::Pass => 1,
            Self::Warn => 2,
            Self::Incomplete => 3,
            Self::Fail => 4,
            Self::Error => 5,
        };
        verdicts.into_iter().max_by_key(|verdict| weight(*verdict)).unwrap_or(Self::Skip)
    }
}

/// A file that a check did not read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct SkippedFile {
    /// Path of the file, relative to the root if it is below it.
    pub path: String,
    /// Reason, e.g. `binary` or `larger than 5 MB`.
    pub why: String,
    /// True if the change contains the file and it is of a code or text type; the check is then incomplete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_missing: bool,
}

/// Report of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckReport {
    /// Name of the check.
    pub check: CheckName,
    /// Verdict of the check.
    pub verdict: CheckVerdict,
    /// The verdict in one sentence.
    pub summary: String,
    /// Findings by path and place, including those that the base already had, which are marked.
    pub findings: Vec<Finding>,
    /// Number of findings left out because there were too many.
    #[serde(default)]
    pub findings_left_out: u64,
    /// Number of files checked.
    pub files_checked: u64,
    /// Files that were not checked.
    pub skipped: Vec<SkippedFile>,
    /// Number of skipped files left out of the list because there were too many.
    #[serde(default)]
    pub skipped_left_out: u64,
    /// Number of skipped files that the project's settings or the caller excluded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub excluded: u64,
    /// Commands that the check ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<CommandRun>,
    /// For `test_integrity`, when the base's tests were run and counted: the minimum number of tests that the change has to run. Tests that
    /// the change removes are findings and not counted here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_expected: Option<u64>,
    /// Duration in milliseconds; checks that share a pass over the files share its time.
    pub duration_ms: u64,
}

// === impl CheckReport ===

impl CheckReport {
    /// Returns the report of a check that read no file.
    #[must_use]
    pub const fn new(check: CheckName, verdict: CheckVerdict, summary: String) -> Self {
        Self {
            check,
            verdict,
            summary,
            findings: Vec::new(),
            findings_left_out: 0,
            files_checked: 0,
            skipped: Vec::new(),
            skipped_left_out: 0,
            excluded: 0,
            runs: Vec::new(),
            tests_expected: None,
            duration_ms: 0,
        }
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// State that findings are compared with to tell which are new.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Base {
    /// This revision, compared with the work tree, untracked files included.
    Rev(String),
    /// HEAD, compared with the index: what the next commit would hold.
    Staged,
    /// The merge base of HEAD and the main branch, compared with the work tree, untracked files included.
    #[default]
    MergeBase,
    /// No base: every file is checked and every finding is new.
    None,
}

/// Asks for checks of one folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckRequest {
    /// Id that the reply repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Folder to check, absolute.
    pub root: String,
    /// State that findings are compared with to tell which are new.
    #[serde(default)]
    pub base: Base,
    /// Files and folders to check, changed or not; empty means every changed file.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Globs like those in `.gitignore` of files to skip, in addition to those that the project's settings exclude. Each skipped file
    /// is counted and named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Checks to run; empty means all that need no command, and those that have one.
    #[serde(default)]
    pub only: Vec<CheckName>,
    /// Commands that may be run; nothing else of the repository is ever executed.
    #[serde(default)]
    pub commands: Vec<CheckCommand>,
    /// File with the fingerprints of accepted findings, relative to the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// The captured commit that the root is a checkout of. `test_integrity` judges that commit and runs the base's tests against it;
    /// for this it changes the checkout and restores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// For `new_tests`: the commit whose code the new tests of the captured commit run against; by default the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without: Option<String>,
    /// For `test_integrity`: tests that were written for the captured commit by others than its author, and that it still has to contain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handed: Vec<HandedTests>,
    /// With the base `staged`: the index file that git passes to its hooks, if it is not the repository's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_file: Option<String>,
}

/// Test files that existed when work on a change began, and that belong to others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HandedTests {
    /// Commit that contains the files.
    pub commit: String,
    /// Paths of the files, relative to the root.
    pub paths: Vec<String>,
    /// Commit up to which the files have to stay.
    pub until: String,
}

/// A part of the request that could not be checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckFailure {
    /// A code of the error table, e.g. `check.bad-base`.
    pub code: String,
    /// What failed, and on what.
    pub what: String,
    /// What to do about it.
    pub hint: String,
}

/// Reply to a [`CheckRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckReply {
    /// Id of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The joined outcome of all reports; `error` where there are failures.
    pub verdict: CheckVerdict,
    /// The base in words: a commit, `HEAD`, or `nothing`.
    pub base: String,
    /// One report for each requested check.
    pub reports: Vec<CheckReport>,
    /// Failures. Without any report nothing was checked at all; otherwise the reports hold for the rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<CheckFailure>,
    /// Duration in milliseconds.
    pub duration_ms: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_name_reads_back_from_its_spelling_and_its_json() {
        for name in CheckName::ALL {
            assert_eq!(name.as_str().parse(), Ok(name));
            assert_eq!(serde_json::to_string(&name).unwrap(), format!("\"{}\"", name.as_str()));
        }
    }

    #[test]
    fn a_request_needs_only_a_root() {
        let request: CheckRequest = serde_json::from_str(r#"{"root":"/w"}"#).unwrap();

        assert_eq!(request.base, Base::MergeBase);
        assert!(request.paths.is_empty() && request.only.is_empty() && request.commands.is_empty());
    }

    #[test]
    fn the_base_is_a_word_or_a_revision() {
        let read = |text| serde_json::from_str::<Base>(text).unwrap();

        assert_eq!(read(r#""staged""#), Base::Staged);
        assert_eq!(read(r#"{"rev":"HEAD~1"}"#), Base::Rev("HEAD~1".into()));
    }

    #[test]
    fn an_error_outweighs_a_failure_and_nothing_is_a_skip() {
        use CheckVerdict::{Error, Fail, Incomplete, Pass, Skip, Warn};

        assert_eq!(CheckVerdict::all([Pass, Error, Fail]), Error);
        assert_eq!(CheckVerdict::all([Warn, Fail, Incomplete]), Fail);
        assert_eq!(CheckVerdict::all([Pass, Incomplete, Warn]), Incomplete);
        assert_eq!(CheckVerdict::all([Skip, Pass]), Pass);
        assert_eq!(CheckVerdict::all([]), Skip);
    }
}
