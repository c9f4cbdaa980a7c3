//! Waits of a team's run.

use std::fmt;

use switchboard_protocol::modes::Mode;

use super::{Ask, Question};

/// What a run waits for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum At {
    /// The beginning of the run.
    #[default]
    Unbegun,
    /// A role's answer.
    Asking {
        /// Question to the role.
        ask: Ask,
        /// Number of rejected answers.
        tries: u32,
        /// Why the last answer was rejected.
        refused: Option<String>,
    },
    /// A person's answer to a question.
    Waiting(Question),
    /// A check.
    Checking(Check),
    /// The tasks of a phase.
    Running {
        /// Number of the phase.
        phase: u64,
    },
    /// The permission to begin the next phase.
    Ready {
        /// Number of the phase.
        phase: u64,
    },
    /// Nothing: all phases are done.
    Done,
    /// A person who lets the run continue.
    Stopped {
        /// A code of the error table.
        code: &'static str,
        /// Reason for the stop.
        why: String,
        /// What the run waited for before the stop.
        from: Box<Self>,
    },
}

/// A check without a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Before a phase: its tasks are complete and of an allowed size, their dependencies exist, and the evidence of
    /// earlier tasks exists.
    Preflight {
        /// Number of the phase.
        phase: u64,
    },
    /// After a phase: every completed task has its evidence.
    Evidence {
        /// Number of the phase.
        phase: u64,
    },
}

// === impl At ===

impl At {
    /// Returns the mode that the wait belongs to.
    #[must_use]
    pub fn mode(&self) -> Mode {
        match self {
            Self::Unbegun => Mode::Resume,
            Self::Asking { ask, .. } => ask.mode(),
            Self::Waiting(question) => question.mode(),
            Self::Checking(Check::Preflight { .. }) | Self::Running { .. } => Mode::Execute,
            Self::Checking(Check::Evidence { .. }) | Self::Ready { .. } | Self::Done => Mode::PhaseWrap,
            Self::Stopped { from, .. } => from.mode(),
        }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unbegun => f.write_str("a beginning"),
            Self::Asking { ask, refused: Some(why), .. } => {
                write!(f, "`{}` of {}, once more: {why}", ask.answer(), ask.role())
            }
            Self::Asking { ask, refused: None, .. } => write!(f, "`{}` of {}", ask.answer(), ask.role()),
            Self::Waiting(question) => write!(f, "a person: {question}"),
            Self::Checking(Check::Preflight { phase }) => write!(f, "the preflight of phase {phase}"),
            Self::Checking(Check::Evidence { phase }) => write!(f, "the evidence of phase {phase}"),
            Self::Running { phase } => write!(f, "the tasks of phase {phase}"),
            Self::Ready { phase } => write!(f, "a yes to phase {phase}"),
            Self::Done => f.write_str("nothing, it is done"),
            Self::Stopped { why, .. } => write!(f, "a person who lets it go on: {why}"),
        }
    }
}
