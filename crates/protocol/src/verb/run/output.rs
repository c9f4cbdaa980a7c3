//! What a worker's agent has printed, read in bounds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::verb;
use crate::id::{RunId, WorkerId};

/// Bytes of raw output that one call returns where it says no number.
pub const OUTPUT_BYTES: u64 = 50 << 10;

/// Most bytes of raw output that one call returns.
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

/// Whose output, and which part of it: from an offset, one end, or, where neither is said, half from each end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadOutputRequest {
    /// `RUN/TASK`, or `TASK` of the newest run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The worker of this attempt; the last one when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// A worker by its id, in place of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerId>,
    /// The byte to read from: `next_offset` of the call before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// Which end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<OutputPart>,
    /// Most bytes to return: from 4 to 256 KiB, 50 KiB by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// A piece of the output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutputPiece {
    /// Where it begins.
    pub offset: u64,
    /// The text: untrusted. Bytes that are no UTF-8 stand as U+FFFD.
    pub text: String,
}

/// The output of a worker, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadOutputReply {
    /// Its run.
    pub run: RunId,
    /// Its task.
    pub task: String,
    /// Id of the worker.
    pub worker: WorkerId,
    /// Its attempt.
    pub attempt: u32,
    /// What was read, in its order.
    pub pieces: Vec<OutputPiece>,
    /// Bytes between the pieces, or between `from` and the first one, that are left out.
    pub elided_bytes: u64,
    /// Bytes that the agent has printed so far.
    pub total_bytes: u64,
    /// Bytes of these that are no longer kept: the spool holds the newest 64 MiB of a worker.
    pub dropped_bytes: u64,
    /// Where to read on.
    pub next_offset: u64,
    /// Whether no more will come.
    pub is_complete: bool,
}

verb! {
    /// Read what a worker's agent printed, as it came: head, tail, or on from an offset while it grows. Secrets that are known are taken out.
    ReadOutput = "read_output", Read, Run, Found,
    ReadOutputRequest => ReadOutputReply
}
