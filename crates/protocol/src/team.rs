//! Teams: agents under one name, so that one message reaches all of them.

use serde::{Deserialize, Serialize};

use crate::id::{AgentName, fold};
use crate::time::Millis;

/// Most members of a team.
pub const MAX_MEMBERS: usize = 64;
/// Most teams.
pub const MAX_TEAMS: u64 = 100;

crate::id!(TeamName, "", "The name of a team; `Backend` and `backend` are the same team.");

impl TeamName {
    /// The form under which names meet, as for agents.
    #[must_use]
    pub fn folded(&self) -> String {
        fold(self.as_str())
    }
}

/// A team as the roster shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Team {
    /// Its name.
    pub name: TeamName,
    /// One agent that stands for a team of its own; it has exactly one member.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_composite: bool,
    /// What it can do, in the words of whoever made it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// Its members by name, also those that have left.
    pub members: Vec<AgentName>,
    /// When it was first made.
    pub created_at: Millis,
}

/// What happens to teams. The members come and go one event each, so that facts stay small.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", content = "facts", rename_all = "snake_case")]
pub enum TeamEvent {
    /// A team was made or changed.
    TeamSet {
        /// Its name.
        team: TeamName,
        /// Whether one agent stands for it.
        composite: bool,
        /// What it can do.
        capabilities: Vec<String>,
        /// When it was first made; left out when it is new.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        created_at: Option<Millis>,
    },
    /// An agent is in the team from now on.
    TeamMemberAdded {
        /// The team.
        team: TeamName,
        /// The agent.
        member: AgentName,
    },
    /// An agent is no longer in the team.
    TeamMemberRemoved {
        /// The team.
        team: TeamName,
        /// The agent.
        member: AgentName,
    },
    /// The team is no more; its members were removed before.
    TeamRemoved {
        /// The team.
        team: TeamName,
    },
}
