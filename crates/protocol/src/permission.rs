//! Permissions: what an agent may do without asking a person.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an agent may do without asking a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Permissions {
    /// A person is asked every time.
    Ask,
    /// Edits of files inside the task's own work tree are allowed; a person is asked about commands and about everything outside.
    #[default]
    Edits,
    /// Everything is allowed.
    All,
}

// === impl Permissions ===

impl Permissions {
    /// All levels, the strictest first.
    pub const ALL: [Self; 3] = [Self::Ask, Self::Edits, Self::All];

    /// Returns the value as a word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Edits => "edits",
            Self::All => "all",
        }
    }
}
