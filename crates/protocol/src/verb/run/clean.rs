//! The verb that removes what ended runs left behind.

use serde::{Deserialize, Serialize};

use super::super::verb;
use crate::id::RunId;
use crate::schema::JsonSchema;

/// What to remove of runs that have ended.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CleanRunsRequest {
    /// Id of one run, or its beginning; by default all that have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Whether to remove; by default they are only listed.
    #[serde(default)]
    pub remove: bool,
    /// Whether to remove unmerged work, too: its commits and files are archived first.
    #[serde(default)]
    pub unmerged: bool,
    /// Name of archived work, or its beginning, from which to make a branch; removes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore: Option<String>,
}

/// A work tree or a branch that a run left behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOver {
    /// Id of the run.
    pub run: RunId,
    /// Id of the task; empty for the run's own branch.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// Path of its work tree, if it has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub worktree: String,
    /// Name of its branch, if it has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub branch: String,
    /// Description of its unmerged work; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unmerged: String,
    /// Size of the files in its work tree, in bytes.
    #[serde(default)]
    pub bytes: u64,
    /// True if this call removed it.
    #[serde(default)]
    pub removed: bool,
    /// Name under which this call archived it; empty if it had no unmerged work.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub archived: String,
}

/// Work that was not merged when it was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Archived {
    /// Name: `RUN/TASK`, or `RUN/_run` for the branch of a run.
    pub name: String,
    /// Commit that contains all of it.
    pub commit: String,
}

/// A branch that was made from archived work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Restored {
    /// Name in the archive.
    pub name: String,
    /// Name of the branch.
    pub branch: String,
    /// Commit of the branch.
    pub commit: String,
}

/// What ended runs left behind.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CleanRunsReply {
    /// Work trees and branches, newest run first.
    pub left: Vec<LeftOver>,
    /// Work that earlier calls have archived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub archived: Vec<Archived>,
    /// Branch that this call made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored: Option<Restored>,
}

verb! {
    /// List the work trees and branches that ended runs left, or remove them; unmerged work stays unless its removal is requested.
    CleanRuns = "clean_runs", Synced, Work, Found,
    CleanRunsRequest => CleanRunsReply
}
