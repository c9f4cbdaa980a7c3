//! Names of the files in a worker's folder.

/// The journal of frames in a worker's folder.
pub const FRAMES: &str = "frames.jsonl";

/// The file in a worker's folder by which its shim is known.
pub const IDENTITY: &str = "shim.json";

/// The file in a worker's folder that holds what it is asked to do: its first prompt.
pub(super) const TASK: &str = switchboard_protocol::frame::TASK_FILE;

/// The folder in a worker's folder that a constrained agent may write beside its tree: its home, and files that nobody keeps.
pub(super) const SCRATCH: &str = "scratch";

/// The file in a worker's folder that holds what the agent said, turn after turn.
pub(super) const ANSWER: &str = switchboard_protocol::frame::ANSWER_FILE;

/// The lock in a worker's folder, held as long as its shim lives.
pub const LOCK: &str = "lock";
