//! Answers of roles that write.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::review::is_blank;
use super::{MAX_LIST, MAX_PATH, MAX_TEXT};

/// What a coder did. The tree says what is true of it; this only explains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// What was done and why that way.
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub summary: String,
    /// Files that it changed.
    #[schemars(length(max = MAX_LIST), inner(length(min = 1, max = MAX_PATH)))]
    pub files: Vec<String>,
    /// What outside of the repository it waits for; the task is then not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_TEXT))]
    pub blocked_on: Option<String>,
}

/// What a test engineer wrote and saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tests {
    /// Whether all of them passed. The gate that runs them says what is true of it.
    pub verdict: TestVerdict,
    /// The tests that were added.
    #[schemars(length(max = MAX_LIST))]
    pub added: Vec<AddedTests>,
    /// Those that failed.
    #[serde(default)]
    #[schemars(length(max = MAX_LIST))]
    pub failures: Vec<TestFailure>,
    /// Faults of the change that they show.
    #[serde(default)]
    #[schemars(length(max = MAX_LIST), inner(length(min = 1, max = MAX_TEXT)))]
    pub bugs_found: Vec<String>,
}

/// Whether tests passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(missing_docs, reason = "the names say it")]
pub enum TestVerdict {
    Pass,
    Fail,
}

/// Tests of one file that were added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddedTests {
    /// The file, from the repository's root.
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub file: String,
    /// Their names.
    #[schemars(length(max = MAX_LIST), inner(length(min = 1, max = MAX_PATH)))]
    pub names: Vec<String>,
}

/// A test that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestFailure {
    /// Which.
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub name: String,
    /// How.
    #[schemars(length(max = MAX_TEXT))]
    pub message: String,
}

/// Longest scaffold, in characters: what a coder is shown beside its task.
const MAX_SCAFFOLD: usize = 8_000;

/// What a designer prepares for the coder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// The scaffold: components with their parts, states and properties, order of focus, small screens.
    #[schemars(length(min = 1, max = MAX_SCAFFOLD))]
    pub scaffold: String,
    /// Design tokens: colours, spacing, sizes of type, by name.
    #[schemars(length(max = MAX_LIST))]
    pub tokens: Vec<Token>,
}

/// A design token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// Its name: `color.danger`.
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub name: String,
    /// Its value: `#b00020`.
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub value: String,
}

/// Documentation that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Docs {
    /// Files that it changed; none where nothing had to change.
    #[schemars(length(max = MAX_LIST), inner(length(min = 1, max = MAX_PATH)))]
    pub files: Vec<String>,
    /// What changed in them, or why nothing had to.
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub summary: String,
}

// === impl Work ===

impl Work {
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        let blank = self.blocked_on.is_some() && is_blank(self.blocked_on.as_deref());
        blank.then_some("`blocked_on` is empty: name what the task waits for, or leave the field out")
    }
}

// === impl Tests ===

impl Tests {
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        match self.verdict {
            TestVerdict::Pass if !self.failures.is_empty() => Some("PASS with `failures`"),
            TestVerdict::Fail if self.failures.is_empty() => Some("FAIL without `failures`"),
            TestVerdict::Pass | TestVerdict::Fail => None,
        }
    }
}

// === impl TestFailure ===

impl From<TestFailure> for crate::evidence::TestFailure {
    fn from(TestFailure { name, message }: TestFailure) -> Self {
        Self { name, message }
    }
}
