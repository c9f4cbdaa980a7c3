//! Roles: what a worker is in a step of a way, and what it may read, write, run and hand on.
//!
//! The names here are those that ship; a role of the user's own has a [`RoleId`] and no [`RoleName`]. Which files belong to a [`Zone`] is
//! decided in `switchboard_pipeline::roles`.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Failure, near_matches};
use crate::id::fold;
use crate::run::way::RoleId;
use crate::text::cut;

/// Most models that take over from a role's own: as many as `fallback_models` of an opencode-swarm configuration may hold.
pub const MAX_FALLBACK_MODELS: usize = 3;

/// The roles that ship.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoleName {
    /// Decides: questions, plan, revision, what becomes of a failing task, retrospective.
    Architect,
    /// Reports what is there, without judgement.
    Explorer,
    /// Makes scaffolds and design tokens before the coder begins on a user interface.
    Designer,
    /// Advises on one domain.
    Sme,
    /// Implements one task.
    Coder,
    /// Reviews one change.
    Reviewer,
    /// Writes and runs tests of one change.
    TestEngineer,
    /// Challenges plans, specifications and reports.
    Critic,
    /// Compares what was built with what was asked for.
    CriticDriftVerifier,
    /// Compares what was said about the code with the code.
    CriticHallucinationVerifier,
    /// Writes documentation.
    Docs,
}

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
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Architect,
        Self::Explorer,
        Self::Designer,
        Self::Sme,
        Self::Coder,
        Self::Reviewer,
        Self::TestEngineer,
        Self::Critic,
        Self::CriticDriftVerifier,
        Self::CriticHallucinationVerifier,
        Self::Docs,
    ];

    /// The roles that the steps of a team's tasks have, beside the coder, who is a task's own agent.
    pub const OF_TEAM: [Self; 2] = [Self::Reviewer, Self::TestEngineer];

    /// The role of a team that somebody is named for; `-` counts as `_`.
    ///
    /// # Errors
    /// `request.bad-args` for every other name, also for a role that no step of a team has: nobody would be asked.
    pub fn of_team(name: &str) -> Result<Self, Failure> {
        let names = || Self::OF_TEAM.into_iter().map(Self::as_str);
        let wanted = fold(name).replace('-', "_");
        if let Some(role) = Self::OF_TEAM.into_iter().find(|role| role.as_str() == wanted) {
            return Ok(role);
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

    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Architect => "architect",
            Self::Explorer => "explorer",
            Self::Designer => "designer",
            Self::Sme => "sme",
            Self::Coder => "coder",
            Self::Reviewer => "reviewer",
            Self::TestEngineer => "test_engineer",
            Self::Critic => "critic",
            Self::CriticDriftVerifier => "critic_drift_verifier",
            Self::CriticHallucinationVerifier => "critic_hallucination_verifier",
            Self::Docs => "docs",
        }
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

impl fmt::Display for RoleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
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
