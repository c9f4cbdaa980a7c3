//! Roles: a worker's part in a step, and what it may read, write, run and delegate.
//!
//! The names here are the built-in roles; a user-defined role has a [`RoleId`] and no [`RoleName`]. Which files belong to a [`Zone`] is
//! defined in `switchboard_pipeline::roles`.

mod name;

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::name::RoleName;

use crate::error::{Failure, near_matches};
use crate::id::fold;
use crate::run::way::RoleId;
use crate::schema::JsonSchema;
use crate::text::cut;

/// Maximum number of fallback models of a role: as many as `fallback_models` of an opencode-swarm configuration may hold.
pub const MAX_FALLBACK_MODELS: usize = 3;

/// A part of the tree, by the purpose of its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Zone {
    /// The program itself: every file that is in no other zone.
    Production,
    /// Tests, and files that only tests use.
    Test,
    /// Configuration of tools that judge and run the code: linters, formatters, test runners, CI, editors, environment files.
    Config,
    /// Generated files: build outputs, generated sources, installed packages.
    Generated,
    /// Documentation.
    Docs,
    /// Build files: manifests, lock files, build scripts.
    Build,
}

/// Rights of a role. A step of a way may allow less, never more.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rights {
    /// Whether the role can read the tree.
    pub read: bool,
    /// Files that the role may change.
    #[serde(default)]
    pub write: WriteRights,
    /// Whether the role may run commands.
    #[serde(default)]
    pub execute: bool,
    /// Whether the role may request work of other roles.
    #[serde(default)]
    pub delegate: bool,
}

/// Files that a role may change: those in `zones`, restricted by `only` and `except`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteRights {
    /// Zones that the role may change; empty for a role that only reads.
    pub zones: BTreeSet<Zone>,
    /// Globs that a file has to match; empty for any file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// Globs that a file may not match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
}

/// Limits at which a worker of a role is stopped; 0 means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleLimits {
    /// Maximum number of tool calls in one step.
    #[serde(default)]
    pub tool_calls: u32,
    /// Time limit of one step, in minutes.
    #[serde(default)]
    pub minutes: u32,
    /// Maximum number of failed tool calls in a row.
    #[serde(default)]
    pub errors: u32,
    /// Percentage of a limit at which the worker is warned, 1 to 100.
    #[serde(default)]
    pub warn_at: u8,
}

// === impl RoleName ===

impl RoleName {
    /// Roles of the steps of a team's tasks, apart from the coder, which is the task's own agent. Only some tasks use all of them: a
    /// designer prepares changes to a user interface, an explorer looks for the consumers affected by changes of contracts.
    pub const IN_TASKS: [Self; 4] = [Self::Reviewer, Self::TestEngineer, Self::Designer, Self::Explorer];

    /// Roles that a team may have if it leads a run through its modes.
    pub const OF_MODES: [Self; 10] = [
        Self::Reviewer,
        Self::TestEngineer,
        Self::Designer,
        Self::Architect,
        Self::Explorer,
        Self::Sme,
        Self::Critic,
        Self::CriticDriftVerifier,
        Self::CriticHallucinationVerifier,
        Self::Docs,
    ];

    /// Finds the role of this name among those that a team has; `-` counts as `_`.
    ///
    /// # Errors
    /// `request.bad-args` for every other name, including built-in roles that this team doesn't have, since no step would use them.
    pub fn among(has: &[Self], name: &str) -> Result<Self, Failure> {
        let names = || has.iter().map(|role| role.as_str());
        let wanted = fold(name).replace('-', "_");
        if let Some(role) = has.iter().find(|role| role.as_str() == wanted) {
            return Ok(*role);
        }
        let all = || format!("a team has: {}", names().collect::<Vec<_>>().join(", "));
        if wanted == Self::Coder.as_str() {
            let failure = Failure::new("request.bad-args", "the coder is each task's own agent");
            return Err(failure.hint("name it by --agent, or by `agent` in the plan"));
        }
        if let Some(role) = Self::ALL.into_iter().find(|role| role.as_str() == wanted) {
            let what = format!("no step of a team's tasks is for the role {role}");
            return Err(Failure::new("request.bad-args", what).hint(all()));
        }
        let hint = near_matches(name, names()).first().map_or_else(all, |near| format!("did you mean {near}?"));
        Err(Failure::new("request.bad-args", format!("there is no role {:?}", cut(name, 100))).hint(hint))
    }

    /// Returns the role with this id; `None` for a role that is not built in.
    #[must_use]
    pub fn of(id: &RoleId) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == id.as_str())
    }

    /// Returns the id of the role.
    #[must_use]
    pub fn id(self) -> RoleId {
        RoleId::new(self.as_str()).expect("the names that ship are lower-case words")
    }
}

impl From<RoleName> for RoleId {
    fn from(name: RoleName) -> Self {
        name.id()
    }
}

// === impl Zone ===

impl Zone {
    /// All values.
    pub const ALL: [Self; 6] = [Self::Production, Self::Test, Self::Config, Self::Generated, Self::Docs, Self::Build];

    /// Returns the value as a word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Production => "production",
            Self::Test => "test",
            Self::Config => "config",
            Self::Generated => "generated",
            Self::Docs => "docs",
            Self::Build => "build",
        }
    }

    /// Returns the value with this word; `None` if there is none.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl Rights ===

impl Rights {
    /// Returns true if the role may not change any file.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.write.zones.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_by_its_id_and_reads_as_it_is_written() {
        for name in RoleName::ALL {
            assert_eq!(RoleName::of(&name.id()), Some(name));
            assert_eq!(serde_json::to_value(name).unwrap(), name.as_str());
        }
        for zone in Zone::ALL {
            assert_eq!(Zone::of(zone.as_str()), Some(zone));
            assert_eq!(serde_json::to_value(zone).unwrap(), zone.as_str());
        }
        assert_eq!(RoleName::of(&RoleId::new("translator").unwrap()), None);
    }

    #[test]
    fn rights_that_say_nothing_allow_nothing() {
        let rights = Rights::default();

        assert!(rights.is_read_only() && !rights.read && !rights.execute && !rights.delegate);
    }
}
