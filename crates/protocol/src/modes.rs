//! The modes of a run led by a team, and their record. What the modes mean is defined in `switchboard_pipeline::modes`.

mod event;
mod fact;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use event::{AnswerFacts, Choice, FailedTask, ModeEvent, PersonAnswer, PhaseOutcome};
pub use fact::{MAX_NOW, ModeFact, PartWork};

use crate::id::{AgentName, Digest};
use crate::role::RoleName;
use crate::run::TeamLimits;
use crate::schema::JsonSchema;

/// Highest phase number, as in a retrospective (1 to 99).
pub const MAX_PHASE: u64 = 99;

/// Mode that a run is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TeamMode")]
pub enum Mode {
    /// The run looks for what an earlier run left; the explorer consolidates the lessons of such runs.
    Resume,
    /// The architect asks a person about open points of the request.
    Clarify,
    /// The explorer reports what exists.
    Discover,
    /// The explorer reports how complete each item is that the request or plan refers to.
    Reality,
    /// Experts advise, one call per domain.
    Consult,
    /// The architect writes a specification.
    Specify,
    /// The architect makes or revises the plan.
    Plan,
    /// The critic reviews the plan.
    CriticGate,
    /// The tasks of a phase are carried out.
    Execute,
    /// A phase is being completed.
    PhaseWrap,
    /// The record doesn't show the mode of the run; a person has to decide.
    Unknown,
}

/// Start parameters of a run led by a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setup {
    /// Digest of the request, if the run began with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Digest>,
    /// The plan, if the run began with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanFacts>,
    /// Digest of a plan that was approved in an earlier run; if the plan is unchanged, it needs no second review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<Digest>,
    /// Phase to continue with; those before it are done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_phase: Option<u64>,
    /// True if the repository contains nothing to explore.
    pub is_empty_project: bool,
    /// Number of retrospectives from earlier runs that a team led.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retrospectives: u32,
    /// Name of the person who is asked.
    pub person: AgentName,
    /// Who decides that the next phase begins.
    pub proceed: Proceed,
    /// Which of the optional steps are taken.
    pub steps: OptionalSteps,
    /// Maximum numbers of repetitions.
    #[serde(default, skip_serializing_if = "ModeLimits::is_usual")]
    pub limits: ModeLimits,
}

/// The parts of a plan that modes depend on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanFacts {
    /// Digest of the `plan.json`.
    pub plan: Digest,
    /// Numbers of the phases, ascending.
    pub phases: Vec<u64>,
}

/// Who decides that the next phase begins.
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

/// Optional steps; false is recorded as not configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "a setting each")]
pub struct OptionalSteps {
    /// The explorer consolidates the lessons of earlier runs.
    pub briefing: bool,
    /// The architect may ask questions.
    pub clarify: bool,
    /// Experts are asked.
    pub consult: bool,
    /// A specification is written.
    pub specify: bool,
    /// Documentation is updated at the end of a phase.
    pub docs: bool,
    /// At the end of a phase the result is compared with the request.
    pub drift: bool,
    /// At the end of a phase claims about the code are compared with the code.
    pub hallucination: bool,
}

/// Maximum numbers of repetitions before a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModeLimits {
    /// Maximum number of plan revisions that the critic may ask for.
    pub critic_cycles: u32,
    /// Maximum number of times an unsuitable answer is asked for again: a plan that was refused, guidance on another domain.
    pub malformed: u32,
}

impl Default for ModeLimits {
    /// Returns the limits of `docs/team.md`: 2 critic cycles, 2 malformed answers.
    fn default() -> Self {
        TeamLimits::default().into()
    }
}

impl From<TeamLimits> for ModeLimits {
    fn from(limits: TeamLimits) -> Self {
        Self { critic_cycles: limits.critic_cycles, malformed: limits.malformed_answers }
    }
}

impl Default for OptionalSteps {
    /// Enables all steps except the specification and the check of claims, which have to be requested.
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
    /// Returns true if the limits are those of `docs/team.md`, which a record leaves out.
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

// === impl OptionalSteps ===

impl OptionalSteps {
    /// Returns the steps of a run that leaves none out.
    #[must_use]
    pub const fn all() -> Self {
        Self {
            briefing: true,
            clarify: true,
            consult: true,
            specify: true,
            docs: true,
            drift: true,
            hallucination: true,
        }
    }

    /// Returns the roles that take part at the end of each phase. The architect may be an agent without a worker.
    #[must_use]
    pub fn of_wrap(self) -> Vec<RoleName> {
        let all = [
            (RoleName::Explorer, true),
            (RoleName::Docs, self.docs),
            (RoleName::CriticDriftVerifier, self.drift && self.specify),
            (RoleName::CriticHallucinationVerifier, self.hallucination),
        ];
        all.into_iter().filter(|(_, takes_part)| *takes_part).map(|(role, _)| role).collect()
    }

    /// Returns the roles of a team that takes these steps, apart from the coders.
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
    /// Returns the label for screens.
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
    /// Returns the setting because of which no person is asked; `None` if a person is asked.
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
    /// Returns why the plan can't be carried out; `None` if it can.
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
