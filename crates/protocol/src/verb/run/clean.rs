//! The verb that removes what ended runs left.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::verb;
use crate::id::RunId;

/// What to remove of runs that have ended.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CleanRunsRequest {
    /// One run by its id or the beginning of it; all that have ended when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Remove; without it they are only listed.
    #[serde(default)]
    pub remove: bool,
    /// Also what holds work that is merged nowhere: its commits and files are archived first.
    #[serde(default)]
    pub unmerged: bool,
    /// Makes a branch of something archived, by its name or the beginning of it, and removes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore: Option<String>,
}

/// A work tree or a branch that a run left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOver {
    /// Id of the run.
    pub run: RunId,
    /// The task whose it is; nothing for the run's own branch.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// Its work tree, if it has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub worktree: String,
    /// Its branch, if it has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub branch: String,
    /// What of it is merged nowhere, in words; empty if nothing is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unmerged: String,
    /// Bytes of the files in its work tree.
    #[serde(default)]
    pub bytes: u64,
    /// Whether this call has removed it.
    #[serde(default)]
    pub removed: bool,
    /// Under which name this call has archived it; empty where nothing of it was merged nowhere.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub archived: String,
}

/// Work that was merged nowhere when it was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Archived {
    /// `RUN/TASK`, or `RUN/_run` for the branch of a run.
    pub name: String,
    /// The commit that has all of it.
    pub commit: String,
}

/// A branch that was made of something archived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Restored {
    /// Its name in the archive.
    pub name: String,
    /// The branch.
    pub branch: String,
    /// Where it stands.
    pub commit: String,
}

/// What ended runs left.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CleanRunsReply {
    /// Work trees and branches, newest run first.
    pub left: Vec<LeftOver>,
    /// What earlier calls have archived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub archived: Vec<Archived>,
    /// The branch that this call has made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored: Option<Restored>,
}

verb! {
    /// List the work trees and branches that ended runs left, or remove them; what is merged nowhere stays unless it is asked for.
    CleanRuns = "clean_runs", Synced, Work, Found,
    CleanRunsRequest => CleanRunsReply
}
