//! Verbs about teams.

use serde::{Deserialize, Serialize};

use super::verb;
use crate::id::AgentName;
use crate::schema::JsonSchema;
use crate::team::{Team, TeamName};

/// The new state of a team.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetTeamRequest {
    /// Name of the team.
    pub team: TeamName,
    /// Names of the members, at most 64, all of them registered.
    pub members: Vec<AgentName>,
    /// Whether one agent stands for the whole team; it is then the only member.
    #[serde(default, alias = "isComposite")]
    pub is_composite: bool,
    /// What the team can do.
    #[serde(default)]
    pub capabilities: Vec<String>,
}

/// The team after the change.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SetTeamReply {
    /// Entry in the roster.
    pub team: Team,
}

verb! {
    /// Create a team of agents, or change its members.
    SetTeam = "set_team", Synced, Admin, Found,
    SetTeamRequest => SetTeamReply
}

/// The team to remove.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoveTeamRequest {
    /// Name of the team.
    pub team: TeamName,
}

/// The removed team.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RemoveTeamReply {
    /// Name of the team.
    pub team: TeamName,
}

verb! {
    /// Remove a team; its members stay on the roster.
    RemoveTeam = "remove_team", Synced, Admin, Found,
    RemoveTeamRequest => RemoveTeamReply
}
