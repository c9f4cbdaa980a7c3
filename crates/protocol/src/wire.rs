//! The protocol of the daemon's Unix socket: one JSON value per line. The first line defines the purpose of the connection.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Failure;
use crate::id::WorkerId;

/// Version of this protocol; the daemon accepts this one and the one before.
pub const WIRE_VERSION: u16 = 1;

/// Maximum length of a line in bytes; a longer one ends the connection with `request.too-large`.
pub const MAX_LINE_BYTES: usize = 4 << 20;

/// The first line of a connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "hello", rename_all = "snake_case")]
pub enum Hello {
    /// Verb calls follow: [`Call`] lines, each answered by one [`Answer`] line, in any order.
    Calls {
        /// [`WIRE_VERSION`] of the caller.
        v: u16,
        /// Capability token from a worker's environment, or the root's bearer token.
        token: Option<String>,
        /// Name under which an unverified caller wants to be recorded.
        name: Option<String>,
        /// True if the caller runs in a CI session.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ci: bool,
        /// True if the command was started with `--yes`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        yes: bool,
        /// Absolute path of the folder that the command is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folder: Option<PathBuf>,
    },
    /// MCP over this connection, as over stdio, follows. Sent by `switchboard mcp`.
    Mcp {
        /// [`WIRE_VERSION`] of the caller.
        v: u16,
        /// Capability token from a worker's environment, or the root's bearer token.
        token: Option<String>,
        /// Name under which an unverified caller wants to be recorded.
        name: Option<String>,
        /// Id of the bridge for idempotency; it stays the same over reconnects.
        bridge: String,
        /// Absolute path of the folder that the bridge serves.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folder: Option<PathBuf>,
    },
    /// A shim follows: [`crate::frame::Frame`] lines up, [`crate::frame::ShimCommand`] lines down.
    Shim {
        /// [`crate::frame::FRAME_VERSION`] of the shim.
        v: u16,
        /// Id of its worker.
        worker: WorkerId,
        /// Incarnation of the shim.
        epoch: u32,
        /// Token that proves that the daemon started this shim.
        token: String,
        /// True if the shim sends regular signs of life when it is asked to ([`ShimCommand::Beat`]).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        beats: bool,
    },
}

/// A verb call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Id chosen by the caller, repeated in the answer.
    pub id: u64,
    /// Name of the verb.
    pub verb: String,
    /// Request of the verb.
    #[serde(default)]
    pub args: Value,
    /// Idempotency key; mutating calls without one get a new one and can't be retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The answer to a call: exactly one of `ok` and `error`. The daemon writes the reply as a text that it has already, a
/// client reads it as a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer<T = Value> {
    /// Id of the call.
    pub id: u64,
    /// Reply of the verb.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<T>,
    /// Failure, if there is no reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}
