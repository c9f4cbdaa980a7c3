//! Agents: who sends, receives and works.

use serde::{Deserialize, Serialize};

use crate::id::AgentName;
use crate::time::Millis;

/// What an agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    /// Lives in a terminal.
    Terminal,
    /// Lives in an editor's chat or another MCP client.
    Chat,
    /// Was started by a run and ends with it.
    Worker,
    /// A human being.
    Person,
}

impl AgentKind {
    /// The word that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Chat => "chat",
            Self::Worker => "worker",
            Self::Person => "person",
        }
    }
}

/// An agent as the roster shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Agent {
    /// Its name.
    pub name: AgentName,
    /// What it is.
    pub kind: AgentKind,
    /// Its role (`lead`, `coder`, `reviewer` …), free text, empty when it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub role: String,
    /// What it says about itself (`active`, `away`, `planning`, `working` …).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// A sentence that goes with the status.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status_message: String,
    /// What it can do, in its own words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// The agent is a script that plays a part; every face says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_scripted: bool,
    /// Its mail that is not done yet.
    pub unread: u64,
    /// When it was last heard of.
    pub last_seen: Millis,
}

/// What happens to agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "facts", rename_all = "snake_case")]
pub enum AgentEvent {
    /// An agent joined or registered again.
    AgentRegistered {
        /// Its name as written.
        name: AgentName,
        /// What it is.
        kind: AgentKind,
        /// Its role.
        role: String,
        /// What it can do.
        capabilities: Vec<String>,
        /// Whether it is a script.
        scripted: bool,
    },
    /// An agent said how it is.
    AgentStatusSet {
        /// Its name.
        name: AgentName,
        /// The word.
        status: String,
        /// The sentence.
        message: String,
    },
    /// An agent left: its worker ended. Mail to it is refused from now on.
    AgentLeft {
        /// Its name.
        name: AgentName,
        /// Why.
        why: String,
    },
}
