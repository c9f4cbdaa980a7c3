//! The protocol between a worker's shim and the daemon: versioned frames, numbered by the shim, confirmed by acks.
//!
//! The shim writes every frame to its spool before it sends it and keeps it until the daemon has acked it, so a daemon
//! that was down misses nothing. Frames are deduplicated by (worker, epoch, seq).

use serde::{Deserialize, Serialize};

use crate::id::{AgentName, MessageId, RunId, WorkerId};
use crate::isolation::WorkerSandbox;
use crate::permission::Permissions;
use crate::time::Millis;

pub use crate::worker::WorkerEvent;

/// Version of the frames; the daemon accepts this one and the one before.
pub const FRAME_VERSION: u16 = 1;

/// Version of a spec with a sandbox. A shim that doesn't support sandboxes would run the worker without one, so it must not accept the spec;
/// it can still read a spec without a sandbox.
pub const SANDBOX_VERSION: u16 = 2;

/// Version of a spec whose sandbox has fewer than the four tools; a shim that doesn't support such a list must not accept it.
pub const TOOL_LIST_VERSION: u16 = 3;

/// Maximum length of a frame in bytes, on the wire and in the spool; a longer line is counted as malformed and skipped.
pub const MAX_FRAME_BYTES: usize = 256 * 1024;

/// File in a worker's folder that holds what its agent said, turn after turn, at most 1 MiB.
pub const ANSWER_FILE: &str = "answer.txt";

/// File in a worker's folder that holds its first prompt.
pub const TASK_FILE: &str = "task.md";

/// File in a worker's folder by which the daemon abandons a shim that has not started: a shim that starts later finds it and exits at once.
pub const ABANDONED_FILE: &str = "abandoned";

/// One report of a shim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, crate::schema::JsonSchema)]
pub struct Frame {
    /// [`FRAME_VERSION`] of the shim.
    pub v: u16,
    /// Id of the worker.
    pub worker: WorkerId,
    /// Incarnation of the shim, from 1.
    pub epoch: u32,
    /// Number within the epoch, dense from 1.
    pub seq: u64,
    /// Time at which the shim saw the event, by its own clock.
    pub ts: Millis,
    /// The event.
    pub event: WorkerEvent,
}

/// One option that the agent offers as an answer to its own question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema)]
pub struct PermissionOption {
    /// The agent's id of the option, to be sent back.
    pub id: String,
    /// Text that a person reads.
    pub name: String,
    /// Kind of the option: `allow_once`, `allow_always`, `reject_once` or `reject_always`.
    pub kind: String,
}

/// A command of the daemon to a shim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, crate::schema::JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ShimCommand {
    /// All frames up to and including this one are in the log.
    Ack {
        /// Highest acked number.
        seq: u64,
    },
    /// Sends a prompt to the agent when its turn is over; a running tool call is never cancelled for it.
    Prompt {
        /// Text of the prompt.
        text: String,
        /// Messages that the text shows.
        mail: Vec<MessageId>,
    },
    /// Answers a question of the agent.
    Permit {
        /// Id of the question.
        ask: String,
        /// Id of the chosen option; none to cancel.
        option: Option<String>,
    },
    /// No more prompts follow: the worker ends after the current turn. A command that stands in for manual work ends now.
    Finish,
    /// Asks the shim for a sign of life, at once and regularly from then on ([`Beat`]). A shim that is asked again answers again.
    Beat {
        /// Milliseconds between two beats; a frame counts as a beat.
        every_ms: u64,
    },
    /// Waits, alive, at the next boundary until [`Self::Resume`] comes.
    Pause {
        /// True to wait only between two tools or two turns, not at a question of the agent. A shim that doesn't support this field waits at a
        /// question, too.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        between_tools: bool,
    },
    /// Ends a pause.
    Resume,
    /// Ends the agent: cancels its turn, then terminates its process group, then kills it.
    Stop {
        /// Milliseconds between terminate and kill.
        grace_ms: u64,
    },
}

/// A sign of life that a shim writes between its frames while the daemon asks for it ([`ShimCommand::Beat`]). It is neither spooled nor acked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema)]
pub struct Beat {
    /// Number within the connection, from 1.
    pub beat: u64,
}

// === impl Beat ===

impl Beat {
    /// Returns true if a line is a beat and not a frame.
    #[must_use]
    pub fn is_in(line: &[u8]) -> bool {
        line.starts_with(b"{\"beat\":")
    }
}

/// Everything that a shim needs at its start; the daemon writes it as a 0600 file in the worker's folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerSpec {
    /// [`FRAME_VERSION`] of the daemon; [`SANDBOX_VERSION`] with a sandbox, [`TOOL_LIST_VERSION`] with a sandbox of fewer tools.
    pub v: u16,
    /// Id of the worker.
    pub worker: WorkerId,
    /// Id of the run.
    pub run: RunId,
    /// Id of the task.
    pub task: String,
    /// Name of the worker's agent on the bus.
    pub agent: AgentName,
    /// Attempt number of the task, from 1.
    pub attempt: u32,
    /// Driver and program.
    pub driver: DriverSpec,
    /// Path of the work tree.
    pub cwd: String,
    /// Folder of the worker's spool, lock and frames.
    pub folder: String,
    /// Path of the daemon's Unix socket.
    pub socket: String,
    /// Token that proves the worker to the daemon; the log holds only its digest.
    pub token: String,
    /// Complete environment of the agent; nothing else is inherited.
    pub env: Vec<(String, String)>,
    /// First prompt. A command gets it on standard input; every agent finds it in the file that `SWITCHBOARD_TASK_FILE` names.
    pub prompt: String,
    /// Messages that the first prompt shows.
    pub mail: Vec<MessageId>,
    /// What is allowed without asking a person.
    #[serde(default)]
    pub permissions: Permissions,
    /// Model that the agent is told to use; by default the agent chooses.
    #[serde(default)]
    pub model: Option<String>,
    /// True if the agent's program already got the model by its arguments or environment.
    #[serde(default)]
    pub model_given: bool,
    /// MCP server over stdio that is offered to the agent.
    pub mcp: Option<McpCommand>,
    /// Limits of the worker.
    pub limits: WorkerLimits,
    /// Soft limit, at which the agent is told to finish; none if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrap_up: Option<WrapUp>,
    /// Sandbox of a constrained worker; none for a full one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<WorkerSandbox>,
    /// True if the command only stands in for a person or agent that works in the tree itself: its input stays open after the prompt and ends
    /// with [`ShimCommand::Finish`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_hand: bool,
    /// Folder of the run's signal files, which are read while no daemon answers; if left out, none are read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signals: Option<String>,
}

/// The MCP server that a worker's agent is told to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpCommand {
    /// Name of the server as the agent sees it.
    pub name: String,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Environment of the server.
    pub env: Vec<(String, String)>,
}

/// The driver and the program it drives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema)]
#[serde(tag = "driver", rename_all = "snake_case")]
pub enum DriverSpec {
    /// An agent that speaks the Agent Client Protocol, version 1, on its standard input and output.
    Acp {
        /// Program and arguments.
        argv: Vec<String>,
    },
    /// Any command: it works in the tree and exits.
    Exec {
        /// Program and arguments; no shell is used.
        argv: Vec<String>,
    },
}

/// Soft limit of a worker: when it is reached, its turn is cancelled between two tool calls, and the agent is told to finish.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrapUp {
    /// Time of the limit, in milliseconds from the worker's start.
    pub after_ms: u64,
    /// Text that the agent gets.
    pub notice: String,
}

/// Limits of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerLimits {
    /// Maximum lifetime of the worker, in milliseconds.
    pub wall_ms: u64,
    /// Maximum silence of the agent within a turn, in milliseconds.
    pub idle_ms: u64,
    /// Maximum raw output kept in the spool, in bytes.
    pub spool_bytes: u64,
    /// How long a shim continues without a daemon, in milliseconds: ten minutes by default, longer than a restart or an upgrade takes.
    pub orphan_grace_ms: u64,
    /// How long a question to a person may stay open before it is refused, in milliseconds.
    pub permission_ms: u64,
}

/// Default time limit of an attempt, in milliseconds: an hour.
pub const DEFAULT_TIMEOUT_MS: u64 = 60 * 60_000;

impl Default for WorkerLimits {
    fn default() -> Self {
        Self {
            wall_ms: DEFAULT_TIMEOUT_MS,
            idle_ms: 20 * 60_000,
            spool_bytes: 64 << 20,
            orphan_grace_ms: 10 * 60_000,
            permission_ms: 30 * 60_000,
        }
    }
}
