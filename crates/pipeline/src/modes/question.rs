//! Questions to a person.

use std::fmt;

use switchboard_protocol::id::Digest;
use switchboard_protocol::modes::{Choice, Mode};

use super::Ask;

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// A question that the request leaves open.
    Clarify {
        /// Digest of all questions.
        questions: Digest,
        /// Number of this question, from 1.
        number: u32,
        /// Number of all questions.
        of: u32,
    },
    /// A role does not answer.
    NoAnswer {
        /// Question to the role.
        ask: Ask,
        /// Why the answer is missing.
        why: String,
    },
    /// The critic rejects the plan.
    PlanRejected {
        /// Digest of the review.
        review: Digest,
    },
    /// The critic requests more revisions than the limit allows.
    RevisionsSpent {
        /// Digest of the review.
        review: Digest,
        /// Number of revisions so far.
        cycles: u32,
    },
    /// A phase can't begin.
    Blocked {
        /// Number of the phase.
        phase: u64,
        /// List of what is missing.
        missing: Vec<String>,
    },
    /// Tasks of a phase can't continue.
    PhaseHeld {
        /// Number of the phase.
        phase: u64,
        /// Why the tasks can't continue.
        why: String,
        /// Decision of the architect about a failed task.
        decision: Option<Digest>,
    },
    /// Tasks lack evidence.
    EvidenceMissing {
        /// Number of the phase.
        phase: u64,
        /// List of what is missing.
        missing: Vec<String>,
    },
    /// A verifier found a violation.
    Unverified {
        /// Question to the verifier.
        ask: Ask,
        /// Digest of the findings.
        findings: Digest,
    },
    /// "Ready for phase N?"
    NextPhase {
        /// Number of the phase.
        phase: u64,
    },
    /// The state of the run is unknown.
    Unknown {
        /// Why the state is unknown.
        why: String,
    },
}

// === impl Question ===

impl Question {
    /// Returns the mode that the question belongs to.
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

    /// Returns the possible choices; empty if the answer is a text.
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

    /// Returns true if the answer may be a text.
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
            Self::NoAnswer { ask, why } => write!(f, "{} gives no usable answer: {why}", ask.role()),
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
