//! Who calls, as a face found out: the one type that faces, policy, bus and dispatch share.

use std::path::PathBuf;

use serde::Serialize;

use crate::agent::Process;
use crate::id::{AgentName, RunId, WorkerId};
pub use crate::isolation::Isolation;

/// Who calls, and how we know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The name under which the call is recorded.
    pub name: AgentName,
    /// Whether a token proves the name; else it is only what the caller says.
    pub is_verified: bool,
    /// What the caller is.
    pub kind: CallerKind,
    /// The way it came in.
    pub face: Face,
    /// Whether a person is there to decide: in front of a terminal, in a page session, or a CI session that was told `--yes`.
    pub is_present: bool,
    /// How the daemon knows, in words that follow "the caller:".
    pub known_by: &'static str,
    /// The program that the connection belongs to, where the process tree shows one: a name that it registers is its own.
    pub program: Option<Process>,
    /// The folder that the call is made from, where the face knows it: which work tree a run is about follows from it.
    pub folder: Option<PathBuf>,
}

/// What a caller is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallerKind {
    /// A person, or a program of a person's: below a login, a terminal or a CI session.
    Person,
    /// A worker that a run started, proven by its capability token.
    Worker {
        /// Its run.
        run: RunId,
        /// Which worker.
        worker: WorkerId,
        /// The task it works on.
        task: String,
        /// How it is held.
        isolation: Isolation,
    },
    /// Any other agent, registered or not.
    Agent,
}

/// A way in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Face {
    /// Verb calls on the Unix socket, of `switchboard` commands too.
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
    /// An agent on the Unix socket whose name a token proves; callers of it say what else holds.
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

    /// An agent on the Unix socket that is only what it says it is.
    #[must_use]
    pub fn unverified(name: AgentName, known_by: &'static str) -> Self {
        Self { is_verified: false, known_by, ..Self::agent(name) }
    }

    /// A person on the Unix socket, in front of a terminal.
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

    /// Whether a person calls.
    #[must_use]
    pub fn is_person(&self) -> bool {
        self.kind == CallerKind::Person
    }
}

// === impl CallerKind ===

impl CallerKind {
    /// Its word.
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
    /// Whether it speaks MCP. Whoever calls this way with the root's token is an agent that the user connected, not the user.
    #[must_use]
    pub const fn is_mcp(self) -> bool {
        match self {
            Self::McpStdio | Self::McpHttp | Self::McpSse => true,
            Self::Socket | Self::Http | Self::Files => false,
        }
    }
}
