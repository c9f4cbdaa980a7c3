//! Agents: who sends, receives and works.

use serde::{Deserialize, Serialize};

use crate::id::{AgentName, Digest};
use crate::time::Millis;

/// Kind of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    /// An agent in a terminal.
    Terminal,
    /// An agent in an editor's chat or in another MCP client.
    Chat,
    /// An agent that a run started and that ends with the run.
    Worker,
    /// A person.
    Person,
}

impl AgentKind {
    /// Returns the kind as it is stored and shown.
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

/// An agent as it is listed in the roster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema)]
pub struct Agent {
    /// Name of the agent.
    pub name: AgentName,
    /// Kind of the agent.
    pub kind: AgentKind,
    /// Role of the agent (`lead`, `coder`, `reviewer` …): free text, empty if it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub role: String,
    /// Second name, by which the agent is found if no agent has that name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub friendly_name: String,
    /// Purpose of a terminal (`coding`, `review` …).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub purpose: String,
    /// Editor or client that a chat agent runs in.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub interface: String,
    /// Status that the agent set (`active`, `away`, `planning`, `working` …).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// One-sentence explanation of the status.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status_message: String,
    /// What the agent can do, as it describes itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// Name of the icon that editors show.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub icon: String,
    /// Name of the colour that editors show.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub color: String,
    /// Process id of a terminal agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// True if the agent is a script that plays a part; every face shows this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_scripted: bool,
    /// True if the agent has left: it gets no mail until it registers again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_left: bool,
    /// Number of registrations under this name. It distinguishes calls of this agent from late calls of an earlier one.
    #[serde(default)]
    pub epoch: u64,
    /// Number of messages to the agent that are not done yet.
    pub unread: u64,
    /// Time at which the agent was last active.
    pub last_seen: Millis,
}

/// A process of the machine, identified so that a later process with the same pid differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Start time in clock ticks since boot.
    pub start: u64,
    /// The kernel's id of the boot.
    pub boot: String,
}

/// Prefix of `boot` in a process that stands for a token.
const TOKEN: &str = "token:";

// === impl Process ===

impl Process {
    /// Makes a process that stands for an agent's token, for agents over HTTP, whose own process can't be seen.
    #[must_use]
    pub fn of_token(token: &Digest) -> Self {
        let [a, b, c, d, e, f, g, h, ..] = token.0;
        Self { pid: 0, start: u64::from_le_bytes([a, b, c, d, e, f, g, h]), boot: format!("{TOKEN}{}", token.hex()) }
    }

    /// Returns true if the process stands for a token.
    #[must_use]
    pub fn is_token(&self) -> bool {
        self.boot.starts_with(TOKEN)
    }
}

/// Events about agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(tag = "kind", content = "facts")]
pub enum AgentEvent {
    /// An agent registered, for the first time or again.
    AgentRegistered(Registered),
    /// An agent set its status.
    AgentStatusSet {
        /// Name of the agent.
        name: AgentName,
        /// The status.
        status: String,
        /// The one-sentence explanation.
        message: String,
    },
    /// An agent left because its worker or terminal ended. Its leases end, and mail to it is refused from then on.
    AgentLeft {
        /// Name of the agent.
        name: AgentName,
        /// Reason.
        why: String,
    },
}

/// Data of a registration; fields that are left out keep their value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema)]
pub struct Registered {
    /// Name of the agent as written.
    pub name: AgentName,
    /// Kind of the agent.
    pub kind: AgentKind,
    /// Role of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// What the agent can do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
    /// True if the agent is a script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scripted: Option<bool>,
    /// Second name of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub friendly_name: Option<String>,
    /// Purpose of its terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// Client that it runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// Name of its icon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
    /// Name of its colour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// Process of its terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    /// The program whose connection registered the agent. No other program can use the name while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<Box<Process>>,
    /// True if the agent was registered before and keeps its status; otherwise its status becomes `active`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_status: bool,
}

impl Registered {
    /// Makes a registration with only a name and a kind.
    #[must_use]
    pub fn new(name: AgentName, kind: AgentKind) -> Self {
        Self {
            name,
            kind,
            role: None,
            capabilities: None,
            scripted: None,
            friendly_name: None,
            purpose: None,
            interface: None,
            icon: None,
            color: None,
            process: None,
            holder: None,
            keeps_status: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Fact;

    #[test]
    fn a_registration_of_the_first_version_still_reads() {
        let stored = serde_json::json!({
            "name": "Ada", "kind": "worker", "role": "", "capabilities": ["rust"], "scripted": true });

        let Some(AgentEvent::AgentRegistered(registered)) = AgentEvent::read("agent_registered", &stored.into()) else {
            panic!()
        };

        assert_eq!(registered.capabilities, Some(vec!["rust".to_owned()]));
        assert_eq!((registered.scripted, registered.keeps_status), (Some(true), false));
    }
}
