//! What a run of a team waits for.

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
        /// How often it was asked in vain.
        tries: Tries,
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

/// How often a role was asked in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tries {
    /// Answers that could not be read.
    pub malformed: u32,
    /// Agents that failed.
    pub failed: u32,
    /// Workers that were lost.
    pub lost: u32,
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
