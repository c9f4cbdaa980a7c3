//! The daemon's Unix socket: one JSON value a line. The first line says what the connection is for.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Failure;
use crate::frame::{Frame, ShimCommand};
use crate::id::WorkerId;

/// Version of this protocol; the daemon takes this one and the one before.
pub const WIRE_VERSION: u16 = 1;

/// Longest line in bytes; a longer one ends the connection with `request.too-large`.
pub const MAX_LINE_BYTES: usize = 4 << 20;

/// The first line of a connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "hello", rename_all = "snake_case")]
pub enum Hello {
    /// Verb calls follow: [`Call`] lines, each answered by one [`Answer`] line, in any order.
    Calls {
        /// [`WIRE_VERSION`] of the caller.
        v: u16,
        /// The capability token of a worker's environment, or the root's bearer token.
        token: Option<String>,
        /// The name under which an unverified caller wants to be recorded.
        name: Option<String>,
        /// The caller runs in a CI session.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ci: bool,
        /// The command was told `--yes`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        yes: bool,
        /// The absolute path of the folder that the command is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folder: Option<PathBuf>,
    },
    /// MCP over this connection, as over stdio, follows. Sent by `switchboard mcp`.
    Mcp {
        /// [`WIRE_VERSION`] of the caller.
        v: u16,
        /// As above.
        token: Option<String>,
        /// As above.
        name: Option<String>,
        /// Names the bridge for idempotency: the same over reconnects.
        bridge: String,
        /// The absolute path of the folder that the bridge serves.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folder: Option<PathBuf>,
    },
    /// A shim: [`Frame`] lines up, [`ShimCommand`] lines down.
    Shim {
        /// [`crate::frame::FRAME_VERSION`] of the shim.
        v: u16,
        /// Its worker.
        worker: WorkerId,
        /// Its incarnation.
        epoch: u32,
        /// Proof that it is the shim that the daemon started.
        token: String,
        /// It says regularly that it lives where it is asked to ([`ShimCommand::Beat`]).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        beats: bool,
    },
}

/// A verb call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Chosen by the caller, repeated in the answer.
    pub id: u64,
    /// Name of the verb.
    pub verb: String,
    /// Its request.
    #[serde(default)]
    pub args: Value,
    /// Idempotency key; mutating calls without one get a fresh one and can't be retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The answer to a call: exactly one of `ok` and `error`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Which call.
    pub id: u64,
    /// The verb's reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<Value>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

/// A line from a shim.
pub type ShimLine = Frame;

/// A line to a shim.
pub type DaemonLine = ShimCommand;
