//! Named points at which a test may end the daemon as `kill -9` would, to check that nothing is lost or done twice.

/// The points, in the order in which a task and its cleanup pass them.
pub const POINTS: [&str; 37] = [
    "run-recorded",
    "worker-intended",
    "worktree-made",
    "tree-set-up",
    "shim-spawned",
    "frame-recorded",
    "tree-rebased",
    "turn-ended",
    "change-committed",
    "change-captured",
    "gate-tree-made",
    "lint-fixed",
    "gates-judged",
    "answer-taken",
    "merge-intended",
    "merge-done",
    "run-finished",
    "merge-asked",
    "user-merge-intended",
    "user-branch-moved",
    "clean-intended",
    // Runs that a team leads: the result of a mode exists but is not recorded yet.
    "mode-resume",
    "mode-clarify",
    "mode-discover",
    "mode-reality",
    "mode-consult",
    "mode-specify",
    "mode-plan",
    "mode-critic-gate",
    "mode-execute",
    "mode-phase-wrap",
    "seat-recorded",
    "seat-lost",
    "hands-reported",
    "part-started",
    "person-asked",
    "budget-set",
];

/// Ends the process at once if this is the requested point.
pub(crate) fn point(asked: Option<&str>, here: &'static str) {
    debug_assert!(POINTS.contains(&here), "{here} is not a named point");
    if asked == Some(here) {
        switchboard_process::die();
    }
}
