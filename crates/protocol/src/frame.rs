//! What a worker's shim and the daemon say to each other: versioned frames, numbered by the shim, answered by acks.
//!
//! The shim writes every frame to its spool before it sends it and keeps it until the daemon has acked it, so a daemon
//! that was down misses nothing. Frames are deduplicated by (worker, epoch, seq).

use serde::{Deserialize, Serialize};

use crate::id::{AgentName, MessageId, RunId, WorkerId};
use crate::isolation::WorkerSandbox;
use crate::permission::Permissions;
use crate::time::Millis;

pub use crate::worker::WorkerEvent;

/// Version of the frames; the daemon takes this one and the one before.
pub const FRAME_VERSION: u16 = 1;

/// Version of a spec with a sandbox. A shim that knows none would run the worker without it, so it must not take the spec; one without a sandbox
/// stays readable to it.
pub const SANDBOX_VERSION: u16 = 2;

/// Version of a spec whose sandbox has fewer than the four tools, which a shim that knows no such list must not take.
pub const CUT_VERSION: u16 = 3;

/// Longest frame in bytes on the wire and in the spool; a longer line is counted as malformed and skipped.
pub const MAX_FRAME_BYTES: usize = 256 * 1024;

/// The file in a worker's folder that holds what its agent said, turn after turn, at most 1 MiB.
pub const ANSWER_FILE: &str = "answer.txt";

/// The file in a worker's folder that holds what it is asked to do: its first prompt.
pub const TASK_FILE: &str = "task.md";

/// The file in a worker's folder by which the daemon gives up a shim that has not begun: one that begins later finds it and ends at once.
pub const ABANDONED_FILE: &str = "abandoned";

/// One report of a shim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Frame {
    /// [`FRAME_VERSION`] of the sender.
    pub v: u16,
    /// Whose worker.
    pub worker: WorkerId,
    /// Incarnation of the shim, 1 at first.
    pub epoch: u32,
    /// Number within the epoch, dense from 1.
    pub seq: u64,
    /// When the shim saw it, by its clock.
    pub ts: Millis,
    /// What happened.
    pub event: WorkerEvent,
}

/// One answer that the agent offers to its own question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PermissionOption {
    /// The agent's word for it, to be sent back.
    pub id: String,
    /// What a person reads.
    pub name: String,
    /// `allow_once`, `allow_always`, `reject_once` or `reject_always`.
    pub kind: String,
}

/// What the daemon tells a shim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ShimCommand {
    /// All frames up to and including this one are in the log.
    Ack {
        /// Highest number.
        seq: u64,
    },
    /// Say this to the agent when its turn is over; a running tool call is never cancelled for it.
    Prompt {
        /// The text.
        text: String,
        /// Messages that the text shows.
        mail: Vec<MessageId>,
    },
    /// The answer to a question.
    Permit {
        /// Which question.
        ask: String,
        /// The chosen option, or nothing to cancel.
        option: Option<String>,
    },
    /// No more prompts will come: end after the turn that runs; one that stands in for somebody's hands ends now.
    Finish,
    /// Say that you live, at once and from then on regularly ([`Beat`]). A shim that is asked again answers again.
    Beat {
        /// Milliseconds between two beats; a frame counts as one.
        every_ms: u64,
    },
    /// Wait at the next boundary, alive, until [`Self::Resume`] comes.
    Pause {
        /// Not at a question of the agent, but only between two tools or two turns. A shim that knows no such field waits at a question, too.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        between_tools: bool,
    },
    /// Go on.
    Resume,
    /// End the agent: cancel, then terminate its group, then kill it.
    Stop {
        /// Milliseconds between terminate and kill.
        grace_ms: u64,
    },
}

/// What a shim writes between its frames while the daemon wants it ([`ShimCommand::Beat`]): that it lives. It is in no journal and is not acked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Beat {
    /// Number within the connection, from 1.
    pub beat: u64,
}

// === impl Beat ===

impl Beat {
    /// Whether a line is a beat and no frame.
    #[must_use]
    pub fn is_in(line: &[u8]) -> bool {
        line.starts_with(b"{\"beat\":")
    }
}

/// Everything a shim is told at its start; the daemon writes it as a 0600 file in the worker's folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerSpec {
    /// [`FRAME_VERSION`] of the daemon; [`SANDBOX_VERSION`] with a sandbox, [`CUT_VERSION`] with one of fewer tools.
    pub v: u16,
    /// Its id.
    pub worker: WorkerId,
    /// The run it works for.
    pub run: RunId,
    /// The task it works on.
    pub task: String,
    /// Who it is on the bus.
    pub agent: AgentName,
    /// Which attempt of the task, from 1.
    pub attempt: u32,
    /// How to drive it.
    pub driver: DriverSpec,
    /// Its work tree.
    pub cwd: String,
    /// Folder of its spool, its lock and its frames.
    pub folder: String,
    /// The daemon's Unix socket.
    pub socket: String,
    /// Proof towards the daemon; the log holds only its digest.
    pub token: String,
    /// Environment of the agent, complete: nothing else is inherited.
    pub env: Vec<(String, String)>,
    /// The first prompt; a command gets it on standard input. All agents find it in the file that `SWITCHBOARD_TASK_FILE` names.
    pub prompt: String,
    /// Messages that the first prompt shows.
    pub mail: Vec<MessageId>,
    /// What is allowed without asking a person.
    #[serde(default)]
    pub permissions: Permissions,
    /// The model that the agent is told to use; its own choice where nothing is said.
    #[serde(default)]
    pub model: Option<String>,
    /// Whether the agent's program was told that model by its arguments or environment.
    #[serde(default)]
    pub model_given: bool,
    /// MCP server over stdio that the agent is offered: name, then argv.
    pub mcp: Option<McpCommand>,
    /// Limits.
    pub limits: WorkerLimits,
    /// When the agent is told to finish, and how; never without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrap_up: Option<WrapUp>,
    /// What a constrained worker is held to; a full one has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<WorkerSandbox>,
    /// Whether the command only stands in for somebody who works in the tree: its input stays open after the prompt and ends with [`ShimCommand::Finish`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_hand: bool,
    /// Folder of the run's signal files, which are read while no daemon answers; none are without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signals: Option<String>,
}

/// The MCP server that a worker's agent is told to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpCommand {
    /// Name under which the agent sees it.
    pub name: String,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Its environment.
    pub env: Vec<(String, String)>,
}

/// The driver and the program it drives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "driver", rename_all = "snake_case")]
pub enum DriverSpec {
    /// An agent that speaks the Agent Client Protocol, version 1, on its standard input and output.
    Acp {
        /// Program and arguments.
        argv: Vec<String>,
    },
    /// Any command: it works in the tree and exits.
    Exec {
        /// Program and arguments; no shell stands between.
        argv: Vec<String>,
    },
}

/// The soft limit of a worker: between two tool calls its turn is cancelled, and it is told to finish.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrapUp {
    /// When, in milliseconds from the worker's start.
    pub after_ms: u64,
    /// What it is told.
    pub notice: String,
}

/// Limits of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerLimits {
    /// Longest life of the worker, in milliseconds.
    pub wall_ms: u64,
    /// Longest silence of the agent inside a turn, in milliseconds.
    pub idle_ms: u64,
    /// Raw output kept in the spool, in bytes.
    pub spool_bytes: u64,
    /// How long a shim goes on without a daemon, in milliseconds: ten minutes by default, longer than a restart or an upgrade takes.
    pub orphan_grace_ms: u64,
    /// How long a question to a person may stay open before it is refused, in milliseconds.
    pub permission_ms: u64,
}

/// Longest time of an attempt where nothing else is said, in milliseconds: an hour.
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
