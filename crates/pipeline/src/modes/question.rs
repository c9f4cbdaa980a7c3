//! Questions to a person.

use std::fmt;

use switchboard_protocol::id::Digest;
use switchboard_protocol::modes::{Choice, Mode};

use super::Ask;

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// What the request leaves open.
    Clarify {
        /// The questions.
        questions: Digest,
        /// Which of them, from 1.
        number: u32,
        /// How many there are.
        of: u32,
    },
    /// A role does not answer.
    NoAnswer {
        /// What it was asked.
        ask: Ask,
        /// Why there is no answer.
        why: String,
    },
    /// The critic rejects the plan.
    PlanRejected {
        /// The review.
        review: Digest,
    },
    /// The critic wants one more revision than there may be.
    RevisionsSpent {
        /// The review.
        review: Digest,
        /// How many revisions there were.
        cycles: u32,
    },
    /// A phase can't begin.
    Blocked {
        /// Which phase.
        phase: u64,
        /// What is missing.
        missing: Vec<String>,
    },
    /// Tasks of a phase can't go on.
    PhaseHeld {
        /// Which phase.
        phase: u64,
        /// Why.
        why: String,
        /// What the architect has decided about a task that has failed.
        decision: Option<Digest>,
    },
    /// Tasks lack evidence.
    EvidenceMissing {
        /// Which phase.
        phase: u64,
        /// What is missing.
        missing: Vec<String>,
    },
    /// A verifier finds that something does not hold.
    Unverified {
        /// What was asked.
        ask: Ask,
        /// What it found.
        findings: Digest,
    },
    /// "Ready for phase N?"
    NextPhase {
        /// Which phase.
        phase: u64,
    },
    /// What the run is at.
    Unknown {
        /// Why that can't be told.
        why: String,
    },
}

// === impl Question ===

impl Question {
    /// The mode that it belongs to.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        match self {
            Self::Clarify { .. } => Mode::Clarify,
            Self::NoAnswer { ask, .. } | Self::Unverified { ask, .. } => ask.mode(),
            Self::PlanRejected { .. } | Self::RevisionsSpent { .. } => Mode::CriticGate,
            Self::Blocked { .. } | Self::PhaseHeld { .. } => Mode::Execute,
            Self::EvidenceMissing { .. } | Self::NextPhase { .. } => Mode::PhaseWrap,
            Self::Unknown { .. } => Mode::Unknown,
        }
    }

    /// What can be chosen; none where the answer is a text.
    #[must_use]
    pub fn choices(&self) -> Vec<Choice> {
        match self {
            Self::Clarify { .. } => vec![Choice::Skip, Choice::Stop],
            Self::NoAnswer { ask, .. } if ask.may_skip() => vec![Choice::Retry, Choice::Skip, Choice::Stop],
            Self::NoAnswer { ask: Ask::Critique, .. } => vec![Choice::Retry, Choice::Approve, Choice::Stop],
            Self::NoAnswer { .. } => vec![Choice::Retry, Choice::Stop],
            Self::PlanRejected { .. } | Self::RevisionsSpent { .. } => {
                vec![Choice::Approve, Choice::Revise, Choice::Stop]
            }
            Self::Blocked { .. } | Self::PhaseHeld { .. } => vec![Choice::Retry, Choice::Revise, Choice::Stop],
            Self::EvidenceMissing { .. } => vec![Choice::Retry, Choice::Redo, Choice::Revise, Choice::Stop],
            Self::Unverified { .. } => {
                vec![Choice::Retry, Choice::Redo, Choice::Revise, Choice::Approve, Choice::Stop]
            }
            Self::NextPhase { .. } => vec![Choice::Proceed, Choice::Revise, Choice::Stop],
            Self::Unknown { .. } => vec![Choice::Stop],
        }
    }

    /// Whether the answer may be a text.
    #[must_use]
    pub const fn takes_text(&self) -> bool {
        match self {
            Self::Clarify { .. } | Self::Unknown { .. } => true,
            Self::NoAnswer { .. }
            | Self::PlanRejected { .. }
            | Self::RevisionsSpent { .. }
            | Self::Blocked { .. }
            | Self::PhaseHeld { .. }
            | Self::EvidenceMissing { .. }
            | Self::Unverified { .. }
            | Self::NextPhase { .. } => false,
        }
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clarify { number, of, .. } => write!(f, "question {number} of {of} about the request"),
            Self::NoAnswer { ask, why } => write!(f, "{} gives no answer: {why}", ask.role()),
            Self::PlanRejected { .. } => f.write_str("the critic rejects the plan"),
            Self::RevisionsSpent { cycles, .. } => write!(f, "the critic is not content after {cycles} revisions"),
            Self::Blocked { phase, missing } => write!(f, "phase {phase} can't begin: {}", missing.join(", ")),
            Self::PhaseHeld { phase, why, .. } => write!(f, "phase {phase} can't go on: {why}"),
            Self::EvidenceMissing { phase, missing } => {
                write!(f, "evidence is missing in phase {phase}: {}", missing.join(", "))
            }
            Self::Unverified { ask, .. } => write!(f, "{} finds what does not hold", ask.role()),
            Self::NextPhase { phase } => write!(f, "Ready for Phase {phase}?"),
            Self::Unknown { why } => write!(f, "what the run is at can't be told: {why}"),
        }
    }
}
