//! What a run of a team waits for.

use std::fmt;

use switchboard_protocol::modes::Mode;

use super::{Ask, Question};

/// What a run waits for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum At {
    /// To be begun.
    #[default]
    Unbegun,
    /// A role's answer.
    Asking {
        /// Which.
        ask: Ask,
        /// How often its answer did not fit.
        tries: u32,
        /// Why it is asked again.
        refused: Option<String>,
    },
    /// A person's answer to a question.
    Waiting(Question),
    /// A check.
    Checking(Check),
    /// The tasks of a phase.
    Running {
        /// Which phase.
        phase: u64,
    },
    /// That the next phase may begin.
    Ready {
        /// Which phase.
        phase: u64,
    },
    /// Nothing: all phases are done.
    Done,
    /// That a person lets it go on.
    Stopped {
        /// A code of the error table.
        code: &'static str,
        /// Why.
        why: String,
        /// What it waited for.
        from: Box<Self>,
    },
}

/// What is looked for without a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Before a phase: its tasks are complete and of a size that is allowed, their dependencies known, the evidence of earlier tasks is there.
    Preflight {
        /// Which phase.
        phase: u64,
    },
    /// After a phase: every task that is done has its evidence.
    Evidence {
        /// Which phase.
        phase: u64,
    },
}

// === impl At ===

impl At {
    /// The mode that it belongs to.
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
            Self::Asking { ask, .. } => write!(f, "`{}` of {}", ask.answer(), ask.role()),
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
