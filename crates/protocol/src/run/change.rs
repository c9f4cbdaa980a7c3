//! A captured change, as events and views name it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A captured change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The commit, one on top of the task's base.
    pub commit: String,
    /// Its tree.
    pub tree: String,
    /// The commit below it; empty where the record doesn't say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base: String,
    /// How many files it changes.
    pub files: u32,
    /// How many lines it adds and removes; 0 where the record doesn't say.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lines: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
pub(crate) const fn is_zero(number: &u32) -> bool {
    *number == 0
}
