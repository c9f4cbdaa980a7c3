//! What gates judge.

use switchboard_protocol::plan::TaskId;

/// What is judged.
#[derive(Clone, Copy)]
pub(super) struct Judged<'a> {
    pub(super) task: &'a TaskId,
    pub(super) attempt: u32,
    pub(super) commit: &'a str,
    /// The commit that new findings are told from; empty in runs that were recorded before ways.
    pub(super) base: &'a str,
    /// The task whose ports it has.
    pub(super) tree_of: &'a TaskId,
    /// The files that its coder may change, where the agent that leads the run has named them.
    pub(super) declared: &'a [String],
}
