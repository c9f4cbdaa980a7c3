//! Agent definitions in files: instructions for a configured agent.

use serde::{Deserialize, Serialize};

use crate::schema::JsonSchema;

/// Which agent definitions apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentScope {
    /// Definitions in the user's settings folder.
    #[default]
    User,
    /// Definitions in the repository, once it is trusted.
    Project,
    /// Both; a definition of the project takes precedence over the user's of the same name.
    Both,
}

// === impl AgentScope ===

impl AgentScope {
    /// All scopes.
    pub const ALL: [Self; 3] = [Self::User, Self::Project, Self::Both];

    /// Returns the scope as a word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Both => "both",
        }
    }

    /// Returns the scope with this word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }

    /// Returns true if the user's definitions apply.
    #[must_use]
    pub const fn has_user(self) -> bool {
        matches!(self, Self::User | Self::Both)
    }

    /// Returns true if the repository's definitions apply.
    #[must_use]
    pub const fn has_project(self) -> bool {
        matches!(self, Self::Project | Self::Both)
    }
}
