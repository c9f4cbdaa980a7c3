//! Commands that checks run, and their results.

use serde::{Deserialize, Serialize};

use super::CheckName;
use crate::schema::JsonSchema;

/// Kind of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandKind {
    /// Builds or type-checks; reported as `build_check`.
    Build,
    /// Tests; reported as `test_runner`.
    Test,
    /// Lints; reported as `lint`.
    Lint,
}

impl CommandKind {
    /// Returns the check that reports commands of this kind.
    #[must_use]
    pub const fn check(self) -> CheckName {
        match self {
            Self::Build => CheckName::BuildCheck,
            Self::Test => CheckName::TestRunner,
            Self::Lint => CheckName::Lint,
        }
    }
}

/// A command that the caller wants to be run in the root, without a shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckCommand {
    /// Kind of the command.
    pub kind: CommandKind,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Folder to run it in, relative to the root; by default the root itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Time limit in seconds; 300 by default, 3600 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit_s: Option<u64>,
    /// Environment variables in addition to those that every command gets, as name and value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
}

/// Counts of tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestTotals {
    /// Number of tests that passed.
    pub passed: u64,
    /// Number of tests that failed.
    pub failed: u64,
    /// Number of tests that were skipped.
    pub skipped: u64,
    /// Number of all tests.
    pub total: u64,
}

/// Result of a command that a check ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandRun {
    /// Kind of the command.
    pub kind: CommandKind,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Folder it ran in, relative to the root.
    pub cwd: String,
    /// Exit code; none if a signal or the time limit ended the command, or it never started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How the command ended, in words: `exit 0`, `killed by signal 9`, `stopped after 300 s`, `could not start: …`.
    pub ending: String,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// Beginning and end of standard output.
    pub stdout: String,
    /// Beginning and end of standard error.
    pub stderr: String,
    /// How its memory was limited; `not limited` if it was not.
    pub memory: String,
    /// Number of tests that ran and their results, if it was a test command and its output says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestTotals>,
}
