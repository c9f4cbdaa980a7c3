//! Agents that are defined by a file: instructions for an agent that is configured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whose definitions of agents count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentScope {
    /// Those in the user's settings folder.
    #[default]
    User,
    /// Those that came with the repository, once they are trusted.
    Project,
    /// Both; the project's goes before the user's of the same name.
    Both,
}

// === impl AgentScope ===

impl AgentScope {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::User, Self::Project, Self::Both];

    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Both => "both",
        }
    }

    /// The one of a word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }

    /// Whether the user's own count.
    #[must_use]
    pub const fn has_user(self) -> bool {
        matches!(self, Self::User | Self::Both)
    }

    /// Whether the repository's count.
    #[must_use]
    pub const fn has_project(self) -> bool {
        matches!(self, Self::Project | Self::Both)
    }
}
