//! Verbs that move the user's branch to a run's work, and back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::verb;
use crate::id::RunId;

/// Which run.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MergeRunRequest {
    /// Its id or the beginning of it; the newest run when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Also where not all of its tasks are done; without it such a run is refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

/// The user's branch has the run's work.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MergeRunReply {
    /// Id of the run.
    pub run: RunId,
    /// The branch that moved.
    pub target: String,
    /// From this commit.
    pub from: String,
    /// To this one.
    pub to: String,
    /// Files that changed.
    pub files: Vec<String>,
    /// Whether the branch had the run's work before this call, which then did nothing.
    #[serde(default)]
    pub already: bool,
    /// What is to be known of it, a sentence each: links, large files and submodules that came with it, and hooks and signatures of the user's
    /// git that were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

verb! {
    /// Merge a run's branch into the branch it was started from; it completes or changes nothing.
    MergeRun = "merge_run", Synced, Approve, Found,
    MergeRunRequest => MergeRunReply
}

/// Which merge to take back.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UndoMergeRequest {
    /// The run's id or the beginning of it; the newest run when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// The user's branch is where it was before the merge.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct UndoMergeReply {
    /// Id of the run.
    pub run: RunId,
    /// The branch that moved.
    pub target: String,
    /// From this commit, which has the run's work.
    pub from: String,
    /// To this one.
    pub to: String,
    /// Files that changed.
    pub files: Vec<String>,
}

verb! {
    /// Take the last merge of a run back: its branch is where it was before. Refused where it has moved on.
    UndoMerge = "undo_merge", Synced, Approve, Found,
    UndoMergeRequest => UndoMergeReply
}
