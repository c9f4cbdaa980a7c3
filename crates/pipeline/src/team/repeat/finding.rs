//! Findings about workers that make no progress.

/// Consequence of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reaction {
    /// The finding is recorded and shown; the worker continues.
    Warn,
    /// The pending action is not carried out, or the worker is stopped.
    Stop,
}

/// Kind of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// The same delegation was repeated.
    Loop,
    /// The same tool call was repeated.
    Repetition,
    /// The limit of calls.
    Calls,
    /// The limit of time.
    Minutes,
    /// Errors in a row.
    Errors,
    /// No successful call for too long.
    Idle,
    /// Calls without a change.
    NoChange,
    /// Turns with text only.
    Runaway,
    /// A file that the task does not declare.
    Scope,
    /// No sign of life for longer than the window of the delegation.
    Stale,
}

impl FindingKind {
    /// Returns the name of the kind in events and on screens.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Loop => "loop",
            Self::Repetition => "repetition",
            Self::Calls => "calls",
            Self::Minutes => "minutes",
            Self::Errors => "errors",
            Self::Idle => "idle",
            Self::NoChange => "no-change",
            Self::Runaway => "runaway-output",
            Self::Scope => "scope",
            Self::Stale => "stale",
        }
    }
}

/// A finding about a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Kind of the finding.
    pub kind: FindingKind,
    /// Consequence of the finding.
    pub reaction: Reaction,
    /// Text for the screen.
    pub words: String,
}

impl Finding {
    /// Returns the finding that the agent with the architect's seat, which does a step by hand, has shown no sign of life
    /// in its lease.
    #[must_use]
    pub fn stale_seat(agent: &str) -> Self {
        let words = format!("{agent} has lost the architect's seat: nothing was heard of it in its lease");
        Self::new(FindingKind::Stale, Reaction::Stop, words)
    }

    pub(super) fn new(kind: FindingKind, reaction: Reaction, words: String) -> Self {
        Self { kind, reaction, words }
    }
}
