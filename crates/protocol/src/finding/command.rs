//! Commands that checks run, and what they did.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CheckName;

/// What a command is for.
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

/// A command that the caller wants run in the root. No shell reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckCommand {
    /// What it is for.
    pub kind: CommandKind,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The folder to run it in, relative to the root; the root itself where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// How long it may run, in seconds; 300 where absent, the most is 3600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit_s: Option<u64>,
    /// Variables that it gets beside those that every command gets, name and value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
}

/// Tests, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestTotals {
    /// Passed.
    pub passed: u64,
    /// Failed.
    pub failed: u64,
    /// Skipped.
    pub skipped: u64,
    /// All.
    pub total: u64,
}

/// What a command given to a check did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandRun {
    /// What the command was for.
    pub kind: CommandKind,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The folder it ran in, relative to the root.
    pub cwd: String,
    /// Its exit code; none where a signal or the time limit ended it, or it never started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How it ended, in words: `exit 0`, `killed by signal 9`, `stopped after 300 s`, `could not start: …`.
    pub ending: String,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
    /// Head and tail of its standard output.
    pub stdout: String,
    /// Head and tail of its standard error.
    pub stderr: String,
    /// How its memory was limited; `not limited` where it was not.
    pub memory: String,
    /// How many tests ran and how they went, where it tests and its output says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestTotals>,
}
