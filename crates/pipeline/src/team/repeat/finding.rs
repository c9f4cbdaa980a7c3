//! Findings about workers that make no progress.

/// What a finding leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reaction {
    /// It is recorded and shown; the worker goes on.
    Warn,
    /// What was to be done is not done, or the worker is stopped.
    Stop,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// The same delegation again and again.
    Loop,
    /// The same tool call again and again.
    Repetition,
    /// Too many calls.
    Calls,
    /// Too much time.
    Minutes,
    /// Errors in a row.
    Errors,
    /// No call that succeeds for too long.
    Idle,
    /// Calls that change nothing.
    NoChange,
    /// Turns of nothing but text.
    Runaway,
    /// A file that the task does not declare.
    Scope,
}

impl FindingKind {
    /// The kind as events and screens have it.
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
        }
    }
}

/// Something to be said or done about a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was found.
    pub kind: FindingKind,
    /// What it leads to.
    pub reaction: Reaction,
    /// The line for the screen.
    pub words: String,
}

impl Finding {
    pub(super) fn new(kind: FindingKind, reaction: Reaction, words: String) -> Self {
        Self { kind, reaction, words }
    }
}
