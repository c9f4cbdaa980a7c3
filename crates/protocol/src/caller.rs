//! The caller of a verb as a face established it: the one type that faces, policy, bus and dispatch share.

use std::path::PathBuf;

use serde::Serialize;

use crate::agent::Process;
use crate::id::{AgentName, RunId, WorkerId};
pub use crate::isolation::Isolation;

/// Who calls a verb, and how that was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Name under which the call is recorded.
    pub name: AgentName,
    /// True if a token proves the name; otherwise the name is only claimed.
    pub is_verified: bool,
    /// Kind of the caller.
    pub kind: CallerKind,
    /// Face through which the call came in.
    pub face: Face,
    /// True if a person is there to decide: in front of a terminal, in a page session, or in a CI session that was started with `--yes`.
    pub is_present: bool,
    /// How the caller was verified, in words that follow "the caller:".
    pub known_by: &'static str,
    /// Program that the connection belongs to, where the process tree shows one. A name that it registers belongs to it.
    pub program: Option<Process>,
    /// Folder that the call is made from, where the face can tell; it decides which work tree a run uses.
    pub folder: Option<PathBuf>,
}

/// Kind of a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallerKind {
    /// A person, or a program of a person, started from a login, a terminal or a CI session.
    Person,
    /// A worker that a run started, proven by its capability token.
    Worker {
        /// Run of the worker.
        run: RunId,
        /// Id of the worker.
        worker: WorkerId,
        /// Task that the worker works on.
        task: String,
        /// Isolation of the worker.
        isolation: Isolation,
    },
    /// Any other agent, registered or not.
    Agent,
}

/// A face that calls come in through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Face {
    /// Verb calls on the Unix socket, including those of `switchboard` commands.
    Socket,
    /// MCP through the stdio bridge.
    McpStdio,
    /// MCP over Streamable HTTP.
    McpHttp,
    /// MCP over server-sent events, the older HTTP transport.
    McpSse,
    /// `POST /v1/{verb}`.
    Http,
    /// Files in `.switchboard/`.
    Files,
}

// === impl Caller ===

impl Caller {
    /// Returns an agent on the Unix socket whose name a token proves; the other fields can be changed by the code that uses it.
    #[must_use]
    pub const fn agent(name: AgentName) -> Self {
        Self {
            name,
            is_verified: true,
            kind: CallerKind::Agent,
            face: Face::Socket,
            is_present: false,
            known_by: "a token of its own",
            program: None,
            folder: None,
        }
    }

    /// Returns an agent on the Unix socket whose name is only claimed.
    #[must_use]
    pub fn unverified(name: AgentName, known_by: &'static str) -> Self {
        Self { is_verified: false, known_by, ..Self::agent(name) }
    }

    /// Returns a person on the Unix socket, in front of a terminal.
    #[must_use]
    pub const fn person(name: AgentName) -> Self {
        Self {
            name,
            is_verified: true,
            kind: CallerKind::Person,
            face: Face::Socket,
            is_present: true,
            known_by: "the foreground of a terminal",
            program: None,
            folder: None,
        }
    }

    /// Returns true if the caller is a person.
    #[must_use]
    pub fn is_person(&self) -> bool {
        self.kind == CallerKind::Person
    }
}

// === impl CallerKind ===

impl CallerKind {
    /// Returns the kind as a word.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Worker { .. } => "worker",
            Self::Agent => "agent",
        }
    }
}

// === impl Face ===

impl Face {
    /// Returns true if the face speaks MCP. A caller with the root's token is then an agent that the user connected, not the user.
    #[must_use]
    pub const fn is_mcp(self) -> bool {
        match self {
            Self::McpStdio | Self::McpHttp | Self::McpSse => true,
            Self::Socket | Self::Http | Self::Files => false,
        }
    }
}
