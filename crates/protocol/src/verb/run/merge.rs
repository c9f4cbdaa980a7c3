//! Verbs that merge a run's branch into the user's branch, and undo that.

use serde::{Deserialize, Serialize};

use super::super::verb;
use crate::id::RunId;
use crate::schema::JsonSchema;

/// The run to merge.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MergeRunRequest {
    /// Id of the run, or its beginning; the newest run by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Whether to merge a run of which not all tasks are done; by default it is refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

/// The merge into the user's branch.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MergeRunReply {
    /// Id of the run.
    pub run: RunId,
    /// Name of the user's branch.
    pub target: String,
    /// Head of the branch before the merge.
    pub from: String,
    /// Head of the branch after the merge.
    pub to: String,
    /// Files that changed.
    pub files: Vec<String>,
    /// True if the branch already had the run's work, so that this call did nothing.
    #[serde(default)]
    pub already: bool,
    /// Remarks, one sentence each: links, large files and submodules that came with the merge, and hooks and signatures of the user's
    /// git that were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

verb! {
    /// Merge a run's branch into the branch it was started from; it completes or changes nothing.
    MergeRun = "merge_run", Synced, Approve, Found,
    MergeRunRequest => MergeRunReply
}

/// The merge to undo.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UndoMergeRequest {
    /// Id of the run, or its beginning; the newest run by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// The undone merge of the user's branch.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct UndoMergeReply {
    /// Id of the run.
    pub run: RunId,
    /// Name of the user's branch.
    pub target: String,
    /// Head of the branch with the run's work.
    pub from: String,
    /// Head of the branch now.
    pub to: String,
    /// Files that changed.
    pub files: Vec<String>,
}

verb! {
    /// Undo the last merge of a run: its target branch has its earlier head again. Refused if the branch has moved since.
    UndoMerge = "undo_merge", Synced, Approve, Found,
    UndoMergeRequest => UndoMergeReply
}
