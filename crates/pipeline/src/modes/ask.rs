//! What roles are asked for in the modes: who, for which answer, and from what.

use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::modes::Mode;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::role::RoleName;

/// A question to a role.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ask {
    /// What earlier runs have taught, in one briefing.
    Briefing,
    /// What the request leaves open.
    Questions,
    /// What is there.
    Discover,
    /// How far each thing is that the request or plan refers to.
    Reality,
    /// Advice on one domain.
    Consult {
        /// Which.
        domain: String,
        /// For which phase.
        phase: u64,
    },
    /// The specification.
    Spec,
    /// The plan, or its revision.
    Plan,
    /// The review of the plan.
    Critique,
    /// What becomes of a task that has failed.
    Decision {
        /// In which phase.
        phase: u64,
        /// Which task.
        task: TaskId,
    },
    /// What a phase left.
    Rescan {
        /// Which phase.
        phase: u64,
    },
    /// Documentation of a phase.
    Docs {
        /// Which phase.
        phase: u64,
    },
    /// What a phase taught.
    Retrospective {
        /// Which phase.
        phase: u64,
    },
    /// Whether what was built is what was asked for.
    Drift {
        /// Which phase.
        phase: u64,
    },
    /// Whether what was said about the code is true.
    Hallucination {
        /// Which phase.
        phase: u64,
    },
}

// === impl Ask ===

impl Ask {
    /// The mode that it belongs to.
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

    /// Who is asked.
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

    /// The answer that it wants.
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

    /// The domain that it is about, if it is about one.
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

    /// Whether a person may let the run go on without an answer. What guards a plan or a phase can't be left out.
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
