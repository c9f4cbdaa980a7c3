//! Names of the files in a worker's folder.

/// Journal of frames.
pub const FRAMES: &str = "frames.jsonl";

/// File that identifies the worker's shim.
pub const IDENTITY: &str = "shim.json";

/// File with the worker's assignment, its first prompt.
pub(super) const TASK: &str = switchboard_protocol::frame::TASK_FILE;

/// Folder beside the tree that a constrained agent may write in: its home, and files that are not kept.
pub(super) const SCRATCH: &str = "scratch";

/// File with the agent's answers, turn after turn.
pub(super) const ANSWER: &str = switchboard_protocol::frame::ANSWER_FILE;

/// Lock that is held as long as the worker's shim lives.
pub const LOCK: &str = "lock";
