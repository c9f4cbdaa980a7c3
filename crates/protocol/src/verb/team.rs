//! Teams: agents under one name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verb;
use crate::id::AgentName;
use crate::team::{Team, TeamName};

/// A team as it is to be.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetTeamRequest {
    /// Its name.
    pub team: TeamName,
    /// Its members, at most 64, all of them registered.
    pub members: Vec<AgentName>,
    /// One agent stands for the whole team; it is then the only member.
    #[serde(default, alias = "isComposite")]
    pub is_composite: bool,
    /// What the team can do.
    #[serde(default)]
    pub capabilities: Vec<String>,
}

/// The team as it now stands.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SetTeamReply {
    /// The entry.
    pub team: Team,
}

verb! {
    /// Make a team of agents, or change who is in it.
    SetTeam = "set_team", Synced, Admin, Found,
    SetTeamRequest => SetTeamReply
}

/// Which team.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoveTeamRequest {
    /// Its name.
    pub team: TeamName,
}

/// The team is gone.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RemoveTeamReply {
    /// Its name.
    pub team: TeamName,
}

verb! {
    /// Remove a team; its members stay on the roster.
    RemoveTeam = "remove_team", Synced, Admin, Found,
    RemoveTeamRequest => RemoveTeamReply
}
