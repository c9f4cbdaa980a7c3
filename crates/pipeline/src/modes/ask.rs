//! Questions to roles in the modes: the role, the kind of answer, and the inputs.

use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::modes::Mode;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::role::RoleName;

/// A question to a role.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ask {
    /// A briefing on what earlier runs have learned.
    Briefing,
    /// Questions that the request leaves open.
    Questions,
    /// An exploration of the repository.
    Discover,
    /// The state of each thing that the request or plan refers to.
    Reality,
    /// Advice on one domain.
    Consult {
        /// Name of the domain.
        domain: String,
        /// Number of the phase that needs the advice.
        phase: u64,
    },
    /// The specification.
    Spec,
    /// The plan, or its revision.
    Plan,
    /// The review of the plan.
    Critique,
    /// A decision about a task that has failed.
    Decision {
        /// Number of the task's phase.
        phase: u64,
        /// Id of the task.
        task: TaskId,
    },
    /// A new exploration after a phase.
    Rescan {
        /// Number of the phase.
        phase: u64,
    },
    /// Documentation of a phase.
    Docs {
        /// Number of the phase.
        phase: u64,
    },
    /// A retrospective of a phase.
    Retrospective {
        /// Number of the phase.
        phase: u64,
    },
    /// A check that the result matches the request.
    Drift {
        /// Number of the phase.
        phase: u64,
    },
    /// A check that statements about the code are true.
    Hallucination {
        /// Number of the phase.
        phase: u64,
    },
}

// === impl Ask ===

impl Ask {
    /// Returns the mode that the question belongs to.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        match self {
            Self::Briefing => Mode::Resume,
            Self::Questions => Mode::Clarify,
            Self::Discover => Mode::Discover,
            Self::Reality => Mode::Reality,
            Self::Consult { .. } => Mode::Consult,
            Self::Spec => Mode::Specify,
            Self::Plan => Mode::Plan,
            Self::Critique => Mode::CriticGate,
            Self::Decision { .. } => Mode::Execute,
            Self::Rescan { .. }
            | Self::Docs { .. }
            | Self::Retrospective { .. }
            | Self::Drift { .. }
            | Self::Hallucination { .. } => Mode::PhaseWrap,
        }
    }

    /// Returns the role that is asked.
    #[must_use]
    pub const fn role(&self) -> RoleName {
        match self {
            Self::Questions | Self::Spec | Self::Plan | Self::Decision { .. } | Self::Retrospective { .. } => {
                RoleName::Architect
            }
            Self::Briefing | Self::Discover | Self::Reality | Self::Rescan { .. } => RoleName::Explorer,
            Self::Consult { .. } => RoleName::Sme,
            Self::Critique => RoleName::Critic,
            Self::Docs { .. } => RoleName::Docs,
            Self::Drift { .. } => RoleName::CriticDriftVerifier,
            Self::Hallucination { .. } => RoleName::CriticHallucinationVerifier,
        }
    }

    /// Returns the kind of answer that the question needs.
    #[must_use]
    pub const fn answer(&self) -> AnswerKind {
        match self {
            Self::Questions => AnswerKind::Questions,
            Self::Briefing | Self::Discover | Self::Rescan { .. } => AnswerKind::Exploration,
            Self::Reality => AnswerKind::Reality,
            Self::Consult { .. } => AnswerKind::Guidance,
            Self::Spec => AnswerKind::Spec,
            Self::Plan => AnswerKind::PlanDraft,
            Self::Critique => AnswerKind::PlanReview,
            Self::Decision { .. } => AnswerKind::Decision,
            Self::Docs { .. } => AnswerKind::Docs,
            Self::Retrospective { .. } => AnswerKind::Retrospective,
            Self::Drift { .. } => AnswerKind::Drift,
            Self::Hallucination { .. } => AnswerKind::Hallucination,
        }
    }

    /// Returns the domain that the question is about, if any.
    #[must_use]
    pub const fn domain(&self) -> Option<&String> {
        match self {
            Self::Consult { domain, .. } => Some(domain),
            Self::Briefing
            | Self::Questions
            | Self::Discover
            | Self::Reality
            | Self::Spec
            | Self::Plan
            | Self::Critique
            | Self::Decision { .. }
            | Self::Rescan { .. }
            | Self::Docs { .. }
            | Self::Retrospective { .. }
            | Self::Drift { .. }
            | Self::Hallucination { .. } => None,
        }
    }

    /// Returns true if a person may let the run continue without an answer. Questions that guard a plan or a phase
    /// can't be skipped.
    #[must_use]
    pub const fn may_skip(&self) -> bool {
        match self {
            Self::Briefing
            | Self::Questions
            | Self::Discover
            | Self::Consult { .. }
            | Self::Spec
            | Self::Rescan { .. }
            | Self::Docs { .. } => true,
            Self::Reality
            | Self::Plan
            | Self::Critique
            | Self::Decision { .. }
            | Self::Retrospective { .. }
            | Self::Drift { .. }
            | Self::Hallucination { .. } => false,
        }
    }
}
