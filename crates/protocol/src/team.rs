//! Teams: agents under one name, so that one message reaches all of them.

use serde::{Deserialize, Serialize};

use crate::id::{AgentName, fold};
use crate::time::Millis;

/// Maximum number of members in a team.
pub const MAX_MEMBERS: usize = 64;
/// Maximum number of teams.
pub const MAX_TEAMS: u64 = 100;

crate::id!(TeamName, "", "The name of a team; `Backend` and `backend` are the same team.");

impl TeamName {
    /// Returns the form in which names are compared, as for agents.
    #[must_use]
    pub fn folded(&self) -> String {
        fold(self.as_str())
    }
}

/// A team as it is listed in the roster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema)]
pub struct Team {
    /// Name of the team.
    pub name: TeamName,
    /// True if one agent stands for the team; it has exactly one member.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_composite: bool,
    /// What the team can do, as its creator describes it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// Names of the members, including those that have left.
    pub members: Vec<AgentName>,
    /// Time at which the team was first created.
    pub created_at: Millis,
}

/// Events about teams. Each member that comes or goes has its own event, so that facts stay small.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(tag = "kind", content = "facts")]
pub enum TeamEvent {
    /// A team was created or changed.
    TeamSet {
        /// Name of the team.
        team: TeamName,
        /// True if one agent stands for the team.
        composite: bool,
        /// What the team can do.
        capabilities: Vec<String>,
        /// Time at which the team was first created; left out for a new team.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        created_at: Option<Millis>,
    },
    /// An agent became a member of the team.
    TeamMemberAdded {
        /// Name of the team.
        team: TeamName,
        /// Name of the agent.
        member: AgentName,
    },
    /// An agent is no longer a member of the team.
    TeamMemberRemoved {
        /// Name of the team.
        team: TeamName,
        /// Name of the agent.
        member: AgentName,
    },
    /// The team was removed; its members were removed before.
    TeamRemoved {
        /// Name of the team.
        team: TeamName,
    },
}
