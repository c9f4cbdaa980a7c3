//! Why the machine refuses an event.

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

// === impl Refused ===

impl Refused {
    pub(super) fn new(code: RefusedCode, why: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code, why: why.into(), hint: hint.into() }
    }
}
