//! Verbs about agents.

use serde::{Deserialize, Serialize};

use super::verb;
use crate::agent::{Agent, AgentKind};
use crate::id::AgentName;
use crate::schema::JsonSchema;
use crate::team::Team;

/// Joins the team under a name, or updates the entry; fields that are left out keep their value.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegisterAgentRequest {
    /// Your name; names that differ only in case or spacing are one agent.
    pub name: AgentName,
    /// Kind of agent; `chat` by default for a new name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<AgentKind>,
    /// Your role, such as `lead`, `coder` or `reviewer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// What you can do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
    /// True for a script that plays an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scripted: Option<bool>,
}

/// The agent after the registration.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RegisterAgentReply {
    /// Entry in the roster.
    pub agent: Agent,
    /// Number of this registration; it grows by one with each.
    pub epoch: u64,
    /// Token that proves over HTTP that a later request comes from this agent, to be sent in the header `Mcp-Session-Id`, or in `_meta` as
    /// `switchboard/agentToken`. Only in the reply to an agent over HTTP that had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

verb! {
    /// Join the team under a name so that others can write to you; call it again to change your role.
    RegisterAgent = "register_agent", Synced, Identity, Listed,
    RegisterAgentRequest => RegisterAgentReply
}

/// An agent in a terminal; fields that are left out keep their value.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegisterTerminalRequest {
    /// Name of the agent.
    pub name: AgentName,
    /// Process id of the terminal, which must run.
    pub pid: u32,
    /// Purpose of the terminal, such as `coding` or `review`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// Role of the agent, such as `lead`, `coder` or `reviewer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Second name, by which the agent is found if no agent has that name.
    #[serde(default, alias = "friendlyName", alias = "alias", skip_serializing_if = "Option::is_none")]
    pub friendly_name: Option<String>,
    /// Name of the colour that editors show; by purpose if it was never set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// Name of the icon that editors show; by purpose if it was never set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
}

verb! {
    /// Put an agent in a terminal on the roster, with the process of that terminal.
    RegisterTerminal = "register_terminal", Synced, Identity, Found,
    RegisterTerminalRequest => RegisterAgentReply
}

/// An agent in an editor's chat; fields that are left out keep their value.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegisterChatAgentRequest {
    /// Name of the agent.
    pub name: AgentName,
    /// Editor or client that the agent runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// What the agent can do; `chat` if it was never set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
    /// Role of the agent, such as `lead`, `coder` or `reviewer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Second name, by which the agent is found if no agent has that name.
    #[serde(default, alias = "friendlyName", alias = "alias", skip_serializing_if = "Option::is_none")]
    pub friendly_name: Option<String>,
    /// Name of the colour that editors show; `purple` if it was never set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// Name of the icon that editors show; `comment-discussion` if it was never set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
}

verb! {
    /// Put an agent in an editor's chat on the roster.
    RegisterChatAgent = "register_chat_agent", Synced, Identity, Found,
    RegisterChatAgentRequest => RegisterAgentReply
}

/// Request without arguments.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetTeamRosterRequest {}

/// The roster.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GetTeamRosterReply {
    /// All agents, by name.
    pub agents: Vec<Agent>,
    /// All teams, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub teams: Vec<Team>,
}

verb! {
    /// List the team: names, roles, status and unread mail.
    GetTeamRoster = "get_team_roster", Read, Directory, Listed,
    GetTeamRosterRequest => GetTeamRosterReply
}

/// Status of an agent.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetAgentStatusRequest {
    /// Name of the agent; yourself by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<AgentName>,
    /// One word: `active`, `away`, `planning`, `working`, `blocked` …
    pub status: String,
    /// One-sentence explanation.
    #[serde(default)]
    pub message: String,
}

/// The agent with its new status.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SetAgentStatusReply {
    /// Entry in the roster.
    pub agent: Agent,
}

verb! {
    /// Set your status: one word and a sentence.
    SetAgentStatus = "set_agent_status", Written, Identity, Listed,
    SetAgentStatusRequest => SetAgentStatusReply
}
