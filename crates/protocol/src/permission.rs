//! How much an agent may do without asking a person.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an agent's questions are answered with before a person sees them.
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
    /// Every level, the strictest first.
    pub const ALL: [Self; 3] = [Self::Ask, Self::Edits, Self::All];

    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Edits => "edits",
            Self::All => "all",
        }
    }
}
