//! Change that gates judge.

use switchboard_protocol::plan::TaskId;

/// Change to be judged.
#[derive(Clone, Copy)]
pub(super) struct Judged<'a> {
    pub(super) task: &'a TaskId,
    pub(super) attempt: u32,
    pub(super) commit: &'a str,
    /// Commit against which findings count as new; empty in runs that were recorded before ways.
    pub(super) base: &'a str,
    /// Task whose ports the tree uses.
    pub(super) tree_of: &'a TaskId,
    /// Files that the task's coder may change, if the agent that leads the run has declared them.
    pub(super) declared: &'a [String],
}
