//! Names of the built-in roles.

use std::fmt;

use serde::{Deserialize, Serialize};

use schemars::JsonSchema;

/// Built-in role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoleName {
    /// Decides: asks questions, makes and revises the plan, handles failing tasks, writes the retrospective.
    Architect,
    /// Reports what exists, without judgement.
    Explorer,
    /// Makes scaffolds and design tokens before the coder starts on a user interface.
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
    /// Compares the result with the request.
    CriticDriftVerifier,
    /// Compares claims about the code with the code.
    CriticHallucinationVerifier,
    /// Writes documentation.
    Docs,
}

// === impl RoleName ===

impl RoleName {
    /// All values.
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

    /// Returns the value as a word.
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
}

impl fmt::Display for RoleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
