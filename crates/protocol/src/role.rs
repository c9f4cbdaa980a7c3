//! Roles: what a worker is in a step of a way, and what it may read, write, run and hand on.
//!
//! The names here are those that ship; a role of the user's own has a [`RoleId`] and no [`RoleName`]. Which files belong to a [`Zone`] is
//! decided in `switchboard_pipeline::roles`.

mod name;

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::name::RoleName;

use crate::error::{Failure, near_matches};
use crate::id::fold;
use crate::run::way::RoleId;
use crate::text::cut;

/// Most models that take over from a role's own: as many as `fallback_models` of an opencode-swarm configuration may hold.
pub const MAX_FALLBACK_MODELS: usize = 3;

/// A part of the tree by what its files are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Zone {
    /// The program itself: everything that is in no other zone.
    Production,
    /// Tests, and what only tests use.
    Test,
    /// How tools judge and run the code: linters, formatters, test runners, CI, editors, environment files.
    Config,
    /// What a tool makes: build outputs, generated sources, installed packages.
    Generated,
    /// Documentation.
    Docs,
    /// How it is built: manifests, lock files, build scripts.
    Build,
}

/// What a role may do. A step of a way may allow less, never more.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rights {
    /// Whether it sees the tree.
    pub read: bool,
    /// Which files it may change.
    #[serde(default)]
    pub write: WriteRights,
    /// Whether it may run commands.
    #[serde(default)]
    pub execute: bool,
    /// Whether it may ask for work of other roles.
    #[serde(default)]
    pub delegate: bool,
}

/// Which files a role may change: those of a zone that `only` and `except` leave it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteRights {
    /// The zones; none for a role that only reads.
    pub zones: BTreeSet<Zone>,
    /// Globs that a file has to lie in; empty for anywhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// Globs that it may not lie in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
}

/// When a worker of a role is stopped; 0 means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleLimits {
    /// Most tool calls of one step.
    #[serde(default)]
    pub tool_calls: u32,
    /// Longest time of one step in minutes.
    #[serde(default)]
    pub minutes: u32,
    /// Most failed tool calls in a row.
    #[serde(default)]
    pub errors: u32,
    /// Share of a limit in percent at which the worker is told, 1 to 100.
    #[serde(default)]
    pub warn_at: u8,
}

// === impl RoleName ===

impl RoleName {
    /// The roles that the steps of a team's tasks have, beside the coder, who is a task's own agent. Some tasks have them all: a designer prepares what touches a user interface, an explorer looks for who is
    /// affected by changes of contracts.
    pub const IN_TASKS: [Self; 4] = [Self::Reviewer, Self::TestEngineer, Self::Designer, Self::Explorer];

    /// The roles that a team may have which leads a run through its modes.
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

    /// The role that somebody is named for, among those that a team has; `-` counts as `_`.
    ///
    /// # Errors
    /// `request.bad-args` for every other name, also for a role that this team doesn't have: nobody would be asked.
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

    /// The one of an id; `None` for a role that doesn't ship.
    #[must_use]
    pub fn of(id: &RoleId) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == id.as_str())
    }

    /// Its id.
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
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Production, Self::Test, Self::Config, Self::Generated, Self::Docs, Self::Build];

    /// Its word.
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

    /// The one of a word.
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
    /// Whether it may change no file at all.
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
