//! Agents: who sends, receives and works.

use serde::{Deserialize, Serialize};

use crate::id::{AgentName, Digest};
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
    /// A second name that finds it when nobody is called so.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub friendly_name: String,
    /// What a terminal is for (`coding`, `review` …).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub purpose: String,
    /// The editor or client that a chat agent lives in.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub interface: String,
    /// What it says about itself (`active`, `away`, `planning`, `working` …).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// A sentence that goes with the status.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status_message: String,
    /// What it can do, in its own words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// The name of the icon that editors show.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub icon: String,
    /// The name of the colour that editors show.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub color: String,
    /// A terminal's process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The agent is a script that plays a part; every face says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_scripted: bool,
    /// It has left and gets no mail until it registers again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_left: bool,
    /// How often it has registered; what an earlier one of this name still sends is told from this one's by it.
    #[serde(default)]
    pub epoch: u64,
    /// Its mail that is not done yet.
    pub unread: u64,
    /// When it was last heard of.
    pub last_seen: Millis,
}

/// A process of the machine, told from a later one under the same pid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Start time in clock ticks since boot.
    pub start: u64,
    /// The kernel's id of the boot.
    pub boot: String,
}

/// How the boot of what stands for a token begins.
const TOKEN: &str = "token:";

// === impl Process ===

impl Process {
    /// What stands for an agent's token where there is no process that could be seen: an agent that is connected over HTTP.
    #[must_use]
    pub fn of_token(token: &Digest) -> Self {
        let [a, b, c, d, e, f, g, h, ..] = token.0;
        Self { pid: 0, start: u64::from_le_bytes([a, b, c, d, e, f, g, h]), boot: format!("{TOKEN}{}", token.hex()) }
    }

    /// Whether it stands for a token.
    #[must_use]
    pub fn is_token(&self) -> bool {
        self.boot.starts_with(TOKEN)
    }
}

/// What happens to agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", content = "facts", rename_all = "snake_case")]
pub enum AgentEvent {
    /// An agent joined or registered again.
    AgentRegistered(Registered),
    /// An agent set its status.
    AgentStatusSet {
        /// Its name.
        name: AgentName,
        /// The word.
        status: String,
        /// The sentence.
        message: String,
    },
    /// An agent left: its worker or its terminal ended. Its leases end, and mail to it is refused from now on.
    AgentLeft {
        /// Its name.
        name: AgentName,
        /// Why.
        why: String,
    },
}

/// What an agent registered with; what it left out stays as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Registered {
    /// Its name as written.
    pub name: AgentName,
    /// What it is.
    pub kind: AgentKind,
    /// Its role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// What it can do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
    /// Whether it is a script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scripted: Option<bool>,
    /// Its second name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub friendly_name: Option<String>,
    /// What its terminal is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// The client that it lives in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// Its icon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
    /// Its colour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// Its terminal's process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    /// The program whose connection registered it: while that runs, the name is its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<Box<Process>>,
    /// It was there before and keeps its status; else it is `active` from now on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_status: bool,
}

impl Registered {
    /// A registration that says no more than name and kind.
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

    #[test]
    fn a_registration_of_the_first_version_still_reads() {
        let stored = serde_json::json!({ "kind": "agent_registered", "facts": {
            "name": "Ada", "kind": "worker", "role": "", "capabilities": ["rust"], "scripted": true } });

        let AgentEvent::AgentRegistered(registered) = serde_json::from_value(stored).unwrap() else { panic!() };

        assert_eq!(registered.capabilities, Some(vec!["rust".to_owned()]));
        assert_eq!((registered.scripted, registered.keeps_status), (Some(true), false));
    }
}
