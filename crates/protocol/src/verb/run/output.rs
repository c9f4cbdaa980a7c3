//! The verb that reads the raw output of a worker's agent, in bounded parts.

use serde::{Deserialize, Serialize};

use super::super::verb;
use crate::id::{RunId, WorkerId};
use crate::schema::JsonSchema;

/// Default maximum of raw output that one call returns, in bytes.
pub const OUTPUT_BYTES: u64 = 50 << 10;

/// Maximum raw output that one call can return, in bytes.
pub const MAX_OUTPUT_BYTES: u64 = 256 << 10;

/// Which end of the output to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputPart {
    /// Its beginning.
    Head,
    /// Its end.
    Tail,
}

/// The worker, and the part of its output: from an offset, one end, or, by default, half from each end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadOutputRequest {
    /// Task, as `RUN/TASK`, or `TASK` of the newest run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Attempt number of the worker; the last attempt by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Id of a worker, in place of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerId>,
    /// Byte offset to read from: `next_offset` of the call before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// End of the output to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<OutputPart>,
    /// Maximum number of bytes to return: from 4 to 256 KiB, 50 KiB by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// A piece of the output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutputPiece {
    /// Offset at which it begins, in bytes.
    pub offset: u64,
    /// The text; untrusted. Bytes that are not UTF-8 are replaced by U+FFFD.
    pub text: String,
}

/// The output of a worker, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadOutputReply {
    /// Id of the worker's run.
    pub run: RunId,
    /// Id of the worker's task.
    pub task: String,
    /// Id of the worker.
    pub worker: WorkerId,
    /// Attempt number of the worker.
    pub attempt: u32,
    /// Parts that were read, in order.
    pub pieces: Vec<OutputPiece>,
    /// Number of bytes between the pieces, or between `from` and the first one, that are left out.
    pub elided_bytes: u64,
    /// Number of bytes that the agent has printed so far.
    pub total_bytes: u64,
    /// Number of those that are no longer kept: the spool holds the newest 64 MiB of a worker.
    pub dropped_bytes: u64,
    /// Byte offset at which to read on.
    pub next_offset: u64,
    /// True if no more output will come.
    pub is_complete: bool,
}

verb! {
    /// Read the raw output of a worker's agent: beginning, end, or from an offset while it grows. Known secrets are removed.
    ReadOutput = "read_output", Read, Run, Found,
    ReadOutputRequest => ReadOutputReply
}
