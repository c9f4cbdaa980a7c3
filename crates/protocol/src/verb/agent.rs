//! Agents: who is there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verb;
use crate::agent::{Agent, AgentKind};
use crate::id::AgentName;
use crate::team::Team;

/// Joins the team under a name, or updates the entry; what is left out stays as it was.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegisterAgentRequest {
    /// Your name; names that differ only in case or spacing are one agent.
    pub name: AgentName,
    /// What you are; `chat` unless you were here before.
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

/// The agent as it now stands.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RegisterAgentReply {
    /// The entry.
    pub agent: Agent,
    /// The number of this registration; it grows by one with each.
    pub epoch: u64,
    /// Proves over HTTP that a later request is this agent's: to be sent in the header `Mcp-Session-Id`, or in `_meta` as
    /// `switchboard/agentToken`. Only in the answer to an agent over HTTP that had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

verb! {
    /// Join the team under a name so that others can write to you; call it again to change your role.
    RegisterAgent = "register_agent", Synced, Identity, Listed,
    RegisterAgentRequest => RegisterAgentReply
}

/// An agent in a terminal; what is left out stays as it was.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegisterTerminalRequest {
    /// Its name.
    pub name: AgentName,
    /// The terminal's process, which must run.
    pub pid: u32,
    /// What the terminal is for, such as `coding` or `review`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// Its role, such as `lead`, `coder` or `reviewer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// A second name that finds it when nobody is called so.
    #[serde(default, alias = "friendlyName", alias = "alias", skip_serializing_if = "Option::is_none")]
    pub friendly_name: Option<String>,
    /// Name of the colour that editors show; by purpose when it was never said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// Name of the icon that editors show; by purpose when it was never said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
}

verb! {
    /// Put an agent that lives in a terminal on the roster, with the process of that terminal.
    RegisterTerminal = "register_terminal", Synced, Identity, Found,
    RegisterTerminalRequest => RegisterAgentReply
}

/// An agent in an editor's chat; what is left out stays as it was.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegisterChatAgentRequest {
    /// Its name.
    pub name: AgentName,
    /// The editor or client that it lives in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// What it can do; `chat` when it was never said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
    /// Its role, such as `lead`, `coder` or `reviewer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// A second name that finds it when nobody is called so.
    #[serde(default, alias = "friendlyName", alias = "alias", skip_serializing_if = "Option::is_none")]
    pub friendly_name: Option<String>,
    /// Name of the colour that editors show; `purple` when it was never said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// Name of the icon that editors show; `comment-discussion` when it was never said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
}

verb! {
    /// Put an agent that lives in an editor's chat on the roster.
    RegisterChatAgent = "register_chat_agent", Synced, Identity, Found,
    RegisterChatAgentRequest => RegisterAgentReply
}

/// Nothing to say.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetTeamRosterRequest {}

/// Everybody.
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

/// How an agent is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetAgentStatusRequest {
    /// Whose status; yourself when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<AgentName>,
    /// One word: `active`, `away`, `planning`, `working`, `blocked` …
    pub status: String,
    /// A sentence.
    #[serde(default)]
    pub message: String,
}

/// The agent as it now stands.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SetAgentStatusReply {
    /// The entry.
    pub agent: Agent,
}

verb! {
    /// Say how you are in one word and a sentence.
    SetAgentStatus = "set_agent_status", Written, Identity, Listed,
    SetAgentStatusRequest => SetAgentStatusReply
}
