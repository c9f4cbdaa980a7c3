//! The modes of a run that a team carries out, and what is recorded of them. What they mean is in `switchboard_pipeline::modes`.

mod event;
mod fact;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use event::{AnswerFacts, Choice, FailedTask, ModeEvent, PersonAnswer, PhaseOutcome};
pub use fact::{MAX_NOW, ModeFact, PartWork};

use crate::id::{AgentName, Digest};
use crate::role::RoleName;

/// Highest number of a phase, which a retrospective has to name (1 to 99).
pub const MAX_PHASE: u64 = 99;

/// What a run is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TeamMode")]
pub enum Mode {
    /// It looks for what an earlier run left; the explorer consolidates what such runs have taught.
    Resume,
    /// The architect asks a person what the request leaves open.
    Clarify,
    /// The explorer reports what is there.
    Discover,
    /// The explorer reports how far each thing is that the request or plan refers to.
    Reality,
    /// Experts advise, one call a domain.
    Consult,
    /// The architect writes a specification.
    Specify,
    /// The architect makes or revises the plan.
    Plan,
    /// The critic reviews the plan.
    CriticGate,
    /// The tasks of a phase are carried out.
    Execute,
    /// A phase is brought to its end.
    PhaseWrap,
    /// The record doesn't say what the run is at; a person does.
    Unknown,
}

/// How a run of a team begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setup {
    /// Digest of the request, where it began with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Digest>,
    /// The plan, where it began with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanFacts>,
    /// Digest of a plan that an earlier run had approved: one that is still the same needs no second review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<Digest>,
    /// The phase to go on with: those before it are done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_phase: Option<u64>,
    /// Whether the repository holds nothing that could be explored.
    pub is_empty_project: bool,
    /// Retrospectives that earlier runs have left which a team led.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retrospectives: u32,
    /// Who is asked.
    pub person: AgentName,
    /// Who says that the next phase begins.
    pub proceed: Proceed,
    /// Which of the steps are taken that may be left out.
    pub steps: OptionalSteps,
    /// How often something is tried again.
    #[serde(default, skip_serializing_if = "ModeLimits::is_usual")]
    pub limits: ModeLimits,
}

/// A plan, as far as modes depend on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanFacts {
    /// Digest of its `plan.json`.
    pub plan: Digest,
    /// The numbers of its phases, ascending.
    pub phases: Vec<u64>,
}

/// Who says that the next phase begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Proceed {
    /// A person.
    Ask,
    /// The plan's `auto_proceed`.
    AutoProceed,
    /// The flag `--auto`.
    AutoFlag,
}

/// Steps that may be left out; false is recorded as not configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "a setting each")]
pub struct OptionalSteps {
    /// The explorer consolidates what earlier runs have taught.
    pub briefing: bool,
    /// The architect may ask questions.
    pub clarify: bool,
    /// Experts are asked.
    pub consult: bool,
    /// A specification is written.
    pub specify: bool,
    /// Documentation is brought in line at the end of a phase.
    pub docs: bool,
    /// What was built is compared with what was asked for at the end of a phase.
    pub drift: bool,
    /// What was said about the code is compared with the code at the end of a phase.
    pub hallucination: bool,
}

/// How often something is tried again before a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModeLimits {
    /// Revisions of a plan that the critic may ask for.
    pub critic_cycles: u32,
    /// How often an answer that does not fit to what is known is asked for again: a plan that was refused, guidance on another domain.
    pub malformed: u32,
}

impl Default for ModeLimits {
    /// The limits of `docs/team.md`: 2 critic cycles, 2 malformed answers.
    fn default() -> Self {
        Self { critic_cycles: 2, malformed: 2 }
    }
}

impl Default for OptionalSteps {
    /// All but a specification and the check of claims, which are asked for.
    fn default() -> Self {
        Self {
            briefing: true,
            clarify: true,
            consult: true,
            specify: false,
            docs: true,
            drift: true,
            hallucination: false,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

// === impl ModeLimits ===

impl ModeLimits {
    /// Whether they are those of `docs/team.md`, which a record need not repeat.
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

// === impl OptionalSteps ===

impl OptionalSteps {
    /// The roles that a team has which takes these steps, beside the coders.
    #[must_use]
    pub fn roles(self) -> Vec<RoleName> {
        let optional = [
            (RoleName::Sme, self.consult),
            (RoleName::Docs, self.docs),
            // Without a specification there is nothing to compare with.
            (RoleName::CriticDriftVerifier, self.drift && self.specify),
            (RoleName::CriticHallucinationVerifier, self.hallucination),
        ];
        let taken = optional.into_iter().filter(|(_, is_taken)| *is_taken).map(|(role, _)| role);
        let always = [RoleName::Architect, RoleName::Critic];
        RoleName::IN_TASKS.into_iter().chain(always).chain(taken).collect()
    }
}

// === impl Mode ===

impl Mode {
    /// Its label on screens.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Resume => "RESUME",
            Self::Clarify => "CLARIFY",
            Self::Discover => "DISCOVER",
            Self::Reality => "REALITY",
            Self::Consult => "CONSULT",
            Self::Specify => "SPECIFY",
            Self::Plan => "PLAN",
            Self::CriticGate => "CRITIC-GATE",
            Self::Execute => "EXECUTE",
            Self::PhaseWrap => "PHASE-WRAP",
            Self::Unknown => "UNKNOWN",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

// === impl Proceed ===

impl Proceed {
    /// The setting by which no person is asked; `None` where one is.
    #[must_use]
    pub const fn setting(self) -> Option<&'static str> {
        match self {
            Self::Ask => None,
            Self::AutoProceed => Some("auto_proceed"),
            Self::AutoFlag => Some("--auto"),
        }
    }
}

// === impl PlanFacts ===

impl PlanFacts {
    /// Why the plan can't be carried out; `None` if it can.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        if self.phases.is_empty() {
            return Some("the plan has no phase".to_owned());
        }
        if self.phases.iter().any(|phase| !(1..=MAX_PHASE).contains(phase)) {
            return Some(format!("the phases of a plan are numbered 1 to {MAX_PHASE}"));
        }
        let is_ascending = self.phases.windows(2).all(|pair| pair[0] < pair[1]);
        (!is_ascending).then(|| "the plan has a phase twice".to_owned())
    }
}
