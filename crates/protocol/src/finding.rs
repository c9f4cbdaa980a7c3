//! What a check finds, and what is asked of the checking child and answered by it.
//!
//! [`CheckRequest`] goes in, [`CheckReply`] comes out; both travel as one JSON object a line. Nothing in here
//! ever holds a secret: a finding about one names its rule and place, and at most the vendor's public prefix.

mod command;

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use command::{CheckCommand, CommandKind, CommandRun, TestTotals};

/// Names a check, as agents call its tool.
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
    /// Whether the tests that a change adds tell it from what was there.
    NewTests,
    /// The change, file by file, those that decide how it is judged first.
    Diff,
    /// Whether what a change imports is there.
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
    /// Lists every check, in the order in which reports are given.
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

/// Says that a word names no check.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the name of a check")]
pub struct UnknownCheck(pub String);

impl FromStr for CheckName {
    type Err = UnknownCheck;

    /// Reads a name; `-` and `_` are the same.
    fn from_str(text: &str) -> Result<Self, UnknownCheck> {
        let wanted = text.replace('-', "_");
        Self::ALL
            .into_iter()
            .find(|name| name.as_str() == wanted)
            .ok_or_else(|| UnknownCheck(crate::text::cut(text, 80)))
    }
}

/// Says how bad a finding is. For a secret, and for what is done to tests, it decides: high and critical block, medium wants a person's look ([`CheckVerdict::Warn`]),
/// low is only listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// A blemish.
    Low,
    /// Should be looked at before it is merged.
    Medium,
    /// Will hurt.
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

/// One thing a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The check that found it.
    pub check: CheckName,
    /// The rule of that check, e.g. `github-pat` or `python-syntax`.
    pub rule: String,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one sentence, without the offending value where that is a secret.
    pub message: String,
    /// What to do about it, in one sentence.
    pub remedy: String,
    /// Number of the weakness in the Common Weakness Enumeration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwe: Option<u32>,
    /// The file, relative to the root, with `/`.
    pub path: String,
    /// The place in that file.
    pub span: Span,
    /// 32 hexadecimal digits that stay the same when lines above move.
    pub fingerprint: String,
    /// Whether the base did not have it.
    pub is_new: bool,
    /// Whether it makes the check fail.
    pub blocks: bool,
    /// Why it is accepted: the reason in an ignore comment, or `in the baseline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<String>,
    /// What may be shown of a secret: the vendor's public prefix and a length, e.g. `ghp_… (40 characters)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub masked: Option<String>,
    /// The line it stands on, at most 100 characters, every secret in it left out; only where a line says more than the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// Where the past was searched: the oldest commit whose version of the file has it, in full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// The rule by which `diff` names what a change alters that others may call.
pub const DIFF_CONTRACT: &str = "diff/contract";

/// The word of `.swarm/` evidence for where a placeholder stands, by the rule that found it.
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
    /// It looked, and nothing blocks.
    Pass,
    /// It looked, nothing blocks, and something new should be seen by a person.
    Warn,
    /// It could not read a new or changed file of a code or text type; nothing blocks in the others. Not a pass.
    Incomplete,
    /// It looked, and something blocks.
    Fail,
    /// There was nothing for it to look at.
    Skip,
    /// It could not look.
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

    /// Joins the verdicts of several checks; the weightiest counts: error, fail, incomplete, warn, pass, skip.
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

/// A file that a check did not look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct SkippedFile {
    /// The file, relative to the root where it lies below it.
    pub path: String,
    /// The reason, e.g. `binary` or `larger than 5 MB`.
    pub why: String,
    /// Whether the change holds it and it is of a code or text type: the check is then incomplete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_missing: bool,
}

/// What one check says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckReport {
    /// The check.
    pub check: CheckName,
    /// Its outcome.
    pub verdict: CheckVerdict,
    /// The outcome in one sentence.
    pub summary: String,
    /// What it found, by path and place; findings that the base had already are in here too and say so.
    pub findings: Vec<Finding>,
    /// How many findings were left out because there were too many.
    #[serde(default)]
    pub findings_left_out: u64,
    /// How many files it looked at.
    pub files_checked: u64,
    /// The files it did not look at.
    pub skipped: Vec<SkippedFile>,
    /// How many skipped files were left out of the list because there were too many.
    #[serde(default)]
    pub skipped_left_out: u64,
    /// How many of the skipped files the project's settings or the caller excluded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub excluded: u64,
    /// The commands it ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<CommandRun>,
    /// Of `test_integrity`, where the base's tests were run and counted: how many tests the change has to run at least. Those that it
    /// takes away are findings and not among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_expected: Option<u64>,
    /// How long it took, in milliseconds; checks that share a pass over the files share its time.
    pub duration_ms: u64,
}

// === impl CheckReport ===

impl CheckReport {
    /// Returns what a check says that has looked at no file.
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

/// What new findings are told from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Base {
    /// This revision against the work tree, untracked files included.
    Rev(String),
    /// HEAD against the index: what the next commit would hold.
    Staged,
    /// The merge base of HEAD and the main branch against the work tree, untracked files included.
    #[default]
    MergeBase,
    /// Nothing: every file is looked at and every finding is new.
    None,
}

/// Asks for checks of one folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckRequest {
    /// Told back in the reply, to tell replies apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The folder to check, absolute.
    pub root: String,
    /// What new findings are told from.
    #[serde(default)]
    pub base: Base,
    /// Files and folders to look at, changed or not; empty means every changed file.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Globs in the manner of `.gitignore`: files that are not looked at, beside those that the project's settings exclude. Each
    /// is counted and named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// The checks to run; empty means all that need no command, and those that have one.
    #[serde(default)]
    pub only: Vec<CheckName>,
    /// The commands that may be run; nothing else of the repository is ever executed.
    #[serde(default)]
    pub commands: Vec<CheckCommand>,
    /// A file with the fingerprints of accepted findings, relative to the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// The captured commit that the root is a checkout of: `test_integrity` judges that commit, and runs the base's tests against it,
    /// for which it changes the checkout and puts it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// For `new_tests`: the commit whose code the new tests of the captured commit run against; the base where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without: Option<String>,
    /// For `test_integrity`: tests that others than who made the captured commit have written for it, and that it has to have still.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handed: Vec<HandedTests>,
    /// With the base `staged`: the index that git hands to its hooks, where it is not the repository's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_file: Option<String>,
}

/// Test files that were there when somebody began to work on a change, and that are not theirs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HandedTests {
    /// The commit that has them.
    pub commit: String,
    /// The files, relative to the root.
    pub paths: Vec<String>,
    /// The commit in which they have to be still.
    pub until: String,
}

/// Says what could not be checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckFailure {
    /// A code of the error table, e.g. `check.bad-base`.
    pub code: String,
    /// What failed, and on what.
    pub what: String,
    /// What to do about it.
    pub hint: String,
}

/// Answers a [`CheckRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckReply {
    /// The id of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The joined outcome of all reports; `error` where there are failures.
    pub verdict: CheckVerdict,
    /// What the findings were told from, in words: a commit, `HEAD`, or `nothing`.
    pub base: String,
    /// One report for each check that was asked for.
    pub reports: Vec<CheckReport>,
    /// What could not be done. Without any report nothing was checked at all; else the reports hold for the rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<CheckFailure>,
    /// How long it took, in milliseconds.
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
