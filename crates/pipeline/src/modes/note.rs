//! What a step of the machine tells a person, and why it refuses an event.

use std::fmt;

use switchboard_protocol::answer::PlanVerdict;
use switchboard_protocol::modes::{Mode, Proceed};
use switchboard_protocol::role::RoleName;

use super::Question;

/// A line that a person sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Another mode begins.
    Entered(Mode),
    /// A role is asked again.
    AskedAgain {
        /// Which role.
        role: RoleName,
        /// Why.
        why: String,
        /// How often it may still be asked for that reason.
        left: u32,
    },
    /// A person is asked.
    PersonAsked(Question),
    /// The critic's verdict.
    Reviewed {
        /// The verdict.
        verdict: PlanVerdict,
        /// Revisions so far, of this many.
        cycle: (u32, u32),
    },
    /// The next phase begins without a person having been asked.
    Proceeded {
        /// Which phase.
        phase: u64,
        /// By which setting.
        because: Proceed,
    },
}

/// An event that the machine refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Refused {
    /// In which way.
    pub code: RefusedCode,
    /// Why: what is missing.
    pub why: String,
    /// How to get it.
    pub hint: String,
}

/// In which way an event is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusedCode {
    /// The run has not begun, or began before.
    WrongOrder,
    /// It is about an earlier wait.
    Stale,
    /// It is not what is waited for.
    Unexpected,
    /// The choice is none of the question's.
    NoChoice,
    /// A setting that would allow it is off.
    NotAllowed,
    /// How the run begins can't be used.
    BadSetup,
}

// === impl Note ===

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entered(mode) => write!(f, "MODE: {mode}"),
            Self::AskedAgain { role, why, left } => {
                write!(f, "{role} is asked again, {left} times more at most: {why}")
            }
            Self::PersonAsked(question) => write!(f, "waiting for a person: {question}"),
            Self::Reviewed { verdict: PlanVerdict::Approved, .. } => f.write_str("CRITIC-GATE: APPROVED"),
            Self::Reviewed { verdict: PlanVerdict::NeedsRevision, cycle: (cycle, most) } => {
                write!(f, "CRITIC-GATE: NEEDS_REVISION, revision {cycle} of {most}")
            }
            Self::Reviewed { verdict: PlanVerdict::Rejected, .. } => f.write_str("CRITIC-GATE: REJECTED"),
            Self::Proceeded { phase, because } => {
                write!(f, "phase {phase} begins by {}, nobody was asked", because.setting().unwrap_or("a person"))
            }
        }
    }
}

// === impl Refused ===

impl Refused {
    pub(super) fn new(code: RefusedCode, why: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code, why: why.into(), hint: hint.into() }
    }
}
