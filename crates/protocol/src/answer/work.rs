//! Answers of the roles that write files.

use serde::{Deserialize, Serialize};

#[cfg(feature = "schemas")]
use super::limits::{MAX_LIST, MAX_PATH, MAX_SCAFFOLD, MAX_TEXT};
use super::review::is_blank;
use crate::schema::JsonSchema;

/// A coder's account of its work. The work tree decides what is true; this only explains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// What was done and why that way.
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub summary: String,
    /// Files that the coder changed.
    #[schemars(length(max = MAX_LIST), inner(length(min = 1, max = MAX_PATH)))]
    pub files: Vec<String>,
    /// What the task waits for outside of the repository; the task is then not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_TEXT))]
    pub blocked_on: Option<String>,
}

/// A test engineer's account of the tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tests {
    /// Whether all tests passed. The gate that runs them decides.
    pub verdict: TestVerdict,
    /// Tests that were added.
    #[schemars(length(max = MAX_LIST))]
    pub added: Vec<AddedTests>,
    /// Tests that failed.
    #[serde(default)]
    #[schemars(length(max = MAX_LIST))]
    pub failures: Vec<TestFailure>,
    /// Faults of the change that the tests show.
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

/// Tests that were added to one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddedTests {
    /// The file, relative to the repository's root.
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub file: String,
    /// Names of the tests.
    #[schemars(length(max = MAX_LIST), inner(length(min = 1, max = MAX_PATH)))]
    pub names: Vec<String>,
}

/// A test that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestFailure {
    /// Name of the test.
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub name: String,
    /// How the test failed.
    #[schemars(length(max = MAX_TEXT))]
    pub message: String,
}

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
    /// Name of the token, such as `color.danger`.
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub name: String,
    /// Value of the token, such as `#b00020`.
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub value: String,
}

/// A writer's account of the documentation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Docs {
    /// Files that were changed; empty if nothing had to change.
    #[schemars(length(max = MAX_LIST), inner(length(min = 1, max = MAX_PATH)))]
    pub files: Vec<String>,
    /// What changed in the files, or why nothing had to.
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
