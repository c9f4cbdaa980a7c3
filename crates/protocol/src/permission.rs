//! Permissions: what an agent may do without asking a person.

use serde::{Deserialize, Serialize};

use schemars::JsonSchema;

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

    /// Returns what an agent may do in a run whose plan says `plan`, if its own settings say `self`. A plan narrows freely. It
    /// widens to `all`, which a person has trusted with the plan, and never from `ask` to `edits`, which nobody is shown.
    #[must_use]
    pub const fn in_plan(self, plan: Option<Self>) -> Self {
        match (self, plan) {
            (Self::Ask, Some(Self::Edits)) | (_, None) => self,
            (_, Some(plan)) => plan,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Permissions::{All, Ask, Edits};

    #[test]
    fn a_plan_narrows_and_widens_only_to_what_is_shown_to_a_person() {
        for (agent, plan, is) in [
            (Ask, None, Ask),
            (Ask, Some(Edits), Ask),
            (Ask, Some(All), All),
            (Edits, Some(Ask), Ask),
            (Edits, Some(All), All),
            (All, Some(Edits), Edits),
        ] {
            assert_eq!(agent.in_plan(plan), is, "{agent:?} {plan:?}");
        }
    }
}
