//! Who calls, as a face found out: the one type that faces, policy, bus and dispatch share.

use serde::Serialize;

use crate::id::{AgentName, RunId, WorkerId};

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
}

/// What a caller is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallerKind {
    /// A person, or what holds the root's bearer token for one.
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

/// How a caller is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Trusted like the user.
    #[default]
    Full,
    /// In a sandbox, with its mail and the team only.
    Constrained,
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
        Self { name, is_verified: true, kind: CallerKind::Agent, face: Face::Socket }
    }

    /// A person on the Unix socket.
    #[must_use]
    pub const fn person(name: AgentName) -> Self {
        Self { name, is_verified: true, kind: CallerKind::Person, face: Face::Socket }
    }

    /// Whether a person calls.
    #[must_use]
    pub fn is_person(&self) -> bool {
        self.kind == CallerKind::Person
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
