//! A captured change, as events and views name it.

use serde::{Deserialize, Serialize};

use crate::schema::JsonSchema;

/// A captured change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Commit of the change, one on top of the task's base.
    pub commit: String,
    /// Tree of the commit.
    pub tree: String,
    /// Parent of the commit; empty if it is not recorded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base: String,
    /// Number of changed files.
    pub files: u32,
    /// Number of added and removed lines; 0 if it is not recorded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lines: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
pub(crate) const fn is_zero(number: &u32) -> bool {
    *number == 0
}
