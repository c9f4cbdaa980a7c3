//! Reasons why the machine refuses an event.

/// An event that the machine refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Refused {
    /// Kind of refusal.
    pub code: RefusedCode,
    /// What is missing, as text.
    pub why: String,
    /// How to provide it.
    pub hint: String,
}

/// Kind of refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusedCode {
    /// The run has not begun, or has already begun.
    WrongOrder,
    /// The event belongs to an earlier wait.
    Stale,
    /// The run doesn't wait for this event.
    Unexpected,
    /// The question doesn't offer this choice.
    NoChoice,
    /// A setting that would allow the event is off.
    NotAllowed,
    /// The setup of the run is invalid.
    BadSetup,
}

// === impl Refused ===

impl Refused {
    pub(super) fn new(code: RefusedCode, why: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code, why: why.into(), hint: hint.into() }
    }
}
